"""A race: its contestants, its measurements, and the targets that it must reach.

The contestants of one scenario run directly after each other, so that a noisy moment of the machine
affects all of them, and each round runs the whole list. The number of jobs is chosen so that one
measurement takes a few seconds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.targets import Target

TITLES = {
    "fairlane": "Fairlane",
    "huey": "Huey",
    "dbos": "DBOS",
    "procrastinate": "procrastinate",
    "pgqueuer": "pgqueuer",
    "raw": "raw",
}


@dataclass(frozen=True, kw_only=True)
class Measurement:
    contestant: str
    scenario: str
    jobs: int
    queued: int = 0
    rounds: int | None = None  # number of rounds, if not all

    @property
    def name(self) -> str:
        return f"{self.scenario}, {self.queued:,} queued" if self.queued else self.scenario


@dataclass(frozen=True, kw_only=True)
class Race:
    name: str
    title: str
    contestants: tuple[str, ...]
    peers: tuple[str, ...]
    programs: str  # the package that has a program for each contestant
    rounds: int
    jobs: Mapping[str, Mapping[str, int]]  # by scenario and contestant
    strains: tuple[Measurement, ...]  # measurements of Fairlane alone
    rates: tuple[str, ...]
    pick_ups: tuple[tuple[str, str], ...]
    shown: tuple[tuple[str, str, str], ...]  # of the strains: label, scenario, figure
    targets: tuple[Target, ...]
    hardest: int = 1_000_000_000  # backlog size from which a quick run skips a measurement

    def plan(self, *, only: Sequence[str] = (), quick: bool = False) -> list[Measurement]:
        """Return the measurements of one round; `only` filters by words, `quick` shortens it."""
        share = 5 if quick else 1
        listed = [
            Measurement(contestant=contestant, scenario=scenario, jobs=jobs // share)
            for scenario, amounts in self.jobs.items()
            for contestant, jobs in amounts.items()
        ]
        listed += [one for one in self.strains if not (quick and one.queued >= self.hardest)]
        return [
            one
            for one in listed
            if not only or any(word in f"{one.contestant} {one.name}" for word in only)
        ]
