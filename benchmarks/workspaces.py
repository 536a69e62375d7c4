"""The workspace of a measurement: an empty folder, or an empty database on one server.

A backlog is created once for all rounds. On SQLite the next round uses the database as the last one
left it; on PostgreSQL each measurement gets a fresh copy.
"""

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol

from benchmarks.race import Measurement
from tests.support.postgres import Server


class Workspaces(Protocol):
    def fill(self, one: Measurement) -> Measurement | None:
        """Return the scenario that creates the backlog of a measurement, if it has one."""
        ...

    def to_fill(self, fill: Measurement) -> AbstractContextManager[Sequence[str]]: ...

    def place(self, one: Measurement) -> AbstractContextManager[Sequence[str]]:
        """Create a workspace for the duration of a block, and yield the arguments that describe
        it."""
        ...


class Folders:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def fill(self, one: Measurement) -> Measurement | None:
        if not one.queued:
            return None
        return Measurement(contestant="fairlane", scenario="fill", jobs=0, queued=one.queued)

    @contextmanager
    def to_fill(self, fill: Measurement) -> Iterator[Sequence[str]]:
        folder = self._backlog(fill)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        yield _told(folder)

    @contextmanager
    def place(self, one: Measurement) -> Iterator[Sequence[str]]:
        if one.queued:
            yield _told(self._backlog(one))
            return
        with tempfile.TemporaryDirectory(dir=self._folder) as folder:
            yield _told(Path(folder))

    def _backlog(self, one: Measurement) -> Path:
        return self._folder / f"backlog-{one.queued}"


def _told(folder: Path) -> Sequence[str]:
    return ("--folder", str(folder))


class Databases:
    """Databases on one server, with a checkpoint before each measurement."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._filled: dict[Measurement, str] = {}
        self._made = 0

    def fill(self, one: Measurement) -> Measurement | None:
        """Return the fill scenario with the lanes of the measurement."""
        if not one.queued:
            return None
        kind = one.scenario.removeprefix("drain, ") if one.scenario.endswith("lane") else ""
        kind = "100 lanes" if one.scenario.endswith("100 lanes") else kind
        scenario = f"fill, {kind}" if kind else "fill"
        return Measurement(contestant="fairlane", scenario=scenario, jobs=0, queued=one.queued)

    @contextmanager
    def to_fill(self, fill: Measurement) -> Iterator[Sequence[str]]:
        name = self._filled[fill] = self._new("template0")
        yield self._told(name)

    @contextmanager
    def place(self, one: Measurement) -> Iterator[Sequence[str]]:
        fill = self.fill(one)
        name = self._new("template0" if fill is None else self._filled[fill])
        self._server.run("CHECKPOINT")  # no contestant pays for the dirty pages of another
        try:
            yield self._told(name)
        finally:
            self._server.run(f"DROP DATABASE {name} WITH (FORCE)")

    def _new(self, template: str) -> str:
        self._made += 1
        name = f"race_{self._made}"
        self._server.run(f"CREATE DATABASE {name} TEMPLATE {template}")
        return name

    def _told(self, name: str) -> Sequence[str]:
        return ("--database", self._server.dsn(name))
