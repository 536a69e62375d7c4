"""The figures of a run, stored as JSON, and queries for them."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median

Series = list[float | None]  # one value per round; None where the measurement failed


@dataclass
class Results:
    at: str
    machine: dict[str, str]
    settings: dict[str, dict[str, str]]  # by contestant
    rounds: int
    course: str = "sqlite"  # the name of the race, as stored results have it
    figures: dict[str, dict[str, dict[str, Series]]] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    def add(self, round: int, contestant: str, scenario: str, values: dict[str, float]) -> None:
        kept = self.figures.setdefault(contestant, {}).setdefault(scenario, {})
        for name, value in values.items():
            kept.setdefault(name, [None] * self.rounds)[round] = float(f"{value:.5g}")

    def series(self, contestant: str, scenario: str, name: str = "per_second") -> Series:
        found = self.figures.get(contestant, {}).get(scenario, {}).get(name)
        return found or [None] * self.rounds

    def save(self, path: Path) -> None:
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(asdict(self), indent=1) + "\n")


def read(path: Path) -> Results:
    return Results(**json.loads(path.read_text()))


def ratio(over: Series, under: Series) -> Series:
    """Divide round by round: measurements of one round had the same noise."""
    return [a / b if a is not None and b else None for a, b in zip(over, under, strict=True)]


def least(*series: Series) -> Series:
    """Return the smallest value of each round."""
    return [_of_all(min, values) for values in zip(*series, strict=True)]


def greatest(*series: Series) -> Series:
    """Return the largest value of each round."""
    return [_of_all(max, values) for values in zip(*series, strict=True)]


def _of_all(choose: Callable[[list[float]], float], values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return choose(known) if len(known) == len(values) else None


def measured(series: Series) -> list[float]:
    return sorted(value for value in series if value is not None)


def middle(series: Series) -> float | None:
    values = measured(series)
    return median(values) if values else None
