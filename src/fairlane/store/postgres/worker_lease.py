"""The lease of a worker: a counter that the worker increments, on a dedicated connection."""

from typing import Final

from fairlane.core.live_job import WorkerId
from fairlane.store.postgres import statements
from fairlane.store.postgres.address import Address
from fairlane.store.postgres.connection import Connection, ReopeningConnection
from fairlane.store.shared_protocol import Renewal

RENEW_SECONDS: Final = 1.0


class PostgresLease:
    def __init__(self, address: Address, worker: WorkerId) -> None:
        self._worker = worker
        self._leader_key = address.lock_key("leader")
        self._sql = address.sql(statements.RENEW_LEASE)
        self._lease = address.sql(statements.BEGIN_LEASE)
        self._link = ReopeningConnection(
            address, timeout=RENEW_SECONDS, command_timeout=RENEW_SECONDS
        )

    async def begin(self) -> None:
        await self._link.run(lambda connection: connection.execute(self._lease, self._worker))

    async def renew(self) -> Renewal:
        async def beat(connection: Connection) -> tuple[bool | None, bool]:
            async with connection.transaction():
                row = await connection.fetchrow(self._sql, self._leader_key, self._worker)
                return tuple(row or (None, True))

        is_known, has_leader = await self._link.run(beat)
        if is_known is None:
            return Renewal("dead", has_leader)
        return Renewal("known" if is_known else "unknown", has_leader)

    async def close(self) -> None:
        await self._link.close()

    def disown(self) -> None:
        self._link.disown()
