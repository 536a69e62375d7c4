"""The baselines of the race on SQLite, in addition to its peers."""

RAW = {
    "fsyncs": "fsyncs of a 4 KB page",
    "commits": "SQLite commits (WAL, FULL, one small row each)",
    "tiny rows": "SQLite rows in one transaction (a number and a letter each)",
    "same rows": "SQLite jobs in one transaction (the rows Fairlane writes, into bare tables)",
    "tasks": "asyncio tasks",
}

# A prototype of the design in 150 lines, on another machine, where Huey drained 3,600 a second.
TRIAL_HUEY = 3_600
TRIAL = {
    "drain": (13_000, 20_000),
    "drain, 100 lanes": (13_000, 16_000),
    "drain, 3 at a time": (3_200, 4_100),
    "drain, one lane": (1_400, 1_600),
    "submit in bulk": (90_000, 90_000),
}
