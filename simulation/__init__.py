"""Simulated worlds: the real engine under faults, in simulated time.

A world is generated from one seed. It has a database, several processes that run the same program
on it, users that submit jobs and send commands, and faults: kills at every call to the store,
commits whose outcome is unknown, freezes, clock jumps, lost and repeated wake-ups. The leader, the
worker, the client and the stores are the real ones; only time, threads and randomness are
simulated. Tasks and users write a journal, and the rules are checked against that journal.

Read in this order: `loop` (time and processes), `program` (the app that every process runs), `host`
(one process, killed and restarted), `store_faults` and `faulty_store` (faults at a call to the
store), `recording_client` and `random_user` (commands of users), `process_faults` (kills, freezes,
clock jumps), `journal` (the record), `rules/` (the guarantees), `world` (composition). `script`,
`scenarios` and `crash_points` run short scripts that are killed at every call to the store.
"""
