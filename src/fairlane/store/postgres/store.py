"""The store on PostgreSQL, where several processes work at once."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeVar

from fairlane.core.decisions import Changes, Start
from fairlane.core.inputs import Submission
from fairlane.core.live_job import JobId, LiveJob, WorkerId
from fairlane.errors import StoreUnavailable
from fairlane.store.commit_rows import pieces
from fairlane.store.expiry import ExpirySchedule
from fairlane.store.postgres import statements
from fairlane.store.postgres.address import Address
from fairlane.store.postgres.commit import (
    PIECE_BYTES,
    Call,
    calls_of,
    commit,
    postgres_rows,
)
from fairlane.store.postgres.connection import (
    Connection,
    ReopeningConnection,
    close,
    connect,
    disown,
    is_behind_pooler,
)
from fairlane.store.postgres.errors import translated
from fairlane.store.postgres.inbox import InboxCursor, InboxWriter, Row, read_inbox
from fairlane.store.postgres.leader_lock import SESSION_SECONDS, Leadership
from fairlane.store.postgres.migrate import migrate
from fairlane.store.postgres.notify import Listener, Notifier
from fairlane.store.postgres.pool import Pool
from fairlane.store.postgres.prune import prune
from fairlane.store.postgres.rows import PostgresReads, run_read
from fairlane.store.postgres.worker_lease import PostgresLease
from fairlane.store.protocol import Image, InboxRow, Writing
from fairlane.store.prune import Pruned, Pruning
from fairlane.store.reads import Steps
from fairlane.store.shared_protocol import (
    ELECTED,
    INBOX,
    NEWS,
    LeaseCount,
    LeaseCounts,
    Message,
)
from fairlane.store.views import (
    EventView,
    FiringView,
    JobView,
    LaneView,
    LogLine,
    Page,
    Payload,
    Place,
    Query,
    StoreSnapshot,
)

T = TypeVar("T")

KEEP_EVENTS: Final = 200_000
KEEP_SECONDS: Final = 24 * 3600.0
CLOCK_READINGS: Final = 3
THINKING_SECONDS: Final = 30e-6  # at most, to decide a loaded job
READING_SECONDS: Final = 1e-6  # at most, to decode a character of the inbox


class PostgresStore:
    """A store with a pool of connections and several dedicated ones.

    The pool belongs to the loop that opened the store. A dedicated connection belongs to the loop
    that uses it: the leader's session and the connection for its notifications to the leader's
    loop, that of a lease to the loop that renews it, that of a listener to the loop that listens.
    """

    single_process = False

    def __init__(
        self,
        address: str,
        *,
        keep_events: int = KEEP_EVENTS,
        keep_seconds: float = KEEP_SECONDS,
    ) -> None:
        self._address = Address(address)
        self.address = str(self._address)
        self.schema = self._address.schema
        self._expiry = ExpirySchedule(keep_events=keep_events, keep_seconds=keep_seconds)
        self._reads = PostgresReads()
        self._begin()

    def _begin(self) -> None:
        self._pool = Pool(self._address)
        self._leadership = Leadership(self._address)
        self._inbox_cursor = InboxCursor()
        self._command_writer = InboxWriter(lambda rows: self._insert(statements.APPEND, rows))
        self._report_writer = InboxWriter(lambda rows: self._insert(statements.SEND_REPORT, rows))
        self._notifier = Notifier(self._notify)
        self._leader_link = ReopeningConnection(self._address, direct=True)
        self._leader_notifier = Notifier(self._notify_as_leader)
        self._listeners: list[Listener] = []
        self._leases: list[PostgresLease] = []
        self._deleted_up_to: dict[WorkerId, int] = {}

    async def open(self) -> None:
        if self._pool.is_open:
            return
        connection = await connect(self._address, statement_cache_size=0)
        try:
            with translated(self._address):
                self._address.has_pooler |= await is_behind_pooler(connection)
            if not self._address.is_direct:
                await close(connection)
                connection = await connect(self._address, direct=True, statement_cache_size=0)
            await migrate(connection, self._address.of_leader)
        finally:
            await close(connection)
        await self._pool.open()

    async def close(self) -> None:
        await self._notifier.close()
        # Together, so that there is one wait for a server that does not answer.
        listeners, self._listeners = self._listeners, []
        partings = [self.resign(), self._pool.close(), *(one.close() for one in listeners)]
        await asyncio.gather(*partings)

    def abandon(self) -> None:
        """Drop every connection without sending: they belong to the parent of this fork."""
        self._pool.disown()
        self._leadership.disown()
        self._leader_link.disown()
        disown(self._command_writer, self._report_writer, self._notifier, self._leader_notifier)
        for listener in self._listeners:
            listener.disown()
        for lease in self._leases:
            lease.disown()
        self._begin()

    # every process

    async def append(self, key: str, body: str, at: float) -> None:
        await self._pool.on_loop(self._command_writer.put((key, body, at)))

    async def send_report(self, key: str, body: str, at: float) -> None:
        await self._pool.on_loop(self._report_writer.put((key, body, at)))

    def insertion(self, key: str, body: str, at: float) -> tuple[str, tuple[Any, ...]]:
        """Return the statement that appends to the inbox, for a transaction of the caller."""
        if self._address.notifies:
            values = (key, body, at, self._address.channel)
            return self._address.sql(statements.APPEND_INSIDE), values
        return self._address.sql(statements.APPEND_INSIDE_QUIETLY), (key, body, at)

    async def _insert(self, sql: str, rows: list[Row]) -> None:
        keys, bodies, times = ([row[column] for row in rows] for column in range(3))
        insert = self._address.sql(sql)
        await self._pool.run(lambda connection: connection.execute(insert, keys, bodies, times))
        if self._address.notifies:
            self._notifier.notify(INBOX)

    async def _notify(self, payload: str) -> None:
        channel = self._address.channel
        await self._pool.run(
            lambda connection: connection.execute(statements.NOTIFY, channel, payload)
        )

    async def answers(self, keys: Sequence[str]) -> dict[str, str]:
        return await self._read(lambda: self._reads.answers(keys))

    async def messages(self, worker: WorkerId, after: int) -> list[Message]:
        sql = self._address.sql(statements.MESSAGES)
        rows = await self._pool.run(lambda connection: connection.fetch(sql, worker, after))
        return [Message(number, body) for number, body in rows]

    async def assigned_payloads(self, starts: Sequence[Start]) -> Mapping[JobId, Payload]:
        return await self._read(lambda: self._reads.payloads(starts))

    async def delete_messages(self, worker: WorkerId, up_to: int) -> None:
        # From the end of the last deletion: its dead rows may not be vacuumed yet.
        after = self._deleted_up_to.get(worker, -1)
        sql = self._address.sql(statements.DELETE_MESSAGES)
        await self._pool.run(lambda connection: connection.execute(sql, worker, after, up_to))
        self._deleted_up_to[worker] = up_to

    def lease(self, worker: WorkerId) -> PostgresLease:
        lease = PostgresLease(self._address, worker)
        self._leases.append(lease)
        return lease

    @property
    def is_listening(self) -> bool:
        return any(listener.is_working for listener in self._listeners)

    async def listen(self, on_notification: Callable[[str], None]) -> None:
        if self._address.notifies:
            listener = Listener(self._address, on_notification, self._notify)
            await listener.start()
            self._listeners.append(listener)

    async def version(self) -> int:
        return await self._read(self._reads.version)

    async def jobs(self, ids: Sequence[JobId]) -> dict[JobId, JobView]:
        return await self._read_consistently(lambda: self._reads.jobs(ids))

    async def submission(self, job: JobId) -> Submission | None:
        return await self._read(lambda: self._reads.submission(job))

    async def history(self, query: Query) -> Page:
        return await self._read_consistently(lambda: self._reads.history(query))

    async def live_jobs(self, query: Query) -> Page:
        return await self._read_consistently(lambda: self._reads.live_jobs(query))

    async def last_seq(self) -> int:
        return await self._read(self._reads.last_seq)

    async def counts(self) -> dict[str, dict[str, int]]:
        return await self._read(self._reads.counts)

    async def read_snapshot(
        self, *, waiting: int = 200, ended: int = 50, lanes: int = 200
    ) -> StoreSnapshot:
        return await self._read_consistently(
            lambda: self._reads.snapshot(waiting=waiting, ended=ended, lanes=lanes)
        )

    async def jobs_behind(self, queue: str, *, after: Place, limit: int) -> list[JobView]:
        return await self._read_consistently(
            lambda: self._reads.jobs_behind(queue, after=after, limit=limit)
        )

    async def lanes(self, queue: str | None = None) -> list[LaneView]:
        return await self._read_consistently(lambda: self._reads.lanes(queue))

    async def events(self, after: int, limit: int) -> list[EventView] | None:
        return await self._read(lambda: self._reads.events(after, limit))

    async def log(self, job: JobId, *, limit: int = 1000) -> list[LogLine]:
        return await self._read(lambda: self._reads.log(job, limit))

    async def records(self, kind: str) -> dict[str, str]:
        return await self._read(lambda: self._reads.records(kind))

    async def firings(self, schedule: str, *, limit: int = 50) -> list[FiringView]:
        return await self._read(lambda: self._reads.firings(schedule, limit))

    async def durations(self) -> dict[str, float]:
        return await self._read(self._reads.durations)

    async def read_image(self, *, queue: str | None = None, limit: int | None = None) -> Image:
        return await self._read_consistently(lambda: self._reads.image(queue=queue, limit=limit))

    async def prune(self, pruning: Pruning, since: Pruned) -> Pruned:
        address = self._address
        return await self._pool.run(lambda connection: prune(connection, address, pruning, since))

    async def leader(self) -> str | None:
        sql = self._address.sql(statements.LEADER)
        key = self._address.lock_key("leader")
        leader: str | None = await self._pool.run(lambda connection: connection.fetchval(sql, key))
        return leader

    async def _read(self, read: Callable[[], Steps[T]]) -> T:
        """Run a read of one statement."""
        return await self._pool.run(lambda connection: self._run(connection, read()))

    async def _read_consistently(self, read: Callable[[], Steps[T]]) -> T:
        """Run a read of several statements in one snapshot of the database."""
        return await self._pool.view(lambda connection: self._run(connection, read()))

    async def _run(self, connection: Connection, steps: Steps[T]) -> T:
        return await run_read(connection, self._address, steps)

    # the leader

    async def lead(self) -> int | None:
        if not self._pool.is_open:
            raise StoreUnavailable("the store is not open; call open() first, also after a fork")
        epoch = await self._leadership.stand()
        if epoch is not None:
            oldest = self._address.sql(statements.OLDEST_EVENT)
            oldest_event = await self._leadership.run(lambda c: c.fetchval(oldest))
            self._expiry.restart(oldest_event)
            self._inbox_cursor = InboxCursor()
            if self._address.notifies:
                self._leader_notifier.notify(ELECTED)
        return epoch

    async def resign(self) -> None:
        await self._leader_notifier.close()
        await asyncio.gather(self._leadership.resign(), self._leader_link.close())

    async def load(self) -> Image:
        async def snapshot(connection: Connection) -> Image:
            async with connection.transaction(isolation="repeatable_read", readonly=True):
                return await self._run(connection, self._reads.image(queue=None, limit=None))

        image = await self._leadership.run(snapshot)
        await self._allow_time(len(image.jobs) * THINKING_SECONDS)
        return image

    async def read_inbox(self, limit: int) -> list[InboxRow]:
        rows = await self._leadership.run(
            lambda connection: read_inbox(connection, self._address, self._inbox_cursor, limit)
        )
        await self._allow_time(sum(len(row.body) for row in rows) * READING_SECONDS)
        return rows

    async def _allow_time(self, seconds: float) -> None:
        """Allow the silence in which the leader decides the rows that it has just read."""
        if seconds > SESSION_SECONDS / 4:
            await self._leadership.allow_silence(SESSION_SECONDS + seconds)

    async def ended_jobs(self, ids: Sequence[JobId]) -> dict[JobId, LiveJob]:
        return await self._leadership.run(
            lambda connection: self._run(connection, self._reads.ended_jobs(ids))
        )

    async def payloads(self, starts: Sequence[Start]) -> Mapping[JobId, Payload]:
        return await self._leadership.run(
            lambda connection: self._run(connection, self._reads.payloads(starts))
        )

    def commit(self, changes: Changes, at: float) -> Writing:
        newest = changes.events[-1].seq if changes.events else None
        expiry = self._expiry.due(newest_event=newest, at=at)
        parts = list(pieces(postgres_rows(changes, at), PIECE_BYTES))
        calls = calls_of(parts, epoch=self._leadership.epoch or 0, expiry=expiry)
        return Writing(partial(self._write, calls, changes))

    async def _write(self, calls: list[Call], changes: Changes) -> None:
        await self._leadership.run(lambda connection: commit(connection, self._address, calls))
        if changes.consumed:
            self._inbox_cursor.consumed(max(changes.consumed), time.monotonic())
        if self._address.notifies:
            self._leader_notifier.notify(NEWS, *(worker for worker, _, _ in changes.messages))

    async def _notify_as_leader(self, payload: str) -> None:
        channel = self._address.channel
        await self._leader_link.run(
            lambda connection: connection.execute(statements.NOTIFY, channel, payload)
        )

    async def ping(self) -> None:
        """Send a statement, so that the server does not end the silent session of this leader."""
        await self._leadership.run(lambda connection: connection.execute("SELECT 1"))

    async def lease_counts(self) -> LeaseCounts:
        sql = self._address.sql(statements.LEASE_COUNTS)
        floor = self._inbox_cursor.consumed_floor
        rows = await self._leadership.run(lambda connection: connection.fetch(sql, floor))
        leases = {
            WorkerId(worker): LeaseCount(beats, age)
            for worker, beats, age in rows
            if worker is not None
        }
        unread = sum(count for worker, count, _ in rows if worker is None)
        return LeaseCounts(leases, bool(unread))

    async def clock_skew(self) -> float:
        """Return the result of the quickest reading: the server read its clock during it."""

        async def read_clock(connection: Connection) -> tuple[float, float]:
            began = time.time()
            theirs: float = await connection.fetchval(statements.CLOCK)
            ended = time.time()
            return ended - began, theirs - (began + ended) / 2

        async def read_clock_repeatedly(connection: Connection) -> tuple[float, float]:
            async with connection.transaction():
                return min([await read_clock(connection) for _ in range(CLOCK_READINGS)])

        _, skew = await self._leadership.run(read_clock_repeatedly)
        return skew
