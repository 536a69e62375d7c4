"""The lease of a worker: a counter that the worker increments, on a dedicated connection."""

from typing import Final

from fairlane.core.live_job import WorkerId
from fairlane.store.postgres import statements
from fairlane.store.postgres.address import Address
from fairlane.store.postgres.connection import Connection, ReopeningConnection
from fairlane.store.shared_protocol import Standing

RENEW_SECONDS: Final = 1.0


class PostgresLease:
    def __init__(self, address: Address, worker: WorkerId) -> None:
        self._worker = worker
        self._sql = address.sql(statements.RENEW_LEASE)
        self._lease = address.sql(statements.BEGIN_LEASE)
        self._link = ReopeningConnection(
            address, timeout=RENEW_SECONDS, command_timeout=RENEW_SECONDS
        )

    async def begin(self) -> None:
        await self._link.run(lambda connection: connection.execute(self._lease, self._worker))

    async def renew(self) -> Standing:
        async def beat(connection: Connection) -> bool | None:
            async with connection.transaction():
                known: bool | None = await connection.fetchval(self._sql, self._worker)
                return known

        known = await self._link.run(beat)
        if known is None:
            return "dead"
        return "known" if known else "unknown"

    async def close(self) -> None:
        await self._link.close()

    def disown(self) -> None:
        self._link.disown()
