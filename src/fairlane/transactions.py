"""Submitting inside the caller's own transaction on PostgreSQL: both are committed or neither.

The submission is one INSERT on the caller's connection. The leader reads it after the commit, so a
job that cannot be admitted is not refused: it ends as skipped, with the reason.
"""

import re
from typing import Any, Final

from fairlane.errors import UsageError

_PLACEHOLDER: Final = re.compile(r"\$\d")
_IDLE: Final = 0  # PQTRANS_IDLE of libpq: no transaction is open
_EXPECTED: Final = "a connection of asyncpg or psycopg 3"


def driver_of(connection: Any) -> str:
    """Return the driver of a connection; raise if it is not a supported one."""
    driver = type(connection).__module__.partition(".")[0]
    if driver not in ("asyncpg", "psycopg") or not hasattr(connection, "execute"):
        raise UsageError(f"submit_inside takes {_EXPECTED}, got {type(connection).__name__}")
    return driver


async def execute(connection: Any, statement: str, values: tuple[Any, ...]) -> None:
    """Execute a statement on a connection that is awaited."""
    if driver_of(connection) == "asyncpg":
        if connection.is_closed():
            raise UsageError("submit_inside got a connection that is closed")
        if not connection.is_in_transaction():
            raise UsageError(
                "submit_inside needs a transaction: async with connection.transaction()"
            )
        await connection.execute(statement, *values)
        return
    if not _is_awaited(connection):
        raise UsageError("this connection is not awaited; use app.sync.jobs.submit_inside")
    _check_transaction(connection)
    await connection.execute(_PLACEHOLDER.sub("%s", statement), values)


def execute_sync(connection: Any, statement: str, values: tuple[Any, ...]) -> None:
    """Execute a statement on a connection that is not awaited."""
    if driver_of(connection) == "asyncpg" or _is_awaited(connection):
        raise UsageError("this connection is awaited; use `await app.jobs.submit_inside`")
    _check_transaction(connection)
    connection.execute(_PLACEHOLDER.sub("%s", statement), values)


def _check_transaction(connection: Any) -> None:
    """Raise if no transaction would be open: psycopg begins one, except with autocommit."""
    if connection.autocommit and connection.info.transaction_status == _IDLE:
        raise UsageError("submit_inside needs a transaction: with connection.transaction()")


def _is_awaited(connection: Any) -> bool:
    return "Async" in type(connection).__name__
