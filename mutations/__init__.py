"""Mutation tests: each guard of the engine is removed in turn, and a test must fail.

A guard whose removal no test notices is either dead code or an untested guarantee. Each entry of
the list names one guard, its purpose, and the commands that must notice its removal: simulated
worlds, a test, or the power cuts.
"""
