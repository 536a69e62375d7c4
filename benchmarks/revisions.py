"""Compare the speed of this tree with that of another revision, measurement by measurement.

    python -m benchmarks.revisions be4f03d --rounds 20

Three contestants alternate: the other revision, this tree, and this tree again as a control. Each
measurement is a process of its own in an empty workspace; the order rotates from round to round. A
ratio is computed within each round, so a noisy moment of the machine affects both sides. Printed
are the median of the ratios and the interval that holds the true median with 95 %; a difference
inside the interval of the control is noise.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import comb
from pathlib import Path
from statistics import median
from typing import Final

from msgspec import Struct
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks import machine
from benchmarks.__main__ import SERVER
from benchmarks.race import Measurement
from benchmarks.races import RACES
from benchmarks.workspaces import Databases, Folders, Workspaces
from tests.support.postgres import running_postgres

HERE: Final = Path(__file__).parent
ROOT: Final = HERE.parent
OTHER, THIS, CONTROL = "other", "this", "control"
PATIENCE_SECONDS: Final = 180

# The rates of `make bench` that one process determines alone, and the pick-up.
SCENARIOS: Final = {
    "sqlite": (
        "drain",
        "drain, 100 lanes",
        "drain, one lane",
        "submit one by one",
        "submit from 50 callers",
        "submit in bulk",
        "pick-up",
    ),
    "postgres": ("drain", "drain, 100 lanes", "drain, a hot lane", "submit in bulk", "pick-up"),
}


class Figure(Struct, frozen=True):
    """The speed of one run, higher is better, and its CPU seconds, database server excluded."""

    speed: float
    cpu_seconds: float


Round = Mapping[str, Figure]  # by contestant


def main() -> None:
    arguments = parsed()
    console = Console()
    console.print(f"load before the first round: {machine.load()}")
    with checked_out(arguments.revision) as other:
        trees = {OTHER: other, THIS: ROOT, CONTROL: ROOT}
        for database in arguments.databases or SCENARIOS:
            with workspaces(database) as places:
                found = measure(database, trees, places, arguments.rounds, console)
            console.print(table(database, arguments.revision, found))
    console.print(f"load after the last round: {machine.load()}")


def measure(
    database: str,
    trees: Mapping[str, Path],
    places: Workspaces,
    rounds: int,
    console: Console,
) -> Mapping[str, Sequence[Round]]:
    """Run all rounds, and return the figures of each scenario."""
    race = RACES[database]
    found: dict[str, list[Round]] = {scenario: [] for scenario in SCENARIOS[database]}
    names = list(trees)
    for number in track(range(rounds), description=database, console=console):
        order = names[number % len(names) :] + names[: number % len(names)]
        for scenario in found:
            one = Measurement(
                contestant="fairlane",
                scenario=scenario,
                jobs=race.jobs[scenario]["fairlane"],
            )
            figures = {}
            for name in order:
                with places.place(one) as place:
                    figures[name] = run(f"{race.programs}.fairlane", one, trees[name], place)
            found[scenario].append(figures)
    return found


def run(program: str, one: Measurement, tree: Path, place: Sequence[str]) -> Figure:
    """Run one measurement with the sources of a tree."""
    command = [sys.executable, "-m", program, one.scenario, *place, "--jobs", str(one.jobs)]
    before = os.times()
    done = subprocess.run(  # noqa: S603 - our own words
        command,
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree / "src")},
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_SECONDS,
    )
    after = os.times()
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} in {tree} failed:\n{done.stderr}")
    figures = json.loads(done.stdout.splitlines()[-1])
    return Figure(
        speed=figures["per_second"] if "per_second" in figures else 1 / figures["p50_ms"],
        cpu_seconds=(after.children_user - before.children_user)
        + (after.children_system - before.children_system),
    )


def table(database: str, revision: str, found: Mapping[str, Sequence[Round]]) -> Table:
    result = Table(title=f"{database}: this tree over {revision}; in brackets 95 % of the median")
    for column in ("", "speed", "control: speed", "CPU", "control: CPU"):
        result.add_column(column)
    for scenario, rounds in found.items():
        result.add_row(
            scenario,
            described([one[THIS].speed / one[OTHER].speed for one in rounds]),
            described([one[CONTROL].speed / one[THIS].speed for one in rounds]),
            described([one[THIS].cpu_seconds / one[OTHER].cpu_seconds for one in rounds]),
            described([one[CONTROL].cpu_seconds / one[THIS].cpu_seconds for one in rounds]),
        )
    return result


def described(ratios: Sequence[float]) -> str:
    low, high = interval(ratios)
    return f"{median(ratios):.3f} ({low:.3f}-{high:.3f})"


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Return the values of the sign test: the true median lies between them with 95 %."""
    ordered = sorted(values)
    count = len(ordered)
    outside, rank = 1 / 2**count, 0
    while outside + comb(count, rank + 1) / 2**count <= 0.025:
        rank += 1
        outside += comb(count, rank) / 2**count
    return ordered[rank], ordered[count - 1 - rank]


@contextmanager
def checked_out(revision: str) -> Iterator[Path]:
    """Check a revision out into a folder for the duration of a block."""
    with tempfile.TemporaryDirectory(prefix="revision-") as folder:
        tree = Path(folder) / "tree"
        git("worktree", "add", "--quiet", "--detach", str(tree), revision)
        try:
            yield tree
        finally:
            git("worktree", "remove", "--force", str(tree))


def git(*words: str) -> None:
    subprocess.run(["git", *words], cwd=ROOT, check=True)  # noqa: S603, S607 - our own words


@contextmanager
def workspaces(database: str) -> Iterator[Workspaces]:
    if database == "postgres":
        with running_postgres(durable=True, settings=SERVER) as server:
            yield Databases(server)
        return
    scratch = HERE / ".scratch"
    scratch.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="revisions-", dir=scratch) as folder:
        yield Folders(Path(folder))


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.revisions", description=__doc__)
    parser.add_argument("revision", help="the revision to compare with, such as HEAD~5")
    parser.add_argument("databases", nargs="*", choices=[*SCENARIOS, []], help="default: both")
    parser.add_argument("--rounds", type=int, default=20, help="number of rounds (20)")
    return parser.parse_args()


if __name__ == "__main__":
    main()
