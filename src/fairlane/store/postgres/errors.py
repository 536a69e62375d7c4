"""Errors of the driver as errors of Fairlane, with advice."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import asyncpg

from fairlane.errors import (
    BadSetting,
    DatabaseCorrupt,
    FairlaneError,
    NotLeading,
    StoreError,
    StoreUnavailable,
)
from fairlane.store.postgres.address import EXPECTED, Address

NOT_LEADING: Final = "FL001"  # the SQLSTATE that a commit of a former leader raises

_CLOSED: Final = {
    "57P01",  # an administrator ended the session
    "57P02",  # another session crashed
    "57P03",  # the server is starting or stopping
    "57P05",  # the session was idle for too long
    "25P03",  # its transaction was idle for too long
}
_ADVICE: Final = {
    "28P01": "check the user and the password in the address",
    "28000": "check the user in the address and what pg_hba.conf allows",
    "3D000": "make it (createdb), or name another one in the address",
    "42501": "give this user the right (for the first start GRANT CREATE ON DATABASE, then rights "
    "on the schema and its tables), or have an owner of the database start Fairlane once",
    "53100": "the disk of the server is full; free some space and work goes on by itself",
    "53300": "the server has no connection left; raise max_connections or put a pooler between",
    "25006": "it is read-only, perhaps a standby; name the server that takes writes",
    "55P03": "another session holds a lock; look for one that keeps a transaction open",
    "57014": "it took too long and was cancelled; look for a lock or an overloaded server",
}  # fmt: skip


def is_lost(error: BaseException) -> bool:
    """Return whether the connection was lost, or could not be opened."""
    if isinstance(error, asyncpg.PostgresError):
        state = error.sqlstate or ""
        return state in _CLOSED or state.startswith("08")
    if isinstance(error, asyncpg.InterfaceError):
        return "clos" in str(error)  # the driver has one class for this and for every misuse
    return isinstance(error, OSError | TimeoutError | asyncpg.InternalClientError)


@contextmanager
def translated(address: Address) -> Iterator[None]:
    """Turn an error of the database into a StoreError; other errors are raised unchanged."""
    try:
        yield
    except (
        asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError,
        TimeoutError,
    ) as error:  # fmt: skip
        trouble = trouble_of(error, address)
        if trouble is None:
            raise
        raise trouble from error


def trouble_of(error: BaseException, address: Address) -> FairlaneError | None:
    """Return the error of Fairlane, or None if the statement itself was at fault."""
    message = address.without_secrets(error) or type(error).__name__
    if isinstance(error, asyncpg.exceptions.ClientConfigurationError):
        return BadSetting(f"{address} cannot be used as an address: {message}; expected {EXPECTED}")
    if isinstance(error, asyncpg.PostgresError):
        return _trouble_of_server(error.sqlstate or "", message, address)
    if is_lost(error):
        return StoreUnavailable(
            f"the database {address} cannot be reached ({message}); check that PostgreSQL runs "
            "there and that the address is right",
            address=str(address),
        )
    return None


def _trouble_of_server(state: str, message: str, address: Address) -> StoreError | None:
    if state == NOT_LEADING:
        return NotLeading(
            f"another process leads {address} now; load again before deciding anything"
        )
    if state in ("XX001", "XX002"):
        return DatabaseCorrupt(
            f"the database {address} is damaged (PostgreSQL says: {message}); stop every program "
            "that uses it and put back a backup",
            address=str(address),
        )
    known = state in _ADVICE or state in _CLOSED
    # Connection, resources, operator, system, deadlock: the statement is not at fault.
    if known or state[:2] in ("08", "53", "57", "58") or state in ("40001", "40P01"):
        advice = _ADVICE.get(state, "work goes on by itself when it is well again")
        return StoreUnavailable(
            f"the database {address} refuses (PostgreSQL says: {message}); {advice}",
            address=str(address),
        )
    return None
