"""Fairlane alone, served by uvicorn, with many clients that follow its events."""

from benchmarks.figures import Results, Series, ratio
from benchmarks.race import Race
from benchmarks.targets import Target

ALONE, BESIDE = "drain, nobody follows", "drain, 200 follow"
SILENT = "drain, 200 do not read"
STEADY = "200 jobs a second, 2,000 follow"
KEPT = 0.8
LATE_MS = 2_000.0
SILENT_MEGABYTES = 200.0

_JOBS = {
    ALONE: {"fairlane": 60_000},
    BESIDE: {"fairlane": 60_000},
    SILENT: {"fairlane": 60_000},
    STEADY: {"fairlane": 3_000},
}


def _over_alone(results: Results) -> Series:
    return ratio(results.series("fairlane", BESIDE), results.series("fairlane", ALONE))


def _per_client(name: str, scenario: str) -> tuple[str, str, str, str]:
    return (f"{name} in all", "fairlane", scenario, f"heard_{name}")


_TARGETS = (
    Target(
        line="200 clients follow at full load: at least 80 % of the rate without them",
        short="200 follow: 80 % of the rate",
        value=_over_alone,
        form="{:.0%}",
        at_least=KEPT,
        beside=(
            ("nobody", "fairlane", ALONE, "per_second"),
            ("200", "fairlane", BESIDE, "per_second"),
            ("processor µs per job: nobody", "fairlane", ALONE, "processor_us"),
            ("200", "fairlane", BESIDE, "processor_us"),
            _per_client("events", BESIDE),
            _per_client("resyncs", BESIDE),
            _per_client("states", BESIDE),
        ),
    ),
    Target(
        line="2,000 clients at 200 jobs a second: 99 % of events arrive within 2 s",
        short="2,000 follow: p99 below 2 s",
        value=lambda results: results.series("fairlane", STEADY, "heard_p99_ms"),
        form="{:,.0f} ms",
        below=LATE_MS,
        beside=(
            ("p50 ms", "fairlane", STEADY, "heard_p50_ms"),
            ("worst", "fairlane", STEADY, "heard_worst_ms"),
            ("events expected", "fairlane", STEADY, "expected_events"),
            ("heard", "fairlane", STEADY, "heard_events"),
            ("resyncs", "fairlane", STEADY, "heard_resyncs"),
            ("part of a core", "fairlane", STEADY, "busy"),
        ),
    ),
    Target(
        line="200 clients that never read: memory grows by less than 200 MB",
        short="200 silent: below 200 MB",
        value=lambda results: results.series("fairlane", SILENT, "grown_megabytes"),
        form="{:,.0f} MB",
        below=SILENT_MEGABYTES,
        beside=(
            ("jobs per second", "fairlane", SILENT, "per_second"),
            ("nobody", "fairlane", ALONE, "per_second"),
        ),
    ),
)

COURSE = Race(
    name="followers",
    title="Noop jobs on SQLite, synchronous=FULL, one process that serves its events",
    contestants=("fairlane",),
    peers=(),
    programs="benchmarks.contestants.followers",
    rounds=3,
    jobs=_JOBS,
    strains=(),
    rates=(ALONE, BESIDE, SILENT, STEADY),
    pick_ups=(),
    shown=(),
    targets=_TARGETS,
)
