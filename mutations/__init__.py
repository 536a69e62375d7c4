"""Guards of the engine, each taken out in turn to see that somebody notices.

A guard that nobody would miss is either dead code or a promise without a test. Each entry of the
list names one, says what it is for, and names who must notice that it is gone: the simulated
worlds, a test, or the power cuts.
"""
