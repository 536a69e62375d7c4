"""Connections: how they are opened, closed, reopened after an error, and dropped in a fork.

A server that disappears is detected within a few seconds: the kernel probes idle connections, and
closes one whose data is not acknowledged.
"""

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

import asyncpg

from fairlane.errors import StoreUnavailable
from fairlane.store.postgres.address import Address
from fairlane.store.postgres.errors import is_lost, translated

T = TypeVar("T")

CONNECT_SECONDS: Final = 5.0
COMMAND_SECONDS: Final = 60.0
CLOSE_SECONDS: Final = 2.0
STATEMENTS: Final = 100  # prepared statements of a connection
OLDEST_SERVER: Final = 14

_PROBES: Final = {
    "TCP_KEEPIDLE": 2,  # seconds
    "TCP_KEEPALIVE": 2,  # the same under its name of macOS
    "TCP_KEEPINTVL": 1,
    "TCP_KEEPCNT": 3,
    "TCP_USER_TIMEOUT": 5000,  # milliseconds
}


if TYPE_CHECKING:  # at run time the class of the driver is not generic
    _Connection = asyncpg.Connection[asyncpg.Record]
else:
    _Connection = asyncpg.Connection


class Connection(_Connection):
    """A connection that returns to its pool without a reset: no user changes its session."""

    def get_reset_query(self) -> str:
        return ""

    async def close(self, *, timeout: float | None = None) -> None:
        """Close the connection, by force after an error: a pool would not report the error."""
        try:
            await super().close(timeout=timeout)
        except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError):
            self.terminate()


async def connect(address: Address, *, direct: bool = False, **options: Any) -> Connection:
    """Open a connection, to the server itself if `direct`, and check the version of the server."""
    if direct:
        address = address.of_leader
    with translated(address):
        connection = await asyncpg.connect(
            address.direct_dsn if direct else address.dsn,
            connection_class=Connection,
            **(_default_options(address) | options),
        )
        probe_while_idle(connection)
        refuse_old(connection.get_server_version().major, address)
        return connection


def _default_options(address: Address) -> dict[str, Any]:
    return {
        "timeout": CONNECT_SECONDS,
        "command_timeout": COMMAND_SECONDS,
        "statement_cache_size": 0 if address.has_pooler else STATEMENTS,
    }


def refuse_old(major: int, address: Address) -> None:
    if major < OLDEST_SERVER:
        raise StoreUnavailable(
            f"the database {address} runs on PostgreSQL {major}; Fairlane needs {OLDEST_SERVER} or "
            "newer: upgrade the server, or name another one",
            address=str(address),
        )


def probe_while_idle(connection: Connection) -> None:
    peer = _socket_of(connection)
    if peer is None or peer.family == socket.AF_UNIX:
        return
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _PROBES.items():
        if hasattr(socket, name):  # not every system has all of them
            peer.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def _socket_of(connection: Any) -> Any:
    transport: Any = getattr(
        connection, "_transport", None
    )  # the driver has no public attribute for it
    return None if transport is None else transport.get_extra_info("socket")


async def is_behind_pooler(connection: Connection) -> bool:
    """Return whether a transaction runs in another server process than the greeting."""
    async with connection.transaction():
        with_us: int = await connection.fetchval("SELECT pg_backend_pid()")
    return with_us != connection.get_server_pid()


async def close(connection: Connection, *, after: str | None = None) -> None:
    """Close a connection after a last statement, from any loop, within a few seconds."""
    inside: Any = connection  # the driver has no public attribute for its loop
    loop: asyncio.AbstractEventLoop = inside._loop
    if connection.is_closed():
        return
    if loop is asyncio.get_running_loop():
        await _close(connection, after)
    elif loop.is_running():
        closing = asyncio.run_coroutine_threadsafe(_close(connection, after), loop)
        await asyncio.wrap_future(closing)
    else:
        disown(connection)  # its loop has ended, so the connection cannot send


async def _close(connection: Connection, after: str | None) -> None:
    try:
        if after is not None:
            await connection.execute(after, timeout=CLOSE_SECONDS)
        await connection.close(timeout=CLOSE_SECONDS)
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError):
        connection.terminate()


_inherited: list[Any] = []  # referenced, so that no destructor sends on a connection of the parent


def disown(*things: Any) -> None:
    """Drop connections without sending to the server: in a forked child, or without a loop.

    The descriptor is replaced, not closed. So the connection ends with the parent even if this
    child is still alive, and a later close of the number does not close an unrelated file.
    """
    for thing in things:
        _inherited.append(thing)
        if isinstance(thing, asyncpg.Connection) and not thing.is_closed():
            peer = _socket_of(thing)
            if peer is not None and peer.fileno() >= 0:
                nowhere = os.open(os.devnull, os.O_RDWR)
                os.dup2(nowhere, peer.fileno())
                os.close(nowhere)


class ReopeningConnection:
    """One connection, opened at the first use and again after it was lost.

    It belongs to the loop that uses it, and has one caller at a time.
    """

    def __init__(self, address: Address, *, direct: bool = False, **options: Any) -> None:
        self._address = address
        self._direct = direct
        self._options = options
        self._connection: Connection | None = None

    async def run(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        """Run work on the connection; a lost connection or a cancellation closes it."""
        if self._connection is None or self._connection.is_closed():
            self._connection = await connect(self._address, direct=self._direct, **self._options)
        connection = self._connection
        try:
            with translated(self._address):
                return await work(connection)
        except BaseException as error:
            if is_lost(error.__cause__ or error) or isinstance(error, asyncio.CancelledError):
                self._connection = None
                connection.terminate()
            raise

    async def close(self) -> None:
        if self._connection is not None:
            await close(self._connection)
            self._connection = None

    def disown(self) -> None:
        if self._connection is not None:
            disown(self._connection)
            self._connection = None
