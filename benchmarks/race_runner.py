"""Run a race: each measurement in a separate process and workspace, round after round."""

import json
import subprocess
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
from benchmarks.race import Measurement, Race
from benchmarks.workspaces import Workspaces

ROOT = Path(__file__).parent.parent
PATIENCE_SECONDS = 180.0


class Failed(Exception):
    """A contestant did not end in time, or ended with an error."""


class RaceRunner:
    def __init__(
        self,
        race: Race,
        *,
        python: Path,
        peers: Path | None,
        places: Workspaces,
        console: Console,
    ) -> None:
        self._race = race
        self._python = python
        self._peers = peers
        self._places = places
        self._console = console

    def settings(self, contestants: Sequence[str]) -> dict[str, dict[str, str]]:
        """Return the settings of each contestant, as read back from its own connection."""
        return {
            contestant: self.ask(Measurement(contestant=contestant, scenario="settings", jobs=0))
            for contestant in contestants
        }

    def run(self, plan: Sequence[Measurement], results: Results) -> None:
        fills = list(dict.fromkeys(fill for one in plan if (fill := self._places.fill(one))))
        todo = [
            (round, one)
            for round in range(results.rounds)
            for one in plan
            if one.rounds is None or round < one.rounds
        ]
        with self._progress() as progress:
            bar = progress.add_task("", total=len(fills) + len(todo))
            for fill in fills:
                progress.update(bar, description=f"making a backlog of {fill.queued:,} jobs")
                with self._places.to_fill(fill) as place:
                    self._program(fill, place)
                progress.advance(bar)
            for round, one in todo:
                what = f"round {round + 1} · {one.contestant} · {one.name}"
                progress.update(bar, description=what)
                try:
                    results.add(round, one.contestant, one.name, self.ask(one))
                except Failed as failure:
                    results.failures.append(f"{what}: {failure}")
                    progress.console.print(f"{what}: {failure}", style="red", markup=False)
                progress.advance(bar)

    def ask(self, one: Measurement) -> dict[str, Any]:
        """Run one measurement in a new workspace."""
        with self._places.place(one) as place:
            return self._program(one, place)

    def _program(self, one: Measurement, place: Sequence[str]) -> dict[str, Any]:
        python = self._peers if one.contestant in self._race.peers else self._python
        command = [str(python), "-m", f"{self._race.programs}.{one.contestant}", one.scenario]
        command += [*place, "--jobs", str(one.jobs), "--queued", str(one.queued)]
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
