"""The diagnosis of a database on PostgreSQL."""

import asyncio
import time
from collections.abc import AsyncIterator
from functools import partial
from typing import Final

import asyncpg
import msgspec

from fairlane.errors import FairlaneError
from fairlane.store.diagnosis import Condition, Finding, RunningJob, decoded, paused_queues
from fairlane.store.postgres import statements
from fairlane.store.postgres.address import Address
from fairlane.store.postgres.connection import Connection, close, connect, is_behind_pooler
from fairlane.store.postgres.errors import translated
from fairlane.store.postgres.migrate import migrations, version_of
from fairlane.store.postgres.rows import PostgresReads, run_read

MIB: Final = 1024 * 1024
BEAT_SECONDS: Final = 4.0  # a live worker renews its lease within this time
LONG_SECONDS: Final = 300.0

_SIZE: Final = "SELECT pg_database_size(current_database())"
_OLDEST: Final = """
SELECT pid, application_name, extract(epoch FROM now() - xact_start)::double precision AS seconds
FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
ORDER BY xact_start LIMIT 1
"""
_RUNNING: Final = """
SELECT job.id, job.task, running.worker, running.started_at, running.cancel_outputs
FROM fairlane.running JOIN fairlane.job ON job.id = running.job
"""
_WAITING: Final = """
SELECT task, count(*) FROM fairlane.live WHERE state <> 'running' GROUP BY task
"""
_DEAD_LETTERS: Final = """
SELECT count(*), (SELECT error FROM fairlane.dead_letter ORDER BY at DESC LIMIT 1)
FROM fairlane.dead_letter
"""


class ServerExamination:
    """Checks one database, from its server down to its rows."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self.condition: Condition | None = None  # once it could be read

    async def findings(self) -> AsyncIterator[Finding]:
        try:
            connection = await connect(self._address, direct=True, statement_cache_size=0)
        except FairlaneError as error:
            yield Finding("server", "problem", error.message)
            return
        try:
            with translated(self._address):
                async for finding in self._findings(connection):
                    yield finding
        except (FairlaneError, asyncpg.PostgresError) as error:
            yield Finding("tables", "problem", str(error))
        finally:
            await close(connection)

    async def _findings(self, connection: Connection) -> AsyncIterator[Finding]:
        server = connection.get_server_version()
        yield Finding("server", "ok", f"PostgreSQL {server.major}.{server.minor}, {self._address}")
        if await is_behind_pooler(connection):
            yield Finding(
                "pooler", "problem", "a pooler stands before the server",
                "a leader needs a dedicated session: set fairlane_leader=… in the address",
            )  # fmt: skip
        size = await connection.fetchval(_SIZE)
        yield Finding("database", "ok", f"{size / MIB:,.1f} MiB")
        schema = await self._schema(connection)
        yield schema
        yield await self._clock(connection)
        yield await self._transactions(connection)
        if schema.level == "ok":
            self.condition = await self._condition(connection)

    async def _schema(self, connection: Connection) -> Finding:
        try:
            version = await version_of(connection, self._address) or 0
        except FairlaneError as error:
            return Finding("schema", "problem", error.message)
        known = len(migrations())
        if version < known:
            return Finding(
                "schema", "warning", f"version {version}, this Fairlane wants {known}",
                "run `fairlane migrate`; a program does it by itself when it starts",
            )  # fmt: skip
        return Finding("schema", "ok", f"version {version}")

    async def _clock(self, connection: Connection) -> Finding:
        began = time.time()
        theirs: float = await connection.fetchval(statements.CLOCK)
        skew = theirs - (began + time.time()) / 2
        said = f"{abs(skew):.1f} s {'behind' if skew > 0 else 'ahead of'} the database's"
        if abs(skew) > 1:
            return Finding(
                "clock", "warning", f"this machine's clock is {said}",
                "let both keep their time by NTP; schedules go by the database's clock",
            )  # fmt: skip
        return Finding("clock", "ok", "as the database's")

    async def _transactions(self, connection: Connection) -> Finding:
        oldest = await connection.fetchrow(_OLDEST)
        if oldest is not None and (oldest["seconds"] or 0) > LONG_SECONDS:
            return Finding(
                "transactions", "warning",
                f"process {oldest['pid']} ({oldest['application_name'] or 'without a name'}) keeps "
                f"a transaction open for {oldest['seconds'] / 60:.0f} minutes",
                "the server cleans nothing away meanwhile; end that transaction",
            )  # fmt: skip
        return Finding("transactions", "ok", "none is open for long")

    async def _condition(self, connection: Connection) -> Condition:
        sql, reads = self._address.sql, PostgresReads()
        run = partial(run_read, connection, self._address)
        dead_letters = await connection.fetchrow(sql(_DEAD_LETTERS))
        inbox = await connection.fetchrow(sql("SELECT count(*), min(at) FROM fairlane.inbox"))
        assert dead_letters is not None
        assert inbox is not None
        workers = await run(reads.records("worker"))
        seq = await run(reads.last_seq())
        newest = await run(reads.events(max(0, seq - 1), 1)) if seq else None
        return Condition(
            leader=await connection.fetchval(
                sql(statements.LEADER), self._address.lock_key("leader")
            ),
            counts=await run(reads.counts()),
            paused=paused_queues(await run(reads.records("queue"))),
            workers={name: msgspec.json.decode(body) for name, body in workers.items()},
            running=[RunningJob(*row) for row in await connection.fetch(sql(_RUNNING))],
            waiting_tasks={row[0]: row[1] for row in await connection.fetch(sql(_WAITING))},
            dead_letters=dead_letters[0],
            last_dead_letter=dead_letters[1],
            inbox=inbox[0],
            inbox_oldest_at=inbox[1],
            newest_at=newest[-1].at.timestamp() if newest else None,
            ended=await connection.fetchval(sql("SELECT count(*) FROM fairlane.ended")),
            now=await connection.fetchval(statements.CLOCK),
            notices=decoded(await run(reads.records("notice"))),
            silent=await self._silent(connection),
        )

    async def _silent(self, connection: Connection) -> list[str]:
        """Return the workers that do not renew their lease within `BEAT_SECONDS`."""
        beats = self._address.sql("SELECT worker, beats FROM fairlane.lease")
        before = {row[0]: row[1] for row in await connection.fetch(beats)}
        if not before:
            return []
        await asyncio.sleep(BEAT_SECONDS)
        after = await connection.fetch(beats)
        return [row[0] for row in after if before.get(row[0]) == row[1]]
