"""Guards of the stores: the database enforces the invariants, and commits are durable."""

from typing import Final

from mutations.mutation import Mutation, power_cuts, suite

_TABLES: Final = "src/fairlane/store/sqlite/migrations/0001_tables.sql"
_COMMITTING: Final = "src/fairlane/store/sqlite/commit.py"
_MEMORY: Final = "src/fairlane/store/memory/tables.py"
_COMMITS: Final = "tests/conformance/test_commits.py"

STORING: Final = (
    Mutation(
        name="index of running lanes",
        guards="Two running jobs of one lane cannot be stored, even if the leader is wrong.",
        file=_TABLES,
        find="CREATE UNIQUE INDEX job_running",
        replace="CREATE INDEX job_running",
        noticed_by=(suite(f"{_COMMITS}::test_a_lane_never_has_two_running_jobs"),),
    ),
    Mutation(
        name="index of exclusive lanes",
        guards="Two live jobs of a lane that takes one cannot be stored.",
        file=_TABLES,
        find="CREATE UNIQUE INDEX job_exclusive",
        replace="CREATE INDEX job_exclusive",
        noticed_by=(suite(f"{_COMMITS}::test_an_exclusive_lane_never_has_two_jobs"),),
    ),
    Mutation(
        name="index of dedupe keys",
        guards="Two live jobs of one dedupe key cannot be stored.",
        file=_TABLES,
        find="CREATE UNIQUE INDEX job_dedupe",
        replace="CREATE INDEX job_dedupe",
        noticed_by=(suite(f"{_COMMITS}::test_a_dedupe_key_is_live_once"),),
    ),
    Mutation(
        name="key of firings",
        guards="A schedule fires once for each of its times.",
        file=_TABLES,
        find="PRIMARY KEY (schedule, fire_at)",
        replace="number INTEGER",
        noticed_by=(suite(f"{_COMMITS}::test_a_schedule_fires_once_at_each_time"),),
    ),
    Mutation(
        name="key of events",
        guards="The number of an event is never given twice.",
        file=_TABLES,
        find="seq INTEGER PRIMARY KEY",
        replace="seq INTEGER",
        noticed_by=(suite("tests/simulation/test_guards_storing.py"),),
    ),
    Mutation(
        name="numbers of the inbox",
        guards="A number of the inbox is never reused: a late commit could delete a later row.",
        file=_TABLES,
        find="id INTEGER PRIMARY KEY AUTOINCREMENT",
        replace="id INTEGER PRIMARY KEY",
        noticed_by=(suite("tests/conformance/test_inbox.py"),),
    ),
    Mutation(
        name="epoch in a commit to SQLite",
        guards="A leader that was replaced without noticing can write no more.",
        file=_COMMITTING,
        find="WHERE NEW.epoch <> (SELECT",
        replace="WHERE 0 AND NEW.epoch <> (SELECT",
        noticed_by=(suite("tests/conformance/test_sqlite_errors.py"),),
    ),
    Mutation(
        name="epoch raised by a takeover",
        guards="Each takeover has a new number, which earlier leaders do not know.",
        file="src/fairlane/store/sqlite/statements.py",
        find="SET value = value + 1",
        replace="SET value = value",
        noticed_by=(suite("tests/conformance/test_leading.py"),),
    ),
    Mutation(
        name="epoch in a commit to memory",
        guards="The store in memory refuses a replaced leader as the one on disk does.",
        file=_MEMORY,
        find="if epoch != self.epoch:",
        replace="if False:",
        noticed_by=(suite(_COMMITS),),
    ),
    Mutation(
        name="indexes of the store in memory",
        guards="The store in memory enforces the same rules as the indexes of the one on disk.",
        file=_MEMORY,
        find="        if key in table:\n            raise Clash",
        replace="        if False:\n            raise Clash",
        noticed_by=(suite(_COMMITS),),
    ),
    Mutation(
        name="commits to memory undone",
        guards="A commit that fails half-way changes no row.",
        file=_MEMORY,
        find="self._undo.pop()()",
        replace="self._undo.pop()",
        noticed_by=(suite(_COMMITS),),
    ),
    Mutation(
        name="numbers of events in memory",
        guards="The store in memory uses no event number twice either.",
        file=_MEMORY,
        find="if self.events and event.seq <= self.events[-1].seq:",
        replace="if False:",
        noticed_by=(suite("tests/simulation/test_guards_storing.py"),),
    ),
    Mutation(
        name="returning a rate start before storing it again, on disk",
        guards="The store on disk gives back before it takes, as the one in memory does.",
        file=_COMMITTING,
        find="""    (  # before "rate_starts": a start at the same instant is another one
        "returned_starts",
        "DELETE FROM rate_start WHERE number IN (SELECT s.number "
        "FROM jsonb_each(NEW.returned_starts) e JOIN rate_start s ON s.at = e.value ->> 1 "
        "WHERE s.key = e.value ->> 0 AND s.job = e.value ->> 2)",
    ),
    ("rate_starts", _insert("rate_start", "rate_starts", ("key", "at", "job"))),
""",
        replace="""    ("rate_starts", _insert("rate_start", "rate_starts", ("key", "at", "job"))),
    (
        "returned_starts",
        "DELETE FROM rate_start WHERE number IN (SELECT s.number "
        "FROM jsonb_each(NEW.returned_starts) e JOIN rate_start s ON s.at = e.value ->> 1 "
        "WHERE s.key = e.value ->> 0 AND s.job = e.value ->> 2)",
    ),
""",
        noticed_by=(suite(_COMMITS),),
    ),
    Mutation(
        name="leaving before entering, among changed rows",
        guards="A lane that passes from one job to another is left before it is entered.",
        file=_COMMITTING,
        find="""    ("waiting", _update("waiting")),
    ("running", _update("running")),
""",
        replace="""    ("running", _update("running")),
    ("waiting", _update("waiting")),
""",
        noticed_by=(suite(_COMMITS),),
    ),
    Mutation(
        name="leaving before entering, where a job ends",
        guards="A lane is left by the job that ends in it before the next one enters it.",
        file=_COMMITTING,
        find="""    ("gone", _delete("job", "id", "gone")),
    ("waiting", _update("waiting")),
    ("running", _update("running")),
""",
        replace="""    ("waiting", _update("waiting")),
    ("running", _update("running")),
    ("gone", _delete("job", "id", "gone")),
""",
        noticed_by=(suite(_COMMITS),),
    ),
    Mutation(
        name="leaving before entering, in memory",
        guards="The store in memory writes in the order of the one on disk, for the same reason.",
        file=_MEMORY,
        find="for job in (*waiting, *(job for job in live if job.state is State.RUNNING)):",
        replace="for job in (*(job for job in live if job.state is State.RUNNING), *waiting):",
        noticed_by=(suite(_COMMITS),),
    ),
    Mutation(
        name="returning a rate start before storing it again",
        guards="A start that is taken again at the instant it was given back still counts.",
        file=_MEMORY,
        find="""            self._replace_starts([s for s in self.rate_starts if s not in gone])
        for start in changes.rate_starts:
            self._append(self.rate_starts, start)
""",
        replace="""            self._replace_starts(
                [s for s in (*self.rate_starts, *changes.rate_starts) if s not in gone]
            )
        for start in () if changes.returned_rate_starts else changes.rate_starts:
            self._append(self.rate_starts, start)
""",
        noticed_by=(suite(_COMMITS),),
    ),
    Mutation(
        name="a large commit in one transaction",
        guards="A commit too large for one statement is still atomic.",
        file=_COMMITTING,
        find='self._connection.execute("BEGIN IMMEDIATE")',
        replace="pass",
        noticed_by=(suite("tests/conformance/test_sqlite_schema.py"),),
    ),
    Mutation(
        name="commands that were answered",
        guards="A command received again after its answer was stored is not executed again.",
        file="src/fairlane/store/sqlite/statements.py",
        find="SELECT *, EXISTS (SELECT 1 FROM answer WHERE answer.key = inbox.key) AS answered",
        replace="SELECT *, 0 AS answered",
        noticed_by=(suite("tests/conformance/test_inbox.py"),),
    ),
    Mutation(
        name="commits synced to the disk",
        guards="Acknowledged changes are on the disk, and survive a power cut.",
        file="src/fairlane/store/sqlite/connection.py",
        find="PRAGMA synchronous = FULL;",
        replace="PRAGMA synchronous = NORMAL;",
        noticed_by=(power_cuts(50),),
    ),
    Mutation(
        name="lock of the leader",
        guards="One process at a time leads a database.",
        file="src/fairlane/store/sqlite/leader_lock.py",
        find="fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)",
        replace="fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)",
        noticed_by=(suite("tests/conformance/test_leading.py"),),
    ),
)
