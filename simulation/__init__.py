"""Worlds in which everything that can go wrong does, on the real engine and in simulated time.

A world is made from one number. It has a database, several processes that run the same program on
it, users that submit and steer, and troubles: kills at every call to the store, commits whose
outcome nobody knows, freezes, clock jumps, lost and repeated wake-ups. The leader, the worker, the
client and the stores are the real ones; only time, threads and chance are the world's. What
happened is written into a journal by the tasks and the users themselves, and the promises are
checked against that journal.

Read in this order: `loop` (time and processes), `program` (what every process runs), `host` (one
process, killed and started again), `faults` and `faulty_store` (what happens at a call), `client`
and `user` (what people do), `troubles` (what befalls processes), `journal` (what was seen),
`rules/` (the promises), `world` (all of it together). `script`, `scenarios` and `crash_points`
are the short stories that are killed at every call.
"""
