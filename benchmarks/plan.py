"""What is measured: by whom, how much of it, and in which order.

Contestants of one scenario stand side by side, so that a noisy moment of the machine hits all of
them, and each round runs the whole list. Amounts are such that one measurement takes a few seconds.
"""

from collections.abc import Sequence
from dataclasses import dataclass

CONTESTANTS = ("fairlane", "huey", "dbos", "raw")
PEERS = ("huey", "dbos")
MILLION = 1_000_000
BACKLOGS = (10_000, 200_000, MILLION)


@dataclass(frozen=True, kw_only=True)
class Measurement:
    contestant: str
    scenario: str
    jobs: int
    queued: int = 0

    @property
    def name(self) -> str:
        return f"{self.scenario}, {self.queued:,} queued" if self.queued else self.scenario


_JOBS: dict[str, dict[str, int]] = {
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
_BACKLOG_JOBS = 10_000


def plan(*, only: Sequence[str] = (), quick: bool = False) -> list[Measurement]:
    """List one round; `only` keeps what contains one of these words, `quick` leaves much out."""
    share = 5 if quick else 1
    listed = [
        Measurement(contestant=contestant, scenario=scenario, jobs=jobs // share)
        for scenario, amounts in _JOBS.items()
        for contestant, jobs in amounts.items()
    ]
    listed += [
        Measurement(contestant="fairlane", scenario="backlog", jobs=_BACKLOG_JOBS, queued=queued)
        for queued in BACKLOGS
        if not (quick and queued == MILLION)
    ]
    return [
        measurement
        for measurement in listed
        if not only or any(word in f"{measurement.contestant} {measurement.name}" for word in only)
    ]
