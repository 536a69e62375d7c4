"""`python -m simulation`: run many simulated worlds, or replay one of them."""

import argparse
import multiprocessing
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterable
from typing import get_args

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from simulation.databases import StoreKind
from simulation.world import Verdict, simulate

console = Console()
_WORLDS_PER_PROCESS = 50


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=500, help="how many worlds (500)")
    parser.add_argument("--first", type=int, default=1, help="the first seed (1)")
    parser.add_argument("--seed", type=int, help="run only this world and print its journal")
    parser.add_argument(
        "--store",
        choices=get_args(StoreKind),
        help="the store of every world; by default it depends on the seed",
    )
    parser.add_argument(
        "--processes", type=int, default=os.cpu_count() or 1, help="number of worlds in parallel"
    )
    given = parser.parse_args()
    for name in ("seeds", "processes"):
        if getattr(given, name) < 1:
            parser.error(f"--{name} is {getattr(given, name)}; it must be at least 1")
    if given.seed is not None:
        return _run_one(given.seed, given.store)
    return _run_many(range(given.first, given.first + given.seeds), given.processes, given.store)


def _run_one(seed: int, store: StoreKind | None) -> int:
    console.print(f"World {seed}: seconds on the left; A1 is the first process of host A, A2 its")
    console.print("successor; a job has a short name, its id follows once in brackets.")

    def report(line: str) -> None:
        console.print(line, markup=False, highlight=False, soft_wrap=True)

    verdict = simulate(seed, store, report=report)
    _sum_up([verdict])
    for violation in verdict.violations:
        report(f"BROKEN {violation}")
    return 1 if verdict.violations else 0


def _run_many(seeds: range, processes: int, store: StoreKind | None) -> int:
    console.print(f"Running {len(seeds)} worlds, {processes} in parallel (300 take about a minute)")
    began = time.monotonic()
    verdicts: list[Verdict] = []
    columns = (TextColumn("worlds"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with (
        multiprocessing.Pool(processes, maxtasksperchild=_WORLDS_PER_PROCESS) as pool,
        Progress(*columns, console=Console(stderr=True), transient=True) as progress,
    ):
        bar = progress.add_task("worlds", total=len(seeds))
        try:
            for verdict in pool.imap_unordered(_simulated, ((seed, store) for seed in seeds)):
                verdicts.append(verdict)
                progress.advance(bar)
                if verdict.violations:
                    _print_violation(verdict)
        except KeyboardInterrupt:
            pool.terminate()
    _show_checks(verdicts)
    _sum_up(verdicts)
    took = time.monotonic() - began
    hours = sum(verdict.seconds for verdict in verdicts) / 3600
    console.print(
        f"{took:,.0f} s real time: {hours * 3600 / took:,.0f} times faster than simulated time"
    )
    if len(verdicts) < len(seeds):
        console.print(f"Stopped after {len(verdicts)} of {len(seeds)} worlds")
        return 130
    return 1 if any(verdict.violations for verdict in verdicts) else 0


def _simulated(given: tuple[int, StoreKind | None]) -> Verdict:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # the parent process handles Ctrl-C
    return simulate(*given)


def replay_command(verdict: Verdict) -> str:
    return f'make simulate ARGS="--seed {verdict.seed} --store {verdict.store}"'


def _print_violation(verdict: Verdict) -> None:
    count = len(verdict.violations)
    more = f" (and {count - 1} more violations)" if count > 1 else ""
    console.print(f"[red]World {verdict.seed}[/] violates a rule{more}:")
    console.print(f"  {verdict.violations[0]}", markup=False, highlight=False, soft_wrap=True)
    console.print(f"  replay: {replay_command(verdict)}", markup=False, highlight=False)


def _show_checks(verdicts: list[Verdict]) -> None:
    table = Table("rule", "checks", title="Checks")
    for name, count in sorted(_sum(verdict.checks for verdict in verdicts).items()):
        table.add_row(name, f"{count:,}")
    console.print(table)


def _sum_up(verdicts: list[Verdict]) -> None:
    faults = _sum(verdict.faults for verdict in verdicts)
    listed = ", ".join(f"{name} {count:,}" for name, count in faults.most_common(10))
    console.print(f"Faults: {faults.total():,} ({listed})", highlight=False)
    hours = sum(verdict.seconds for verdict in verdicts) / 3600
    jobs = sum(verdict.jobs for verdict in verdicts)
    runs = sum(verdict.runs for verdict in verdicts)
    console.print(
        f"{len(verdicts):,} worlds, {hours:,.1f} simulated hours, {jobs:,} jobs, {runs:,} attempts"
    )
    broken = _sum(
        dict.fromkeys({violation.split(":")[0] for violation in verdict.violations}, 1)
        for verdict in verdicts
    )
    if not broken:
        console.print("[green]No rule was violated[/]")
    for rule, count in broken.most_common():
        console.print(f"[red]{rule}[/]: violated in {count} of {len(verdicts)} worlds")


def _sum(counts: Iterable[dict[str, int]]) -> Counter[str]:
    total: Counter[str] = Counter()
    for count in counts:
        total.update(count)
    return total


if __name__ == "__main__":
    sys.exit(main())
