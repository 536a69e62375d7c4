"""Notification of changed rules: by PostgreSQL's LISTEN, or by SQLite's data version.

A listener is used by one thread. `wait` returns when the rules may have changed, or when the
descriptor `wake` is readable.

SQLite would trust, in a child, locks that only the parent has. So its connection is closed before a
fork. The child only leaves a socket to PostgreSQL, without a word to the server.
"""

import os
import select
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol
from weakref import WeakSet

import apsw

from fairlane_dnslog.database import Database
from fairlane_dnslog.database.sqlite import SQLiteDatabase, translated

if TYPE_CHECKING:
    from fairlane_dnslog.database.postgres import PostgresDatabase

CHANNEL: Final = "schedule_rules_changed"
POLL_SECONDS: Final = 0.1  # SQLite has no notification between processes; a poll reads one number
CONNECT_SECONDS: Final = 5
BUSY_MILLISECONDS: Final = 5000

_ALIVE: Final = "SELECT application_name FROM pg_stat_activity WHERE application_name <> ''"


class Listener(Protocol):
    def wait(self, wake: int) -> None:
        """Block until the rules may have changed or the descriptor `wake` is readable."""

    def alive_processes(self) -> set[str] | None:
        """Return the names of the processes that listen, or None if that is not known."""

    def leave_after_fork(self) -> None:
        """Drop the connection in a child, which shares it with its parent."""

    def close(self) -> None: ...


def open_listener(database: Database, *, process: str) -> Listener:
    """Return a listener that notices each change from now on."""
    if isinstance(database, SQLiteDatabase):
        return SQLiteListener(database.path)
    from fairlane_dnslog.database.postgres import PostgresDatabase  # an optional dependency

    assert isinstance(database, PostgresDatabase)
    return PostgresListener(database, process=process)


class SQLiteListener:
    """A connection that reads the counter of commits by other connections."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()  # held over a fork
        self._connection: apsw.Connection | None = None
        self._version: object = None
        _FILES.add(self)
        self._is_changed()

    def wait(self, wake: int) -> None:
        while not wait_readable([wake], POLL_SECONDS):
            if self._is_changed():
                return

    def alive_processes(self) -> set[str] | None:
        return None

    def leave_after_fork(self) -> None:
        self._lock = threading.Lock()

    def close(self) -> None:
        with self._lock:
            self._disconnect()

    def before_fork(self) -> None:
        self._lock.acquire()
        self._disconnect()

    def after_fork_in_parent(self) -> None:
        self._lock.release()

    def _is_changed(self) -> bool:
        """Return whether there was a commit since the last call; counters of two connections are
        not comparable, so a new connection counts as a change."""
        with self._lock, translated(self._path):
            if self._connection is None:
                # A file that does not exist is not created: its tables would be missing.
                self._connection = apsw.Connection(
                    str(self._path), flags=apsw.SQLITE_OPEN_READWRITE
                )
                self._connection.set_busy_timeout(BUSY_MILLISECONDS)
                self._version = None
            before, self._version = self._version, self._connection.pragma("data_version")
            return before != self._version

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


class PostgresListener:
    """A connection in the state LISTEN; its name on the server is the name of the process."""

    def __init__(self, database: "PostgresDatabase", *, process: str) -> None:
        import psycopg

        from fairlane_dnslog.database import postgres

        self._translated = postgres.translated
        self._is_notified = False
        with self._translated():
            self._connection = psycopg.Connection.connect(
                database._dsn,
                autocommit=True,
                prepare_threshold=None,
                connect_timeout=CONNECT_SECONDS,
                application_name=process,
                # A lost network is noticed although this connection does not send.
                keepalives_idle=5,
                keepalives_interval=2,
                keepalives_count=3,
            )
            # A notification can arrive with the answer to a query, and then is not on the socket.
            self._connection.add_notify_handler(self._note)
            try:
                self._connection.execute("LISTEN schedule_rules_changed")
            except BaseException:
                self._connection.close()
                raise

    def wait(self, wake: int) -> None:
        with self._translated():
            descriptor = self._connection.fileno()
            while not self._is_notified:
                if wake in wait_readable([descriptor, wake]):
                    return
                self._receive()
            self._is_notified = False

    def _receive(self) -> None:
        # `Connection.notifies()` may not be used together with a handler.
        self._connection.pgconn.consume_input()
        while self._connection.pgconn.notifies() is not None:
            self._is_notified = True

    def _note(self, _: object) -> None:
        self._is_notified = True

    def alive_processes(self) -> set[str] | None:
        """Return the names of all sessions; a process on another machine is one of them too."""
        with self._translated():
            return {str(row[0]) for row in self._connection.execute(_ALIVE)}

    def leave_after_fork(self) -> None:
        _ABANDONED.append(self._connection)  # an end by the garbage collector is a warning
        try:
            with Path(os.devnull).open("rb") as nothing:
                os.dup2(nothing.fileno(), self._connection.fileno())
        except Exception:  # noqa: BLE001 - a broken connection has no socket to leave
            return

    def close(self) -> None:
        self._connection.close()


def wait_readable(descriptors: Sequence[int], seconds: float | None = None) -> set[int]:
    """Return the descriptors that are readable or broken; `select` would refuse numbers above
    1023."""
    poll = select.poll()
    for descriptor in descriptors:
        poll.register(descriptor, select.POLLIN)
    return {ready for ready, _ in poll.poll(None if seconds is None else seconds * 1000)}


_FILES: Final[WeakSet[SQLiteListener]] = WeakSet()
_ABANDONED: Final[list[Any]] = []
_fork_lock = threading.Lock()  # two threads may fork at the same time
_forking: list[SQLiteListener] = []


def _before_fork() -> None:
    _fork_lock.acquire()
    _forking[:] = list(_FILES)
    for listener in _forking:
        listener.before_fork()


def _after_fork_in_parent() -> None:
    for listener in _forking:
        listener.after_fork_in_parent()
    _forking.clear()
    _fork_lock.release()


def _after_fork_in_child() -> None:
    _forking.clear()
    _fork_lock.release()


os.register_at_fork(
    before=_before_fork,
    after_in_parent=_after_fork_in_parent,
    after_in_child=_after_fork_in_child,
)
