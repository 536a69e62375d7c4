"""The leader's session: the session that holds an advisory lock leads.

The rules. The leader writes only over the session that holds the lock, so a leader that loses the
lock cannot write. After an error on that connection it is unknown whether this process still leads:
the connection is closed, and the caller gets `NotLeading`. A leader makes a call at least every
three seconds, for example `lease_counts`.

How. The lock is tried and never waited for, because a waiting session prevents PostgreSQL from
vacuuming. The session sets a timeout after which the server ends it if it is silent for a few
seconds. Without the timeout, the server would keep the lock of a machine that disappeared for
hours, and that of a frozen machine for ever.
"""

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Final, TypeVar

from fairlane.errors import NotLeading, StoreError, StoreUnavailable
from fairlane.store.postgres import statements
from fairlane.store.postgres.address import LEADER_VARIABLE, Address
from fairlane.store.postgres.connection import (
    CLOSE_SECONDS,
    Connection,
    close,
    connect,
    disown,
    is_behind_pooler,
)
from fairlane.store.postgres.errors import is_lost, translated

T = TypeVar("T")

SESSION_SECONDS: Final = 5
PROBES: Final = 3

# The leader finds rows by their key, and its plans are cached for as long as it leads. The plans
# must not depend on the size of the tables at the start.
_SETTINGS: Final = {
    "application_name": "fairlane leader",
    "idle_session_timeout": "0",  # until it holds the lock
    "idle_in_transaction_session_timeout": f"{SESSION_SECONDS}s",
    "statement_timeout": "60s",
    "lock_timeout": "5s",
    "tcp_user_timeout": f"{SESSION_SECONDS}s",
    "tcp_keepalives_idle": "2",
    "tcp_keepalives_interval": "1",
    "tcp_keepalives_count": "3",
    "synchronous_commit": "on",
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "jit": "off",
}
# The timeout begins with the lock: the session of a standby may be silent.
_TRY: Final = f"""
SELECT CASE WHEN pg_try_advisory_lock($1)
    THEN set_config('idle_session_timeout', '{SESSION_SECONDS}s', false) IS NOT NULL
    ELSE false
END
"""
SETTINGS: Final = "; ".join(f"SET {name} = '{value}'" for name, value in _SETTINGS.items())


class Leadership:
    """The session of a leader or of a standby."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._key = address.lock_key("leader")
        self._connection: Connection | None = None
        self._holds = False
        self._was_proven = False
        self._turn = asyncio.Lock()  # a read may come during a commit
        self._is_allowed_silence = False
        self.epoch: int | None = None

    async def stand(self) -> int | None:
        """Try once to lead; return the new epoch, or None while another leads."""
        self.epoch = None
        try:
            return await self._try()
        except StoreError as error:
            self._drop()
            if error.__cause__ is None or not is_lost(error.__cause__):
                raise
        return await self._try()  # the connection may have been lost while it was idle

    async def _try(self) -> int | None:
        if self._connection is None or self._connection.is_closed():
            self._holds = False
            self._connection = await self._connect()
        connection = self._connection
        with translated(self._address):
            if not self._holds:
                self._holds = await connection.fetchval(_TRY, self._key)
                if not self._holds:
                    return None
                await self._prove_lock(connection)
            self.epoch = await connection.fetchval(
                self._address.sql(statements.RAISE_EPOCH), _our_name()
            )
        return self.epoch

    async def _connect(self) -> Connection:
        if not self._was_proven and not self._address.is_direct:
            await self._refuse_pooler()
        self._was_proven = True
        connection = await connect(self._address, direct=True)
        try:
            with translated(self._address.of_leader):
                await connection.execute(SETTINGS)
        except BaseException:
            connection.terminate()
            raise
        return connection

    async def _refuse_pooler(self) -> None:
        """Raise if a pooler can assign the server process of this connection to another client.

        The check comes before the lock: a lock that is acquired through a pooler stays with the
        pooler, and no process could lead.
        """
        connections: list[Connection] = []

        async def another() -> Connection:
            connections.append(await connect(self._address, direct=True, statement_cache_size=0))
            return connections[-1]

        try:
            with translated(self._address):
                connection = await another()
                if not await is_behind_pooler(connection):
                    return
                mine = await _backend_of(connection)
                for _ in range(PROBES):
                    await (await another()).execute("BEGIN; SELECT 1")
                    if await _backend_of(connection) != mine:
                        raise _pooled(self._address)
        finally:
            for one in connections:
                one.terminate()

    async def _prove_lock(self, connection: Connection) -> None:
        """Check in several transactions that this session holds the lock."""
        proof = f"SELECT pg_backend_pid(), pg_backend_pid() IN ({statements.LOCK_HOLDER})"
        seen = [tuple(await connection.fetchrow(proof, self._key) or ()) for _ in range(PROBES)]
        if len(set(seen)) > 1 or not seen[0][1]:
            await connection.execute("SELECT pg_advisory_unlock_all()")
            self._drop()
            raise _pooled(self._address)

    async def run(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        """Run work as the leader; calls run one after the other."""
        async with self._turn:
            return await self._run(work)

    async def _run(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        connection = self._connection
        if self.epoch is None or connection is None:
            raise NotLeading(
                f"this process does not lead {self._address}; call lead() and load first"
            )
        try:
            with translated(self._address):
                if self._is_allowed_silence:
                    await self._set_silence(connection, SESSION_SECONDS)
                    self._is_allowed_silence = False
                return await work(connection)
        except StoreError as error:
            if connection.is_closed() or is_lost(error.__cause__ or error):
                self._drop()
                raise NotLeading(
                    f"the connection by which this process led {self._address} is lost; load again "
                    "before deciding anything"
                ) from error
            raise

    async def allow_silence(self, seconds: float) -> None:
        """Allow a longer silence before the next call, because the leader has much to decide."""
        await self.run(lambda connection: self._set_silence(connection, seconds))
        self._is_allowed_silence = True

    @staticmethod
    async def _set_silence(connection: Connection, seconds: float) -> None:
        await connection.execute(f"SET idle_session_timeout = '{int(seconds * 1000)}ms'")

    async def resign(self) -> None:
        """Release the lock, or stop being a standby; from any loop."""
        connection = self._connection
        self._connection, self.epoch, self._holds = None, None, False
        if connection is not None:
            # Otherwise the lock would be free only when the server detects the closed connection.
            await close(connection, after="SELECT pg_advisory_unlock_all()")

    def _drop(self) -> None:
        connection = self._connection
        self._connection, self.epoch, self._holds = None, None, False
        if connection is not None:
            connection.terminate()

    def disown(self) -> None:
        if self._connection is not None:
            disown(self._connection)
        self._connection, self.epoch, self._holds = None, None, False


async def _backend_of(connection: Connection) -> int | None:
    """Return the server process that runs a transaction now; None if there is no free one."""
    try:
        async with asyncio.timeout(CLOSE_SECONDS), connection.transaction():
            backend: int = await connection.fetchval("SELECT pg_backend_pid()")
            return backend
    except TimeoutError:
        return None


def _our_name() -> str:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return f"process {os.getpid()} on {socket.gethostname()} since {now}"


def _pooled(address: Address) -> StoreUnavailable:
    return StoreUnavailable(
        f"{address} is behind a pooler that gives a session to others between two transactions, "
        "where nobody can lead; give the direct address of the server for the leader, as "
        f"?fairlane_leader=… (percent-encoded) or in {LEADER_VARIABLE}",
        address=str(address),
    )
