"""The database in the schema `dnslog` of a PostgreSQL database."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, Final

import psycopg
from psycopg.rows import DictRow, dict_row

from fairlane_dnslog.database.connection_pool import ConnectionPool
from fairlane_dnslog.database.contract import Database, Dialect, Row, Transaction
from fairlane_dnslog.database.errors import ConstraintViolated, DatabaseError, DatabaseUnavailable
from fairlane_dnslog.database.migrations import missing_migrations
from fairlane_dnslog.database.placeholders import for_psycopg
from fairlane_dnslog.database.text import storable_value

Connection = psycopg.Connection[DictRow]

SCHEMA: Final = "dnslog"
CONNECT_SECONDS: Final = 10
MIGRATION_LOCK: Final = 0x646E736C6F67  # "dnslog", among the advisory locks of the database

# The settings end with their transaction, so a pooler may give each transaction another session.
# A process that is lost without a word must not hold its locks for long.
_SETTINGS: Final = (
    f"SET LOCAL search_path = {SCHEMA}, pg_temp; "
    "SET LOCAL idle_in_transaction_session_timeout = '60s'"
)
_BEGIN_WRITE: Final = f"BEGIN ISOLATION LEVEL READ COMMITTED; {_SETTINGS}"
# The reads of a page take milliseconds: compiling them, or starting processes, would take longer.
# The sums of a year have a group for every domain, which must not be written to disk.
_BEGIN_READ: Final = (
    f"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; {_SETTINGS}; SET LOCAL jit = off; "
    "SET LOCAL max_parallel_workers_per_gather = 0; SET LOCAL work_mem = '32MB'"
)


class PostgresDatabase(Database):
    dialect: ClassVar[Dialect] = "postgres"

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._pool = ConnectionPool(connect=self._connect, disconnect=psycopg.Connection.close)

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        with self._transaction(_BEGIN_WRITE) as connection:
            yield PostgresTransaction(connection)

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        with self._transaction(_BEGIN_READ) as connection:
            yield PostgresTransaction(connection)

    def migrate(self) -> None:
        with self._transaction(_BEGIN_WRITE) as connection:
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (MIGRATION_LOCK,))
            if connection.execute("SELECT to_regclass('schema_version') AS found").fetchone() == {
                "found": None
            }:
                _create_schema(connection)
            row = connection.execute("SELECT max(version) AS version FROM schema_version")
            for one in missing_migrations("postgres", (row.fetchone() or {})["version"] or 0):
                connection.execute(one.script)
                connection.execute("INSERT INTO schema_version VALUES (%s)", (one.version,))

    def close(self) -> None:
        self._pool.close_idle()

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[Connection]:
        connection = self._begun(begin)
        try:
            with translated():
                yield connection
                connection.execute("COMMIT")
        finally:
            self._end(connection)

    def _begun(self, begin: str) -> Connection:
        """Return a connection in a transaction; a connection that the server has closed since its
        last use is replaced, and so are the other unused ones."""
        connection, is_used = self._pool.borrow()
        try:
            with translated():
                connection.execute(begin)
        except DatabaseUnavailable:
            self._pool.discard(connection)
            if not is_used:
                raise
            self._pool.close_idle()
            return self._begun(begin)
        except BaseException:
            self._pool.discard(connection)
            raise
        return connection

    def _end(self, connection: Connection) -> None:
        try:
            if connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
                connection.rollback()
        except psycopg.Error:
            pass  # the connection is broken, and the block has raised its own error
        if connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE:
            self._pool.give_back(connection)
        else:
            self._pool.discard(connection)

    def _connect(self) -> Connection:
        with translated():
            return psycopg.Connection.connect(
                self._dsn,
                autocommit=True,  # transactions are begun by our own statements
                row_factory=dict_row,
                # A prepared plan would not depend on the values, and a pooler has no place for it.
                prepare_threshold=None,
                connect_timeout=CONNECT_SECONDS,
                application_name="fairlane-dnslog",
                keepalives_idle=15,
                keepalives_interval=5,
                keepalives_count=3,
                tcp_user_timeout=30_000,
            )


class PostgresTransaction(Transaction):
    dialect: ClassVar[Dialect] = "postgres"

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def rows(self, sql: str, /, **values: object) -> list[Row]:
        with translated():
            cursor = self._execute(sql, values)
            return cursor.fetchall() if cursor.description else []

    def run(self, sql: str, /, **values: object) -> int:
        with translated():
            return max(self._execute(sql, values).rowcount, 0)

    def rows_of_many(self, sql: str, values: Sequence[Mapping[str, object]], /) -> list[Row]:
        return [row for one in values for row in self.rows(sql, **one)]

    def _execute(self, sql: str, values: Mapping[str, object]) -> psycopg.Cursor[DictRow]:
        bound: dict[str, Any] = {name: storable_value(value) for name, value in values.items()}
        return self._connection.execute(for_psycopg(sql), bound)


@contextmanager
def translated() -> Iterator[None]:
    """Raise errors of psycopg as errors of this package."""
    try:
        yield
    except psycopg.IntegrityError as error:
        raise ConstraintViolated(_first_line(error)) from error
    except (psycopg.OperationalError, psycopg.InterfaceError) as error:
        raise DatabaseUnavailable(
            f"PostgreSQL cannot be used ({_first_line(error)}); expected a running server at the "
            "address of the setting `database`"
        ) from error
    except psycopg.Error as error:
        raise DatabaseError(f"PostgreSQL refused a statement: {_first_line(error)}") from error


def _create_schema(connection: Connection) -> None:
    # A role without the right to create schemas can use one that its administrator made.
    if connection.execute("SELECT to_regnamespace('dnslog') AS found").fetchone() == {
        "found": None
    }:
        connection.execute("CREATE SCHEMA dnslog")
    connection.execute("CREATE TABLE schema_version (version bigint PRIMARY KEY)")


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
