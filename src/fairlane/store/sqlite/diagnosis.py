"""The diagnosis of a SQLite database; the checks are independent of each other."""

import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import apsw
import msgspec

from fairlane.errors import FairlaneError
from fairlane.store.diagnosis import Condition, Finding, RunningJob, decoded, paused_queues
from fairlane.store.sqlite.errors import translated
from fairlane.store.sqlite.leader_lock import LeaderLock
from fairlane.store.sqlite.migrate import migrations, version_of
from fairlane.store.sqlite.network_file_system import MOUNTS, NETWORK, kind_of_mount
from fairlane.store.sqlite.rows import SQLiteReads, run_read

MIB: Final = 1024 * 1024
LITTLE_SPACE: Final = 1024 * MIB
NO_SPACE: Final = 100 * MIB
LARGE_LOG: Final = 256 * MIB
QUICKLY_CHECKED: Final = 512 * MIB
LOCK_SECONDS: Final = 3.0

_RUNNING: Final = """
SELECT json_group_array(json_array(id, task, worker, started_at, cancel_outputs))
FROM job WHERE state = 'running'
"""
_WAITING: Final = """
SELECT json_group_object(task, amount) FROM (
    SELECT task, count(*) AS amount FROM job WHERE state <> 'running' GROUP BY task
)
"""
_DEAD_LETTERS: Final = """
SELECT count(*), (SELECT error FROM dead_letter ORDER BY at DESC LIMIT 1) FROM dead_letter
"""


