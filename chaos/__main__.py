"""`python -m chaos [SCENARIO …]`: inject faults into a program and check Fairlane's guarantees."""

import argparse
import asyncio
import random
import shlex
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from chaos.bad_disks import Unsupported, full_disk, unwritable
from chaos.kills import kills
from chaos.postgres.failover import failover, fault_count
from chaos.postgres.fault_counts import DEFAULT_COUNTS, PARTS, FaultCounts
from chaos.postgres.run import postgres
from chaos.power_cuts import power_cuts
from chaos.processes import CommandRefused, ProcessDied
from chaos.result import Result, table

MAX_SHOWN_PROBLEMS = 20


class Scenario:
    def __init__(
        self, about: str, times: int, run_scenario: Callable[..., Awaitable[None]],
        *, only_when_named: bool = False,
    ) -> None:  # fmt: skip
        self.about = about
        self.times = times
        self.run = run_scenario
        self.only_when_named = only_when_named  # not part of a run of all scenarios


SCENARIOS = {
    "kills": Scenario("SIGKILL under load, then a restart", 200, kills),
    "full-disk": Scenario("the disk fills up and is freed again", 4, full_disk),
    "unwritable": Scenario(
        "the database cannot be written, at run time and at start", 2, unwritable
    ),
    "slow-disk": Scenario("kills on a slow disk", 12, partial(kills, slow_seconds=0.2)),
    "power-cuts": Scenario("unsynced writes are lost", 1000, power_cuts),
    "postgres": Scenario(
        "faults of many processes, their server and network", DEFAULT_COUNTS.total, postgres
    ),
    "failover": Scenario(
        "seconds without a leader after its loss; runs only when named",
        50,
        failover,
        only_when_named=True,
    ),
}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m chaos",
        description="Inject faults into a program on Fairlane and check from a separate journal "
        "that no acknowledged job is lost.",
    )
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    about = "\n".join(
        f"  {name:<12} {scenario.about} ({scenario.times})" for name, scenario in SCENARIOS.items()
    )
    parser.epilog = f"scenarios, with the default number of faults:\n{about}"
    parser.add_argument(
        "kinds", nargs="*", metavar="SCENARIO", help="scenarios to run; default: all"
    )
    parser.add_argument("--times", type=int, help="number of faults instead of the default")
    parser.add_argument("--seed", type=int, help="repeat the random choices of an earlier run")
    parser.add_argument("--chain", type=int, help="run only this chain of power cuts")
    parser.add_argument(
        "--synchronous",
        choices=["NORMAL", "OFF"],
        help="run power cuts on a database that syncs too little, to check that losses are found",
    )
    for part, about in PARTS.items():
        parser.add_argument(
            f"--{part}", type=int, metavar="N",
            help=f"postgres only; run only the named parts: {about}",
        )  # fmt: skip
    parser.add_argument("--keep", action="store_true", help="keep the files of a successful run")
    given = parser.parse_args()
    for kind in given.kinds:
        if kind not in SCENARIOS:
            parser.error(f"unknown scenario {kind!r}; choose from {', '.join(SCENARIOS)}")
    if given.times is not None and given.times < 1:
        parser.error(f"--times is {given.times}; it must be at least 1")
    if given.chain is not None and given.kinds != ["power-cuts"]:
        parser.error("--chain is only valid for the scenario power-cuts")
    given.counts = FaultCounts.of({part: getattr(given, part) for part in PARTS}, each=given.times)
    if given.counts.total < 1:
        parser.error("no fault is left for postgres; give one part a number above 0")
    return given


async def run_scenario(
    name: str, given: argparse.Namespace, folder: Path, progress: Progress
) -> Result:
    scenario = SCENARIOS[name]
    times = given.times or scenario.times
    again = [name, "--seed", str(given.seed)]
    if name == "postgres":
        again += given.counts.arguments()
    else:
        again += ["--times", str(times)]
    if given.synchronous is not None:
        again += ["--synchronous", given.synchronous]
    result = Result(name, again)
    options: dict[str, Any] = {"times": times}
    total = times
    if name == "power-cuts":
        options |= {"only_chain": given.chain, "synchronous": given.synchronous}
    elif name == "postgres":
        options, total = {"counts": given.counts}, given.counts.total
    elif name == "failover":
        total = fault_count(times)
    bar = progress.add_task(name, total=total)
    began = time.monotonic()
    try:
        await scenario.run(
            folder, result, seed=given.seed, tick=lambda: progress.advance(bar), **options,
        )  # fmt: skip
    except Unsupported as error:
        result.skipped = str(error)
    except (TimeoutError, ExceptionGroup, ProcessDied, CommandRefused):
        result.problem(traceback.format_exc())
    result.longest("seconds in all", time.monotonic() - began)
    progress.stop_task(bar)
    return result


def main() -> int:
    given = arguments()
    console = Console()
    if given.seed is None:
        given.seed = random.randrange(1_000_000)
    folder = Path(tempfile.mkdtemp(prefix="chaos-"))
    console.print(f"seed {given.seed}")
    columns = (TextColumn("{task.description}"), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        results = [
            asyncio.run(run_scenario(name, given, folder / name, progress))
            for name in given.kinds
            or [name for name in SCENARIOS if not SCENARIOS[name].only_when_named]
        ]
    console.print(table(results))
    bad = [result for result in results if result.problems]
    for result in bad:
        console.print(f"[red]{result.kind}[/]: {len(result.problems)} problems", highlight=False)
        for problem in result.problems[:MAX_SHOWN_PROBLEMS]:
            console.print(f"  {problem}", markup=False, highlight=False, soft_wrap=True)
        again = shlex.join(result.again)
        console.print(
            f'repeat: make chaos ARGS="{again}"', markup=False, highlight=False, soft_wrap=True
        )
    if bad:
        console.print(f"files are kept in {folder}", highlight=False, soft_wrap=True)
        console.print("A seed repeats the choices; the timing depends on the machine.")
    elif given.keep:
        console.print(f"the files are in {folder}", highlight=False, soft_wrap=True)
    else:
        shutil.rmtree(folder, ignore_errors=True)
    if not bad:
        console.print("[green]All checks passed[/]")
    return 1 if bad else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        Console(stderr=True).print("stopped; its files are in the temporary folder chaos-…")
        sys.exit(130)
