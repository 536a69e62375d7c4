"""The run itself: each measurement in a process and a folder of its own, round after round."""

import json
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from benchmarks.figures import Results
from benchmarks.plan import PEERS, Measurement

ROOT = Path(__file__).parent.parent
PATIENCE_SECONDS = 600.0


class Failed(Exception):
    """A contestant did not come to an end, or not to a good one."""


class Race:
    def __init__(self, *, python: Path, peers: Path | None, folder: Path, console: Console) -> None:
        self._python = python
        self._peers = peers
        self._folder = folder
        self._console = console

    def settings(self, contestants: Sequence[str]) -> dict[str, dict[str, str]]:
        """Ask each contestant how it is set up, as read back from its own connection."""
        return {
            contestant: self.ask(Measurement(contestant=contestant, scenario="settings", jobs=0))
            for contestant in contestants
        }

    def run(self, plan: Sequence[Measurement], results: Results) -> None:
        backlogs = sorted({measurement.queued for measurement in plan if measurement.queued})
        with self._progress() as progress:
            bar = progress.add_task("", total=len(backlogs) + results.rounds * len(plan))
            for queued in backlogs:
                progress.update(bar, description=f"making a backlog of {queued:,} jobs")
                self._fill(queued)
                progress.advance(bar)
            for round in range(results.rounds):
                for one in plan:
                    what = f"round {round + 1} · {one.contestant} · {one.name}"
                    progress.update(bar, description=what)
                    try:
                        results.add(round, one.contestant, one.name, self.ask(one))
                    except Failed as failure:
                        results.failures.append(f"{what}: {failure}")
                        progress.console.print(f"{what}: {failure}", style="red", markup=False)
                    progress.advance(bar)

    def ask(self, one: Measurement) -> dict[str, Any]:
        """Have one measurement made; what a backlog's database has become is kept for the next."""
        if one.queued:
            return self._program(one, self._backlog(one.queued))
        with tempfile.TemporaryDirectory(dir=self._folder) as folder:
            return self._program(one, Path(folder))

    def _fill(self, queued: int) -> None:
        folder = self._backlog(queued)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        fill = Measurement(contestant="fairlane", scenario="fill", jobs=0, queued=queued)
        self._program(fill, folder)

    def _backlog(self, queued: int) -> Path:
        return self._folder / f"backlog-{queued}"

    def _program(self, one: Measurement, folder: Path) -> dict[str, Any]:
        python = self._peers if one.contestant in PEERS else self._python
        command = [str(python), "-m", f"benchmarks.contestants.{one.contestant}", one.scenario]
        command += ["--folder", str(folder), "--jobs", str(one.jobs), "--queued", str(one.queued)]
        try:
            done = subprocess.run(  # noqa: S603 - our own words
                command,
                cwd=ROOT,
                capture_output=True,
                text=True,
                check=False,
                timeout=PATIENCE_SECONDS,
            )
        except subprocess.TimeoutExpired:
            raise Failed(f"{one.contestant}: no end within {PATIENCE_SECONDS:.0f} s") from None
        try:
            found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        except (IndexError, ValueError):
            said = [*done.stdout.splitlines(), *done.stderr.splitlines()]
            last = said[-1] if said else "nothing was said"
            raise Failed(f"{one.contestant} ended with {done.returncode}: {last}") from None
        return found

    def _progress(self) -> Progress:
        return Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=self._console,
        )
