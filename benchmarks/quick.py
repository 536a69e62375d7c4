"""A quick measurement: noop jobs drained per second on SQLite, with everything on.

Everything on means: `synchronous=FULL`, each job's start and end committed before anything happens,
a result and its history kept, two events per job. Beside it stand the figures of the 150-line spike
that the design was measured with, on another machine: ratios between rows mean more than numbers.
"""

import argparse
import asyncio
import json
import os
import platform
import tempfile
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

import apsw
from rich.console import Console
from rich.progress import track
from rich.table import Table

from fairlane import Fairlane

RESULTS = Path(__file__).parent / "results"


class Scenario:
    def __init__(
        self, name: str, jobs: int, spike: str, lane: Callable[[int], str] | None, **queue: Any
    ) -> None:
        self.name = name
        self.jobs = jobs
        self.spike = spike
        self.lane = lane
        self.queue = queue


SCENARIOS = [
    Scenario("no lanes, 256 at a time", 20_000, "13,000–20,000", None),
    Scenario("100 lanes", 20_000, "13,000–16,000", lambda number: f"lane-{number % 100}"),
    Scenario("max_concurrent 3", 5_000, "3,200–4,100", None, max_concurrent=3),
    Scenario("one lane, strictly serial", 2_000, "1,400–1,600", lambda _: "only"),
]


async def measure(scenario: Scenario, folder: Path) -> Mapping[str, float]:
    """Submit everything to a paused queue, then let it run; return rates per second."""
    app = Fairlane(f"sqlite:///{folder}/bench.db", slots=256)
    app.queue("bench", **scenario.queue)
    lane = scenario.lane

    @app.task(queue="bench", lane=lambda values: lane(values["number"]) if lane else None)
    async def noop(number: int) -> None: ...

    async with app:
        await app.pause("bench")
        calls = [noop.call(number) for number in range(scenario.jobs)]
        began = time.perf_counter()
        jobs = await app.submit_many(calls)
        submitted = time.perf_counter() - began
        began = time.perf_counter()
        await app.resume("bench")
        await jobs[-1].wait()
        await app.drain("bench")
        drained = time.perf_counter() - began
    return {"submit": scenario.jobs / submitted, "drain": scenario.jobs / drained}


def run(rounds: int) -> list[dict[str, Any]]:
    """Run the scenarios in turn, several rounds, so that a noisy moment hits all of them."""
    found: dict[str, list[Mapping[str, float]]] = {s.name: [] for s in SCENARIOS}
    steps = [scenario for _ in range(rounds) for scenario in SCENARIOS]
    for scenario in track(steps, "measuring", console=Console(stderr=True)):
        with tempfile.TemporaryDirectory() as folder:
            found[scenario.name].append(asyncio.run(measure(scenario, Path(folder))))
    return [
        {
            "scenario": scenario.name,
            "jobs": scenario.jobs,
            "spike": scenario.spike,
            "drain": sorted(round(one["drain"]) for one in found[scenario.name]),
            "submit": sorted(round(one["submit"]) for one in found[scenario.name]),
        }
        for scenario in SCENARIOS
    ]


def show(rows: list[dict[str, Any]]) -> None:
    table = Table(title="noop jobs per second, SQLite, synchronous=FULL: median (lowest–highest)")
    for column in ("scenario", "drained", "spike", "bulk submission"):
        table.add_column(column, justify="left" if column == "scenario" else "right")
    for row in rows:
        table.add_row(row["scenario"], spread(row["drain"]), row["spike"], spread(row["submit"]))
    console = Console()
    console.print(table)
    console.print("spike: a 150-line trial of the design, another machine (bulk: 90,000 a second).")


def spread(values: list[int]) -> str:
    return f"{median(values):,.0f} ({values[0]:,}–{values[-1]:,})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--save", action="store_true", help="keep the figures in benchmarks/results"
    )
    arguments = parser.parse_args()
    rows = run(arguments.rounds)
    show(rows)
    if arguments.save:
        now = datetime.now(UTC)
        facts = {
            "at": now.isoformat(timespec="seconds"),
            "machine": f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()}",
            "python": platform.python_version(),
            "sqlite": apsw.sqlite_lib_version(),
            "rows": rows,
        }
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / f"quick-{now:%Y-%m-%d}.json").write_text(json.dumps(facts, indent=2) + "\n")


if __name__ == "__main__":
    main()
