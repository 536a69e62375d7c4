"""Run the race: Fairlane, its peers and the raw limits, in interleaved rounds."""

import argparse
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console

from benchmarks import machine, peers, report
from benchmarks.figures import Results, read
from benchmarks.plan import CONTESTANTS, PEERS, Measurement, plan
from benchmarks.rounds import ROOT, Failed, Race

HERE = Path(__file__).parent
RESULTS = HERE / "results"
PLOT = "race.svg"
FSYNCS = Measurement(contestant="raw", scenario="fsyncs", jobs=500)


def main() -> None:
    arguments = parsed()
    console = Console()
    if arguments.redraw is not None:
        keep(read(arguments.redraw), arguments.redraw, peers.prepare(arguments.peers, console))
        return
    todo = plan(only=arguments.only, quick=arguments.quick)
    if not todo:
        raise SystemExit(f"nothing contains {', '.join(arguments.only)}; try --only drain")
    contestants = [name for name in CONTESTANTS if any(one.contestant == name for one in todo)]
    needed = not set(contestants).isdisjoint(PEERS)
    python = peers.prepare(arguments.peers, console) if needed else None
    arguments.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="race-", dir=arguments.folder) as folder:
        race = Race(python=Path(sys.executable), peers=python, folder=Path(folder), console=console)
        results = Results(
            at=datetime.now(UTC).isoformat(timespec="seconds"),
            machine={
                **machine.facts(),
                "file system": machine.file_system(arguments.folder),
                "load": machine.load(),
                "fsync": f"{race.ask(FSYNCS)['per_second']:,.0f} a second",
            },
            settings=race.settings([name for name in contestants if name != "raw"]),
            rounds=arguments.rounds,
        )
        introduce(results, console)
        race.run(todo, results)
    part = bool(arguments.quick or arguments.only)
    report.show(results, console, part=part)
    if part:
        console.print("A part of the race is shown and not kept; the whole of it would be.")
    elif python is not None:
        path = RESULTS / f"{results.at[:16].replace(':', '')}.json"
        results.save(path)
        keep(results, path, python)
        console.print(f"Kept in {RESULTS.relative_to(ROOT)}: {path.name}, README.md, {PLOT}")
    if results.failures:
        raise SystemExit(1)


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="how often everything is measured")
    parser.add_argument(
        "--only", action="append", default=[], help="a word of a contestant or scenario; repeatable"
    )
    parser.add_argument(
        "--quick", action="store_true", help="a fifth of the jobs, and no million of them"
    )
    parser.add_argument(
        "--folder", type=Path, default=HERE / ".scratch", help="where databases are made: on a disk"
    )
    parser.add_argument(
        "--peers", type=Path, default=ROOT / ".peers", help="the environment of the peers"
    )
    parser.add_argument(
        "--redraw", type=Path, help="write report and plot anew from kept figures, and run nothing"
    )
    return parser.parse_args()


def introduce(results: Results, console: Console) -> None:
    for name, value in results.machine.items():
        console.print(f"{name}: {value}", markup=False, highlight=False)
    console.print(report.settings(results).rich())
    if results.machine["file system"] in machine.IN_MEMORY:
        console.print("This folder is in memory, where a commit costs nothing: choose a --folder")
    if machine.is_busy():
        console.print("Other programs are at work on this machine: figures will be low and noisy")


def keep(results: Results, path: Path, python: Path) -> None:
    """Write the report and have the plot drawn, by the interpreter that has matplotlib."""
    report.write(results, RESULTS / "README.md", plot=PLOT, data=path.name)
    command = [str(python), "-m", "benchmarks.plot", str(path.resolve()), str(RESULTS / PLOT)]
    subprocess.run(command, cwd=ROOT, check=True)  # noqa: S603 - our own words


if __name__ == "__main__":
    try:
        main()
    except Failed as failure:  # of what everything else stands on
        raise SystemExit(str(failure)) from None