class FileExamination:
    """Checks one file, from its folder down to its rows."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.condition: Condition | None = None  # once it could be read

    def findings(self) -> Iterator[Finding]:
        path = self._path
        if not path.exists():
            yield Finding(
                "file", "problem", f"there is no file {path}",
                "check the path; a program makes the file when it first starts",
            )  # fmt: skip
            return
        size = path.stat().st_size
        yield Finding("file", "ok", f"{path}, {size / MIB:,.1f} MiB")
        yield self._rights()
        yield self._file_system()
        yield self._space()
        yield self._log()
        yield Finding("SQLite", "ok", f"version {apsw.sqlite_lib_version()}")
        try:
            connection = self._opened()
        except FairlaneError as error:
            yield Finding("schema", "problem", error.message)
            return
        try:
            schema = self._guarded(connection, "schema", self._schema)
            yield schema
            if schema.level == "problem":
                return
            yield self._guarded(connection, "integrity", self._integrity)
            yield self._lock()
            if schema.level == "ok":
                with translated(path):
                    self.condition = self._condition(connection)
        except (FairlaneError, apsw.Error) as error:
            yield Finding("tables", "problem", str(error))
        finally:
            connection.close(True)

    def _guarded(
        self,
        connection: apsw.Connection,
        subject: str,
        check: Callable[[apsw.Connection], Finding],
    ) -> Finding:
        try:
            with translated(self._path):
                return check(connection)
        except (FairlaneError, apsw.Error) as error:
            return Finding(subject, "problem", str(error))

    def _opened(self) -> apsw.Connection:
        with translated(self._path):
            connection = apsw.Connection(str(self._path), flags=apsw.SQLITE_OPEN_READONLY)
            connection.set_busy_timeout(int(LOCK_SECONDS * 1000))
            return connection

    def _rights(self) -> Finding:
        for place in (self._path, self._path.parent):
            if not os.access(place, os.R_OK | os.W_OK):
                return Finding(
                    "rights", "problem", f"this user may not write {place}",
                    "give it the right to write the file and its folder, or use another user",
                )  # fmt: skip
        return Finding("rights", "ok", "the file and its folder can be written")

    def _file_system(self) -> Finding:
        try:
            kind = kind_of_mount(self._path, MOUNTS.read_text())
        except OSError:
            kind = None
        if kind in NETWORK:
            return Finding(
                "file system", "problem", f"the file is on a network file system ({kind})",
                "SQLite can lose data there; put the database on a local disk",
            )  # fmt: skip
        return Finding("file system", "ok", kind or "not known on this system")

    def _space(self) -> Finding:
        free = shutil.disk_usage(self._path.parent).free
        said = f"{free / MIB / 1024:,.1f} GiB free"
        advice = "free some space; without any nothing more is accepted, and nothing is lost"
        if free < NO_SPACE:
            return Finding("disk", "problem", said, advice)
        return Finding("disk", "warning" if free < LITTLE_SPACE else "ok", said,
                       advice if free < LITTLE_SPACE else "")  # fmt: skip

    def _log(self) -> Finding:
        log = self._path.with_name(f"{self._path.name}-wal")
        size = log.stat().st_size if log.exists() else 0
        said = f"{size / MIB:,.1f} MiB"
        if size > LARGE_LOG:
            return Finding(
                "write-ahead log", "warning", said,
                "a program keeps an old transaction open on the file; close that program",
            )  # fmt: skip
        return Finding("write-ahead log", "ok", said)

    def _schema(self, connection: apsw.Connection) -> Finding:
        version, known = version_of(connection, self._path), len(migrations())
        if version < known:
            return Finding(
                "schema", "warning", f"version {version}, this Fairlane wants {known}",
                "run `fairlane migrate`; a program does it by itself when it starts",
            )  # fmt: skip
        return Finding("schema", "ok", f"version {version}")

    def _integrity(self, connection: apsw.Connection) -> Finding:
        if self._path.stat().st_size > QUICKLY_CHECKED:
            return Finding(
                "integrity", "ok", "not checked: the file is large",
                "check a backup of it with `sqlite3 FILE 'PRAGMA quick_check'`",
            )  # fmt: skip
        found: str = connection.execute("PRAGMA quick_check(1)").get
        if found != "ok":
            return Finding(
                "integrity", "problem", f"the file is damaged: {found}",
                "stop every program that uses it and put back a backup, or save what is readable "
                "with `sqlite3 FILE .recover`",
            )  # fmt: skip
        return Finding("integrity", "ok", "every page can be read")

    def _lock(self) -> Finding:
        """Check that the file can be written now: acquire the write lock and release it."""
        try:
            with translated(self._path):
                connection = apsw.Connection(str(self._path), flags=apsw.SQLITE_OPEN_READWRITE)
                try:
                    connection.set_busy_timeout(int(LOCK_SECONDS * 1000))
                    connection.execute("BEGIN IMMEDIATE; ROLLBACK")
                finally:
                    connection.close(True)
        except FairlaneError as error:
            return Finding("write lock", "problem", error.message)
        return Finding("write lock", "ok", "free")

    def _condition(self, connection: apsw.Connection) -> Condition:
        connection.execute("BEGIN")
        lock = LeaderLock(self._path.with_name(f"{self._path.name}.lock"), id="")
        leader = lock.holder() if os.access(self._path.parent, os.W_OK) else None
        dead_letters: Any = connection.execute(_DEAD_LETTERS).fetchall()[0]
        inbox: Any = connection.execute("SELECT count(*), min(at) FROM inbox").fetchall()[0]
        reads = SQLiteReads()
        workers = run_read(connection, reads.records("worker"))
        newest: float | None = connection.execute(
            "SELECT at FROM event ORDER BY seq DESC LIMIT 1"
        ).get
        return Condition(
            leader=None if leader is None else str(leader),
            counts=run_read(connection, reads.counts()),
            paused=paused_queues(run_read(connection, reads.records("queue"))),
            workers={name: msgspec.json.decode(body) for name, body in workers.items()},
            running=msgspec.json.decode(connection.execute(_RUNNING).get, type=list[RunningJob]),
            waiting_tasks=msgspec.json.decode(connection.execute(_WAITING).get),
            dead_letters=dead_letters[0],
            last_dead_letter=dead_letters[1],
            inbox=inbox[0],
            inbox_oldest_at=inbox[1],
            newest_at=newest,
            ended=connection.execute("SELECT count(*) FROM ended").get,
            now=time.time(),
            notices=decoded(run_read(connection, reads.records("notice"))),
        )
