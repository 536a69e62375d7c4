"""`python -m simulation`: live through many worlds, or through one of them again."""

import argparse
import multiprocessing
import os
import sys
import time
from collections import Counter
from collections.abc import Iterable

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from simulation.world import Verdict, simulate

console = Console()
_WORLDS_PER_PROCESS = 50


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=500, help="how many worlds (500)")
    parser.add_argument("--first", type=int, default=1, help="the first seed (1)")
    parser.add_argument("--seed", type=int, help="only this one, with everything that happened")
    parser.add_argument("--store", choices=("memory", "sqlite"), help="not the seed's own choice")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args()
    if given.seed is not None:
        return _one(given.seed, given.store)
    return _many(range(given.first, given.first + given.seeds), given.processes, given.store)


def _one(seed: int, store: str | None) -> int:
    verdict = simulate(seed, store, tell=console.print)
    _show([verdict], 0.0)
    return 1 if verdict.violations else 0


def _many(seeds: range, processes: int, store: str | None) -> int:
    console.print(f"Living through {len(seeds)} worlds, {processes} at a time")
    began = time.monotonic()
    verdicts: list[Verdict] = []
    columns = (TextColumn("worlds"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with (
        multiprocessing.Pool(processes, maxtasksperchild=_WORLDS_PER_PROCESS) as pool,
        Progress(*columns, console=Console(stderr=True), transient=True) as progress,
    ):
        bar = progress.add_task("worlds", total=len(seeds))
        for verdict in pool.imap_unordered(_simulated, ((seed, store) for seed in seeds)):
            verdicts.append(verdict)
            progress.advance(bar)
            if verdict.violations:
                _complain(verdict)
    _show(verdicts, time.monotonic() - began)
    return 1 if any(verdict.violations for verdict in verdicts) else 0


def _simulated(given: tuple[int, str | None]) -> Verdict:
    return simulate(*given)


def replay_command(verdict: Verdict) -> str:
    return f"python -m simulation --seed {verdict.seed} --store {verdict.store}"


def _complain(verdict: Verdict) -> None:
    console.print(f"[red]seed {verdict.seed}[/] breaks {len(verdict.violations)} promises:")
    for violation in verdict.violations[:5]:
        console.print(f"  {violation}", markup=False, highlight=False)
    console.print(f"  again: {replay_command(verdict)}", markup=False, highlight=False)


def _show(verdicts: list[Verdict], took: float) -> None:
    faults = _sum(verdict.faults for verdict in verdicts)
    checks = _sum(verdict.checks for verdict in verdicts)
    table = Table("promise", "checked", title="What was checked")
    for name, count in sorted(checks.items()):
        table.add_row(name, f"{count:,}")
    console.print(table)
    most = ", ".join(f"{name} {count:,}" for name, count in faults.most_common(8))
    console.print(f"Faults: {faults.total():,} ({most}, …)")
    hours = sum(verdict.seconds for verdict in verdicts) / 3600
    jobs = sum(verdict.jobs for verdict in verdicts)
    runs = sum(verdict.runs for verdict in verdicts)
    console.print(f"{len(verdicts):,} worlds, {hours:,.1f} simulated hours, {jobs:,} jobs, "
                  f"{runs:,} attempts")  # fmt: skip
    if took:
        console.print(f"{took:,.0f} s real time: {hours * 3600 / took:,.0f} times faster")
    broken = sum(bool(verdict.violations) for verdict in verdicts)
    console.print("[green]No promise was broken[/]" if not broken
                  else f"[red]Promises were broken in {broken} worlds[/]")  # fmt: skip


def _sum(counts: Iterable[dict[str, int]]) -> Counter[str]:
    total: Counter[str] = Counter()
    for count in counts:
        total.update(count)
    return total


if __name__ == "__main__":
    sys.exit(main())
