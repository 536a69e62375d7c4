"""Run the races: Fairlane and its peers, with followers, and a program built on it."""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console

from benchmarks import machine, peers, report
from benchmarks.figures import Results, read
from benchmarks.race import Measurement, Race
from benchmarks.race_runner import ROOT, Failed, RaceRunner
from benchmarks.races import RACES
from benchmarks.workspaces import Databases, Folders, Workspaces
from tests.support.postgres import running_postgres

HERE = Path(__file__).parent
RESULTS = {
    "sqlite": HERE / "results",
    "postgres": HERE / "results" / "postgres",
    "followers": HERE / "results" / "followers",
    "compressor": HERE / "results" / "compressor",
    "extractor": HERE / "results" / "extractor",
}
PLOT = "race.svg"
FSYNCS = Measurement(contestant="raw", scenario="fsyncs", jobs=500)

# The server has its defaults, except for the number of connections.
SERVER = {"max_connections": "200", "shared_buffers": "128MB"}
SHOWN = ("server_version", "fsync", "synchronous_commit", "full_page_writes", "shared_buffers")


def main() -> None:
    arguments = parsed()
    console = Console()
    if arguments.redraw is not None:
        results = read(arguments.redraw)
        has_plot = bool(RACES[results.course].peers)
        python = peers.prepare(arguments.peers, console) if has_plot else None
        keep(results, arguments.redraw, python)
        return
    have_failed = [run(RACES[name], arguments, console) for name in arguments.races or RACES]
    if any(have_failed):
        raise SystemExit(1)


def run(race: Race, arguments: argparse.Namespace, console: Console) -> bool:
    """Run one race; return whether a measurement failed."""
    todo = race.plan(only=arguments.only, quick=arguments.quick)
    if not todo:
        console.print(f"{race.name}: no measurement contains {', '.join(arguments.only)}")
        return False
    contestants = [name for name in race.contestants if any(o.contestant == name for o in todo)]
    needed = not set(contestants).isdisjoint(race.peers)
    python = peers.prepare(arguments.peers, console) if needed else None
    arguments.folder.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(prefix="race-", dir=arguments.folder) as folder,
        places(race, Path(folder)) as (where, server),
    ):
        runner = RaceRunner(
            race, python=Path(sys.executable), peers=python, places=where, console=console
        )
        results = Results(
            at=datetime.now(UTC).isoformat(timespec="seconds"),
            machine={
                **machine.facts(),
                **server,
                "load": machine.load(),
                **fsyncs(Path(folder), console),
            },
            settings=runner.settings([name for name in contestants if name != "raw"]),
            rounds=arguments.rounds or race.rounds,
            course=race.name,
        )
        introduce(results, console)
        runner.run(todo, results)
    part = bool(arguments.quick or arguments.only)
    report.show(results, console, part=part)
    if part:
        console.print("A part of a race is printed and not stored; a whole race is stored.")
    elif python is not None or not race.peers:
        path = RESULTS[race.name] / f"{results.at[:16].replace(':', '')}.json"
        results.save(path)
        keep(results, path, python)
        console.print(f"Stored in {path.parent.relative_to(ROOT)}: {path.name} and README.md")
    return bool(results.failures)


@contextmanager
def places(race: Race, folder: Path) -> Iterator[tuple[Workspaces, dict[str, str]]]:
    """Create the workspaces of a race, and return the server settings that its figures depend
    on."""
    if race.name != "postgres":
        yield Folders(folder), {"file system": machine.file_system(folder)}
        return
    with running_postgres(durable=True, settings=SERVER) as server:
        facts = {"file system": machine.file_system(Path(tempfile.gettempdir()))}
        yield Databases(server), {**facts, **machine.server(server.dsn(), SHOWN)}


def fsyncs(folder: Path, console: Console) -> dict[str, str]:
    """Measure the fsync rate of the disk, for every race."""
    sqlite = RACES["sqlite"]
    runner = RaceRunner(
        sqlite, python=Path(sys.executable), peers=None, places=Folders(folder), console=console
    )
    return {"disk": f"{runner.ask(FSYNCS)['per_second']:,.0f} fsyncs a second"}


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("races", nargs="*", choices=[*RACES, []], help="races to run; default: all")
    parser.add_argument("--rounds", type=int, help="number of rounds")
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        help="run only measurements that contain this word; repeatable",
    )
    parser.add_argument(
        "--quick", action="store_true", help="a fifth of the jobs, without the largest backlogs"
    )
    parser.add_argument(
        "--folder", type=Path, default=HERE / ".scratch", help="folder for the databases, on a disk"
    )
    parser.add_argument(
        "--peers", type=Path, default=ROOT / ".peers", help="the environment of the peers"
    )
    parser.add_argument(
        "--redraw", type=Path, help="write report and plot from stored figures, without a run"
    )
    return parser.parse_args()


def introduce(results: Results, console: Console) -> None:
    for name, value in results.machine.items():
        console.print(f"{name}: {value}", markup=False, highlight=False)
    console.print(report.settings(results).rich())
    if results.machine["file system"] in machine.IN_MEMORY:
        console.print(
            "This folder is in memory, where a commit is free: choose a --folder on a disk"
        )
    if machine.is_busy():
        console.print("Other programs use this machine: figures will be low and noisy")


def keep(results: Results, path: Path, python: Path | None) -> None:
    """Write the report and draw the plot, with the interpreter that has matplotlib, if any."""
    folder = RESULTS[results.course]
    up = "../" * (len(folder.relative_to(HERE).parts))
    plot = PLOT if python is not None else None
    report.write(results, folder / "README.md", plot=plot, data=path.name, readme=f"{up}README.md")
    if python is None:
        return
    command = [str(python), "-m", "benchmarks.plot", str(path.resolve()), str(folder / PLOT)]
    subprocess.run(command, cwd=ROOT, check=True)  # noqa: S603 - our own words


if __name__ == "__main__":
    try:
        main()
    except Failed as failure:  # the baseline of all other figures
        raise SystemExit(str(failure)) from None
