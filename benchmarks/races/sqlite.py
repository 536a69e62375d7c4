"""Fairlane on SQLite, in one process, beside Huey and DBOS on SQLite and the raw limits."""

from benchmarks.figures import least, ratio
from benchmarks.race import Measurement, Race
from benchmarks.targets import Target

MILLION = 1_000_000
BACKLOGS = (10_000, 200_000, MILLION)
BACKLOG = "backlog, {:,} queued"

_JOBS = {
    "fsyncs": {"raw": 1_000},
    "tasks": {"raw": 100_000},
    "drain": {"fairlane": 20_000, "huey": 5_000, "dbos": 1_000},
    "drain, 100 lanes": {"fairlane": 20_000, "dbos": 1_000},
    "drain, 3 at a time": {"fairlane": 5_000, "dbos": 300},
    "drain, one lane": {"fairlane": 2_000, "dbos": 100},
    "commits": {"raw": 2_000},
    "submit one by one": {"fairlane": 2_000, "huey": 2_000, "dbos": 500},
    "submit from 50 callers": {"fairlane": 10_000, "huey": 2_000, "dbos": 500},
    "tiny rows": {"raw": 500_000},
    "same rows": {"raw": 50_000},
    "submit in bulk": {"fairlane": 50_000, "dbos": 1_000},
    "pick-up": {"fairlane": 200, "huey": 200, "dbos": 200},
    "pick-up, default polling": {"huey": 10, "dbos": 10},
}
_RATES = (
    "drain",
    "drain, 100 lanes",
    "drain, 3 at a time",
    "drain, one lane",
    "submit one by one",
    "submit from 50 callers",
    "submit in bulk",
)
_TARGETS = (
    Target(
        line="drain at least 3 × Huey",
        short="drain: 3 × Huey",
        value=lambda r: ratio(r.series("fairlane", "drain"), r.series("huey", "drain")),
        form="{:.1f} ×",
        at_least=3,
        beside=(
            ("Fairlane", "fairlane", "drain", "per_second"),
            ("Huey", "huey", "drain", "per_second"),
        ),
    ),
    Target(
        line="drain at least 30 × DBOS",
        short="drain: 30 × DBOS",
        value=lambda r: ratio(r.series("fairlane", "drain"), r.series("dbos", "drain")),
        form="{:.1f} ×",
        at_least=30,
        beside=(
            ("Fairlane", "fairlane", "drain", "per_second"),
            ("DBOS", "dbos", "drain", "per_second"),
        ),
    ),
    Target(
        line="100 lanes at least 70 % of the rate without lanes",
        short="100 lanes: 70 % of none",
        value=lambda r: ratio(
            r.series("fairlane", "drain, 100 lanes"), r.series("fairlane", "drain")
        ),
        form="{:.0%}",
        at_least=0.70,
        beside=(
            ("100 lanes", "fairlane", "drain, 100 lanes", "per_second"),
            ("none", "fairlane", "drain", "per_second"),
        ),
    ),
    Target(
        line="bulk submission at least 10 % of SQLite's raw rate for the same data",
        short="bulk: 10 % of raw SQLite",
        value=lambda r: ratio(r.series("fairlane", "submit in bulk"), r.series("raw", "same rows")),
        form="{:.1%}",
        at_least=0.10,
        beside=(
            ("Fairlane", "fairlane", "submit in bulk", "per_second"),
            ("raw jobs", "raw", "same rows", "per_second"),
            ("raw rows of these", "raw", "same rows", "rows_per_second"),
            ("rows per job", "raw", "same rows", "rows_per_job"),
            ("raw tiny rows", "raw", "tiny rows", "per_second"),
        ),
    ),
    Target(
        line="50 concurrent callers share commits: at least 10 submissions per commit",
        short="50 callers: 10 per commit",
        value=lambda r: r.series("fairlane", "submit from 50 callers", "jobs_per_commit"),
        form="{:.1f}",
        at_least=10,
        beside=(
            ("submissions per second", "fairlane", "submit from 50 callers", "per_second"),
            ("raw commits per second", "raw", "commits", "per_second"),
        ),
    ),
    Target(
        line="idle pick-up: p50 below both peers (as a part of the faster one)",
        short="pick-up: below the faster peer",
        value=lambda r: ratio(
            r.series("fairlane", "pick-up", "p50_ms"),
            least(r.series("huey", "pick-up", "p50_ms"), r.series("dbos", "pick-up", "p50_ms")),
        ),
        form="{:.0%}",
        below=1,
        beside=(
            ("Fairlane ms", "fairlane", "pick-up", "p50_ms"),
            ("Huey", "huey", "pick-up", "p50_ms"),
            ("DBOS", "dbos", "pick-up", "p50_ms"),
            ("with default polling: Huey", "huey", "pick-up, default polling", "p50_ms"),
            ("DBOS", "dbos", "pick-up, default polling", "p50_ms"),
        ),
    ),
    Target(
        line="200,000 queued at least 85 % of the rate at 10,000",
        short="200,000 queued: 85 % of 10,000",
        value=lambda r: ratio(
            r.series("fairlane", BACKLOG.format(200_000)),
            r.series("fairlane", BACKLOG.format(10_000)),
        ),
        form="{:.0%}",
        at_least=0.85,
        beside=(
            ("10,000", "fairlane", BACKLOG.format(10_000), "per_second"),
            ("200,000", "fairlane", BACKLOG.format(200_000), "per_second"),
            ("1,000,000", "fairlane", BACKLOG.format(1_000_000), "per_second"),
        ),
    ),
    Target(
        line="a start on 1,000,000 queued jobs over 1,000 lanes in less than 15 s",
        short="start on 1,000,000: 15 s",
        value=lambda r: r.series("fairlane", BACKLOG.format(1_000_000), "start_seconds"),
        form="{:.1f} s",
        below=15,
    ),
    Target(
        line="and in less than 600 MB",
        short="start on 1,000,000: 600 MB",
        value=lambda r: r.series("fairlane", BACKLOG.format(1_000_000), "start_megabytes"),
        form="{:.0f} MB",
        below=600,
    ),
)

COURSE = Race(
    name="sqlite",
    title="Noop jobs on SQLite, synchronous=FULL, one process",
    contestants=("fairlane", "huey", "dbos", "raw"),
    peers=("huey", "dbos"),
    programs="benchmarks.contestants",
    rounds=5,
    jobs=_JOBS,
    strains=tuple(
        Measurement(contestant="fairlane", scenario="backlog", jobs=10_000, queued=queued)
        for queued in BACKLOGS
    ),
    hardest=MILLION,
    rates=_RATES,
    pick_ups=(("pick-up", "p50"), ("pick-up", "p95"), ("pick-up, default polling", "p50")),
    shown=tuple(
        (f"{queued:,} queued", BACKLOG.format(queued), "per_second") for queued in BACKLOGS
    ),
    targets=_TARGETS,
)
