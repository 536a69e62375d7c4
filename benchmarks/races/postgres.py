"""Fairlane on PostgreSQL beside procrastinate, pgqueuer and DBOS on the same server."""

from collections.abc import Callable

from benchmarks.figures import Results, Series, greatest, least, ratio
from benchmarks.race import TITLES, Measurement, Race
from benchmarks.targets import Target

PEERS = ("procrastinate", "pgqueuer", "dbos")
FEW, MANY = 10_000, 200_000
MINUTE = "transaction open for a minute"
KEPT = 0.9  # the share of a rate that must remain under load

_JOBS = {
    "drain": {"fairlane": 20_000, "pgqueuer": 20_000, "procrastinate": 1_000, "dbos": 1_000},
    "drain, two processes": {
        "fairlane": 20_000,
        "pgqueuer": 20_000,
        "procrastinate": 1_000,
        "dbos": 1_000,
    },
    "drain, default settings": {"pgqueuer": 4_000, "procrastinate": 500, "dbos": 1_000},
    "drain, 100 lanes": {
        "fairlane": 10_000,
        "pgqueuer": 2_000,
        "procrastinate": 400,
        "dbos": 1_000,
    },
    "drain, a hot lane": {"fairlane": 2_000, "pgqueuer": 300, "procrastinate": 300, "dbos": 300},
    "drain, transaction open": {
        "fairlane": 20_000,
        "pgqueuer": 10_000,
        "procrastinate": 1_000,
        "dbos": 1_000,
    },
    "submit in bulk": {
        "fairlane": 50_000,
        "pgqueuer": 50_000,
        "procrastinate": 20_000,
        "dbos": 2_000,
    },
    "pick-up": {"fairlane": 200, "pgqueuer": 200, "procrastinate": 200, "dbos": 200},
}

# The scenarios whose figure must not fall with the backlog, with the number of jobs to measure.
_ROWS = {
    "drain": ("per_second", 10_000),
    "drain, two processes": ("per_second", 10_000),
    "drain, 100 lanes": ("per_second", 5_000),
    "drain, a hot lane": ("per_second", 2_000),
    "submit in bulk": ("per_second", 20_000),
    "pick-up": ("p50_ms", 100),
}
_STRAINS = (
    *(
        Measurement(contestant="fairlane", scenario=scenario, jobs=jobs, queued=queued)
        for scenario, (_, jobs) in _ROWS.items()
        for queued in (FEW, MANY)
    ),
    Measurement(contestant="fairlane", scenario=MINUTE, jobs=0, rounds=2),
    Measurement(contestant="fairlane", scenario=f"{MINUTE}, two processes", jobs=0, rounds=1),
)


def _fastest(scenario: str) -> Callable[[Results], Series]:
    return lambda results: greatest(*(results.series(peer, scenario) for peer in PEERS))


def _beside(scenario: str, figure: str = "per_second") -> tuple[tuple[str, str, str, str], ...]:
    return tuple((TITLES[one], one, scenario, figure) for one in ("fairlane", *PEERS))


def _over_fastest(scenario: str, times: float) -> Target:
    fastest = _fastest(scenario)
    return Target(
        line=f"{scenario}: at least {times:g} × the fastest of them",
        short=f"{scenario}: {times:g} × the fastest",
        value=lambda results: ratio(results.series("fairlane", scenario), fastest(results)),
        form="{:.2f} ×",
        at_least=times,
        beside=_beside(scenario),
    )


def _kept(scenario: str, figure: str) -> Target:
    few, many = (f"{scenario}, {queued:,} queued" for queued in (FEW, MANY))
    is_time = figure.endswith("_ms")

    def value(results: Results) -> Series:
        over, under = (results.series("fairlane", name, figure) for name in (many, few))
        return ratio(under, over) if is_time else ratio(over, under)

    return Target(
        line=f"{scenario}: with {MANY:,} queued at least {KEPT:.0%} of what it is with {FEW:,}",
        short=f"{scenario}, {MANY:,} queued: {KEPT:.0%}",
        value=value,
        form="{:.0%}",
        at_least=KEPT,
        beside=tuple(
            (f"{queued:,}", "fairlane", name, figure) for queued, name in ((FEW, few), (MANY, many))
        ),
    )


def _kept_beside_transaction(label: str, scenario: str, name: str, *, is_time: bool) -> Target:
    def value(results: Results) -> Series:
        before, during = (
            results.series("fairlane", scenario, f"{name}_{when}") for when in ("before", "during")
        )
        return ratio(before, during) if is_time else ratio(during, before)

    return Target(
        line=f"{label}: at the end of a minute beside an open transaction at least {KEPT:.0%}",
        short=f"{label}, open transaction: {KEPT:.0%}",
        value=value,
        form="{:.0%}",
        at_least=KEPT,
        beside=tuple(
            (when, "fairlane", scenario, f"{name}_{when}") for when in ("before", "during")
        ),
    )


_TARGETS = (
    _over_fastest("drain", 1.5),
    Target(
        line="drain, two processes: faster than with one",
        short="two processes: faster than one",
        value=lambda results: ratio(
            results.series("fairlane", "drain, two processes"), results.series("fairlane", "drain")
        ),
        form="{:.2f} ×",
        at_least=1,
        beside=(
            ("one", "fairlane", "drain", "per_second"),
            ("two", "fairlane", "drain, two processes", "per_second"),
        ),
    ),
    _over_fastest("drain, two processes", 1),
    _over_fastest("submit in bulk", 2),
    _over_fastest("drain, 100 lanes", 5),
    _over_fastest("drain, a hot lane", 3),
    Target(
        line="idle pick-up: p50 below all of them (as a part of the lowest)",
        short="pick-up: below the lowest",
        value=lambda results: ratio(
            results.series("fairlane", "pick-up", "p50_ms"),
            least(*(results.series(peer, "pick-up", "p50_ms") for peer in PEERS)),
        ),
        form="{:.0%}",
        below=1,
        beside=_beside("pick-up", "p50_ms"),
    ),
    *(_kept(scenario, figure) for scenario, (figure, _) in _ROWS.items()),
    _kept_beside_transaction("drain", MINUTE, "drain", is_time=False),
    _kept_beside_transaction(
        "drain, two processes", f"{MINUTE}, two processes", "drain", is_time=False
    ),
    _kept_beside_transaction("drain, 100 lanes", MINUTE, "lanes", is_time=False),
    _kept_beside_transaction("drain, a hot lane", MINUTE, "hot", is_time=False),
    _kept_beside_transaction("submit in bulk", MINUTE, "bulk", is_time=False),
    _kept_beside_transaction("pick-up", MINUTE, "pick_up_ms", is_time=True),
)

COURSE = Race(
    name="postgres",
    title="Noop jobs on PostgreSQL, fsync on",
    contestants=("fairlane", *PEERS),
    peers=PEERS,
    programs="benchmarks.contestants.postgres",
    rounds=3,
    jobs=_JOBS,
    strains=_STRAINS,
    rates=tuple(name for name in _JOBS if name != "pick-up"),
    pick_ups=(("pick-up", "p50"), ("pick-up", "p95")),
    shown=(
        *(
            (f"{queued:,} queued", f"drain, {queued:,} queued", "per_second")
            for queued in (FEW, MANY)
        ),
        ("before a transaction", MINUTE, "drain_before"),
        ("in its last seconds", MINUTE, "drain_during"),
    ),
    targets=_TARGETS,
)
