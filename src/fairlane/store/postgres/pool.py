"""The few connections that a process shares, on the loop that opened the store."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final, TypeVar

import asyncpg

from fairlane.errors import StoreUnavailable
from fairlane.store.postgres.address import Address
from fairlane.store.postgres.connection import (
    CLOSE_SECONDS,
    COMMAND_SECONDS,
    CONNECT_SECONDS,
    STATEMENTS,
    Connection,
    disown,
    probe_while_idle,
    refuse_old,
)
from fairlane.store.postgres.errors import is_lost, translated

T = TypeVar("T")

MAX_CONNECTIONS: Final = 4
IDLE_SECONDS: Final = 60.0
ACQUIRE_SECONDS: Final = 30.0

# A cached plan would be made for the small tables of the first minute.
_SETTINGS: Final = "SET plan_cache_mode = 'force_custom_plan'; SET jit = 'off'"


class Pool:
    def __init__(self, address: Address) -> None:
        self._address = address
        self._pool: asyncpg.Pool[asyncpg.Record] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._connections: set[Connection] = set()

    @property
    def is_open(self) -> bool:
        return self._pool is not None

    async def open(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._pool = await asyncpg.create_pool(
            self._address.dsn,
            min_size=0,
            max_size=MAX_CONNECTIONS,
            max_inactive_connection_lifetime=IDLE_SECONDS,
            connection_class=Connection,
            init=self._prepare,
            timeout=CONNECT_SECONDS,
            command_timeout=COMMAND_SECONDS,
            statement_cache_size=0 if self._address.has_pooler else STATEMENTS,
        )

    async def _prepare(self, connection: Any) -> None:
        probe_while_idle(connection)
        refuse_old(connection.get_server_version().major, self._address)
        if not self._address.has_pooler:  # behind a pooler the setting would apply to other clients
            await connection.execute(_SETTINGS)
        self._connections.add(connection)
        connection.add_termination_listener(self._connections.discard)

    async def run(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        """Run one statement; it is repeated once if the connection is lost."""

        async def inside(connection: Connection) -> T:
            async with connection.transaction():
                return await work(connection)

        # Behind a pooler, a statement may be prepared and run by two server processes.
        return await self.on_loop(self._patiently(inside if self._address.has_pooler else work))

    async def view(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        """Run several reads on one state of the database."""

        async def inside(connection: Connection) -> T:
            async with connection.transaction(isolation="repeatable_read", readonly=True):
                return await work(connection)

        return await self.on_loop(self._patiently(inside))

    async def on_loop(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the loop of the pool, from any loop."""
        if self._pool is None or self._loop is None:
            work.close()
            raise StoreUnavailable("the store is not open; call open() first, also after a fork")
        if self._loop is asyncio.get_running_loop():
            return await work
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    async def _patiently(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        try:
            return await self._once(work)
        except StoreUnavailable as error:
            cause = error.__cause__
            if self._pool is None or isinstance(cause, TimeoutError | None) or not is_lost(cause):
                raise  # the caller has waited long enough
            await self._pool.expire_connections()
        return await self._once(work)

    async def _once(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        assert self._pool is not None
        with translated(self._address):
            async with self._pool.acquire(timeout=ACQUIRE_SECONDS) as lent:
                connection: Any = lent  # a proxy of a connection
                try:
                    return await work(connection)
                except asyncio.CancelledError:
                    # Otherwise the driver would send a cancel request and wait for the server.
                    connection.terminate()
                    raise

    async def close(self) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            try:
                await asyncio.wait_for(pool.close(), CLOSE_SECONDS)
            except (TimeoutError, OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
                pool.terminate()

    def disown(self) -> None:
        disown(self._pool, *self._connections)
        self._pool, self._connections = None, set()
