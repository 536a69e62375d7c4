"""Connections, each for one purpose: opened at the first use, closed before a fork."""

import time
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import Final, TypeVar

import apsw

from fairlane.store.sqlite.errors import translated

T = TypeVar("T")

BUSY_SECONDS: Final = 5.0
RETRY_SECONDS: Final = 0.0005

# A checkpoint of 16 MB now and then is cheaper than many small ones, and the log stays small
# enough for readers, which search it. FULL makes every commit durable.
_SETTINGS: Final = """
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
PRAGMA fullfsync = ON; -- for macOS, whose fsync stops at the cache of the disk
PRAGMA wal_autocheckpoint = 4000;
PRAGMA journal_size_limit = 67108864;
PRAGMA foreign_keys = OFF;
PRAGMA temp_store = MEMORY;
"""


def connect(path: Path, *, cache_kib: int, busy_seconds: float = BUSY_SECONDS) -> apsw.Connection:
    """Open the file. Several processes that do so at once wait for each other."""
    with translated(path):
        connection = apsw.Connection(str(path))
        connection.set_busy_timeout(int(busy_seconds * 1000))
        # All rows are fetched: a statement does not continue after a row until the next is fetched.
        patiently(lambda: connection.execute(_SETTINGS).fetchall())
        connection.pragma("cache_size", -cache_kib)
        return connection


def patiently(work: Callable[[], T]) -> T:
    """Try again quickly while the database is locked, for a few seconds."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            return work()
        except apsw.BusyError:
            if time.monotonic() > deadline:
                raise
            time.sleep(RETRY_SECONDS)


class Handle:
    """A connection that one caller at a time uses."""

    def __init__(self, path: Path, opened: Callable[[], apsw.Connection]) -> None:
        self._path = path
        self._opened = opened
        self._connection: apsw.Connection | None = None
        self._turn = Lock()

    def run(self, work: Callable[[apsw.Connection], T]) -> T:
        with self._turn, translated(self._path):
            if self._connection is None:
                self._connection = self._opened()
            return work(self._connection)

    def read(self, work: Callable[[apsw.Connection], T]) -> T:
        """Run several reads on one state of the database."""

        def inside(connection: apsw.Connection) -> T:
            connection.execute("BEGIN")
            try:
                return work(connection)
            finally:
                if connection.in_transaction:
                    connection.execute("COMMIT")

        return self.run(inside)

    def close(self) -> None:
        with self._turn:
            self._close()

    def before_fork(self) -> None:
        self._turn.acquire()
        self._close()

    def after_fork(self) -> None:
        self._turn.release()

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close(True)
            self._connection = None
