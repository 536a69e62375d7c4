"""The database in one SQLite file.

apsw has its own SQLite: that of older Pythons can damage a WAL that two connections use.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, Final, TypeVar

import apsw
import msgspec

from fairlane_dnslog.database.connection_pool import ConnectionPool
from fairlane_dnslog.database.contract import Database, Dialect, Row, Transaction
from fairlane_dnslog.database.errors import (
    ConstraintViolated,
    DatabaseDamaged,
    DatabaseError,
    DatabaseUnavailable,
)
from fairlane_dnslog.database.migrations import missing_migrations
from fairlane_dnslog.database.private_file import create_private_file, create_private_folder
from fairlane_dnslog.database.text import storable_value

T = TypeVar("T")

BUSY_SECONDS: Final = 15.0
RETRY_SECONDS: Final = 0.002

# A power cut must not undo a rule that a person has saved, so every commit is durable (FULL); a few
# commits per pull make that cheap. Free pages are returned by retention (`incremental_vacuum`).
# The setting of auto_vacuum only has an effect on a new file, and must precede the tables.
_SETTINGS: Final = """
PRAGMA auto_vacuum = INCREMENTAL;
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
PRAGMA fullfsync = ON; -- for macOS, whose fsync stops at the cache of the disk
PRAGMA journal_size_limit = 67108864;
PRAGMA temp_store = MEMORY;
PRAGMA cache_size = -32768;
PRAGMA mmap_size = 1073741824;
"""


class SQLiteDatabase(Database):
    dialect: ClassVar[Dialect] = "sqlite"

    def __init__(self, path: Path) -> None:
        self.path = path
        self._pool = ConnectionPool(connect=self._connect, disconnect=apsw.Connection.close)

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        with self._transaction("BEGIN IMMEDIATE") as opened:
            yield opened

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        with self._transaction("BEGIN") as opened:
            yield opened

    def migrate(self) -> None:
        with self._borrowed() as connection, _in_transaction(connection, "BEGIN IMMEDIATE"):
            version = connection.pragma("user_version")
            for one in missing_migrations("sqlite", version):
                connection.execute(one.script)
                connection.pragma("user_version", one.version)

    def close(self) -> None:
        self._pool.close_idle()

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[Transaction]:
        with self._borrowed() as connection, _in_transaction(connection, begin):
            yield SQLiteTransaction(connection, self.path)

    @contextmanager
    def _borrowed(self) -> Iterator[apsw.Connection]:
        connection, _ = self._pool.borrow()
        try:
            with translated(self.path):
                yield connection
        finally:
            self._pool.give_back(connection)

    def _connect(self) -> apsw.Connection:
        with translated(self.path):
            create_private_folder(self.path.parent)
            create_private_file(self.path)
            connection = apsw.Connection(str(self.path))
            connection.set_busy_timeout(int(BUSY_SECONDS * 1000))
            # All rows are fetched: a script does not continue after a row until the next is.
            _patiently(lambda: connection.execute(_SETTINGS).fetchall())
            return connection


class SQLiteTransaction(Transaction):
    dialect: ClassVar[Dialect] = "sqlite"

    def __init__(self, connection: apsw.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path

    def rows(self, sql: str, /, **values: object) -> list[Row]:
        with translated(self._path):
            return _fetched(self._connection.execute(sql, _bindings(values)))

    def rows_of_many(self, sql: str, values: Sequence[Mapping[str, object]], /) -> list[Row]:
        with translated(self._path):
            return _fetched(self._connection.executemany(sql, map(_bindings, values)))

    def run(self, sql: str, /, **values: object) -> int:
        with translated(self._path):
            before = self._connection.total_changes()
            self._connection.execute(sql, _bindings(values)).fetchall()
            # `changes()` reports the previous statement if this one changed no row at all.
            if self._connection.total_changes() == before:
                return 0
            return self._connection.changes()


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Raise errors of SQLite as errors of this package."""
    try:
        yield
    except apsw.ConstraintError as error:
        raise ConstraintViolated(str(error)) from error
    except (apsw.NotADBError, apsw.CorruptError) as error:
        raise DatabaseDamaged(
            f"{path} is damaged ({error}); expected a database of fairlane-dnslog: move the file "
            "away or restore a copy of it"
        ) from error
    except apsw.BusyError as error:
        raise DatabaseUnavailable(
            f"{path} was locked for {BUSY_SECONDS:g} s ({error}); expected other writers to end "
            "sooner: try again, and look for a program that has the file open"
        ) from error
    except (apsw.CantOpenError, apsw.FullError, apsw.IOError, apsw.ReadOnlyError, OSError) as error:
        raise DatabaseUnavailable(
            f"{path} cannot be used ({error}); expected a writable file on a disk with free space: "
            "check the folder and its permissions"
        ) from error
    except apsw.Error as error:
        raise DatabaseError(f"SQLite refused a statement: {error}") from error


@contextmanager
def _in_transaction(connection: apsw.Connection, begin: str) -> Iterator[None]:
    _patiently(lambda: connection.execute(begin))
    try:
        yield
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _fetched(cursor: apsw.Cursor) -> list[Row]:
    names: list[str] = []
    found: list[Row] = []
    for row in cursor:
        names = names or [column[0] for column in cursor.description]
        found.append(dict(zip(names, row, strict=True)))
    return found


def _bindings(values: Mapping[str, object]) -> dict[str, Any]:
    return {name: _binding(value) for name, value in values.items()}


def _binding(value: object) -> object:
    value = storable_value(value)
    return msgspec.json.encode(value).decode() if isinstance(value, list) else value


def _patiently(work: Callable[[], T]) -> T:
    """Try again while the file is locked: SQLite does not always wait by itself."""
    give_up_at = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            return work()
        except apsw.BusyError:
            if time.monotonic() > give_up_at:
                raise
            time.sleep(RETRY_SECONDS)
