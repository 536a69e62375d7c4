"""The store on a SQLite file."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Final, TypeVar
from uuid import uuid4

import apsw

from fairlane.core.decisions import Changes, Start
from fairlane.core.inputs import Submission
from fairlane.core.live_job import JobId, LiveJob
from fairlane.errors import NotLeading, StoreUnavailable
from fairlane.store.commit_rows import pieces
from fairlane.store.expiry import Expiry, ExpirySchedule
from fairlane.store.protocol import Image, InboxRow, Writing
from fairlane.store.prune import Pruned, Pruning
from fairlane.store.reads import Statement, Steps
from fairlane.store.sqlite import fork_safety, statements
from fairlane.store.sqlite.commit import PIECE_BYTES, Commits, sqlite_rows
from fairlane.store.sqlite.connection import Handle, connect, patiently
from fairlane.store.sqlite.errors import translated
from fairlane.store.sqlite.leader_lock import LeaderLock
from fairlane.store.sqlite.migrate import migrate, refuse_foreign_file
from fairlane.store.sqlite.network_file_system import refuse_network_file_system
from fairlane.store.sqlite.prune import prune
from fairlane.store.sqlite.rows import SQLiteReads, json_list, read_rows, run_read
from fairlane.store.sqlite.write_turns import WriteTurns
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


class SQLiteStore:
    """A store with three connections: the leader's, one for all readers, one for the inbox.

    The leader's connection is used in the calling thread; the other two have a thread each, so that
    neither a long read nor a wait for the write lock blocks an event loop.
    """

    single_process = True

    def __init__(
        self,
        path: str | Path,
        *,
        keep_events: int = KEEP_EVENTS,
        keep_seconds: float = KEEP_SECONDS,
    ) -> None:
        self.path = Path(path).absolute()
        self.address = f"sqlite:///{self.path}"
        self._reader = Handle(self.path, partial(connect, self.path, cache_kib=32 * 1024))
        self._writer = Handle(self.path, partial(connect, self.path, cache_kib=256, busy_seconds=0))
        self._leader = Handle(self.path, self._leader_connection)
        self._handles = (self._reader, self._writer, self._leader)
        self._lock = LeaderLock(self._file_next_to("lock"), id=uuid4().hex)
        self._inbox_turn = WriteTurns(self._file_next_to("inbox"))
        self._leader_turn = WriteTurns(self._file_next_to("inbox"))
        self._expiry = ExpirySchedule(keep_events=keep_events, keep_seconds=keep_seconds)
        self._reads = SQLiteReads()
        self._epoch: int | None = None
        self._reading: ThreadPoolExecutor | None = None
        self._appending: ThreadPoolExecutor | None = None

    def _file_next_to(self, ending: str) -> Path:
        return self.path.with_name(f"{self.path.name}.{ending}")

    def _leader_connection(self) -> apsw.Connection:
        connection = connect(self.path, cache_kib=64 * 1024)
        self._commits = Commits(connection)
        return connection

    async def open(self) -> None:
        if self._reading is not None:
            return
        folder = self.path.parent
        if not folder.is_dir():
            raise StoreUnavailable(
                f"the folder {folder} of the database {self.path.name} does not exist; make it, "
                "or name another path",
                path=str(self.path),
            )
        refuse_network_file_system(self.path)
        self._reading = ThreadPoolExecutor(1, thread_name_prefix="fairlane-reads")
        self._appending = ThreadPoolExecutor(1, thread_name_prefix="fairlane-appends")
        fork_safety.watch(self)
        try:
            await self._read(self._prepare)
        except BaseException:
            await self.close()
            raise

    def _prepare(self) -> None:
        with translated(self.path):
            patiently(lambda: refuse_foreign_file(self.path))

        def prepared(connection: apsw.Connection) -> None:
            if connection.readonly("main"):
                raise apsw.ReadOnlyError("attempt to write a readonly database")
            patiently(lambda: migrate(connection, self.path))

        self._reader.run(prepared)

    async def close(self) -> None:
        await self.resign()
        fork_safety.unwatch(self)
        for threads in (self._reading, self._appending):
            if threads is not None:
                await asyncio.to_thread(threads.shutdown)
        self._reading = self._appending = None
        for handle in self._handles:
            handle.close()
        self._inbox_turn.close()
        self._leader_turn.close()

    # around a fork

    def before_fork(self) -> None:
        for handle in self._handles:
            handle.before_fork()

    def after_fork(self) -> None:
        for handle in self._handles:
            handle.after_fork()

    def abandon(self) -> None:
        """Drop threads and locks of the parent; its connections were closed before the fork."""
        fork_safety.unwatch(self)
        self._reading = self._appending = None
        self._epoch = None
        self._lock.drop()
        self._inbox_turn.close()
        self._leader_turn.close()

    # every process

    async def append(self, key: str, body: str, at: float) -> None:
        await _in(self._appending, partial(self._append, key, body, at))

    def _append(self, key: str, body: str, at: float) -> None:
        with self._inbox_turn.requested():
            self._writer.run(
                lambda connection: patiently(
                    lambda: connection.execute(statements.APPEND, (key, body, at))
                )
            )

    async def answers(self, keys: Sequence[str]) -> dict[str, str]:
        return await self._view(self._reads.answers(keys=keys))

    async def version(self) -> int:
        return await self._read(lambda: self._reader.run(lambda c: int(c.pragma("data_version"))))

    async def jobs(self, ids: Sequence[JobId]) -> dict[JobId, JobView]:
        return await self._view(self._reads.jobs(ids=ids))

    async def submission(self, job: JobId) -> Submission | None:
        return await self._view(self._reads.submission(job))

    async def history(self, query: Query) -> Page:
        return await self._view(self._reads.history(query=query))

    async def live_jobs(self, query: Query) -> Page:
        return await self._view(self._reads.live_jobs(query=query))

    async def last_seq(self) -> int:
        return await self._view(self._reads.last_seq())

    async def counts(self) -> dict[str, dict[str, int]]:
        return await self._view(self._reads.counts())

    async def read_snapshot(
        self, *, waiting: int = 200, ended: int = 50, lanes: int = 200
    ) -> StoreSnapshot:
        snapshot = self._reads.snapshot(waiting=waiting, ended=ended, lanes=lanes)
        return await self._view(snapshot)

    async def jobs_behind(self, queue: str, *, after: Place, limit: int) -> list[JobView]:
        return await self._view(self._reads.jobs_behind(queue=queue, after=after, limit=limit))

    async def lanes(self, queue: str | None = None) -> list[LaneView]:
        return await self._view(self._reads.lanes(queue=queue))

    async def events(self, after: int, limit: int) -> list[EventView] | None:
        return await self._view(self._reads.events(after=after, limit=limit))

    async def log(self, job: JobId, *, limit: int = 1000) -> list[LogLine]:
        return await self._view(self._reads.log(job=job, limit=limit))

    async def records(self, kind: str) -> dict[str, str]:
        return await self._view(self._reads.records(kind=kind))

    async def firings(self, schedule: str, *, limit: int = 50) -> list[FiringView]:
        return await self._view(self._reads.firings(schedule=schedule, limit=limit))

    async def durations(self) -> dict[str, float]:
        return await self._view(self._reads.durations())

    async def read_image(self, *, queue: str | None = None, limit: int | None = None) -> Image:
        return await self._view(self._reads.image(queue=queue, limit=limit))

    async def prune(self, pruning: Pruning, since: Pruned) -> Pruned:
        return await _in(self._appending, partial(self._prune, pruning, since))

    def _prune(self, pruning: Pruning, since: Pruned) -> Pruned:
        with self._inbox_turn.requested():
            return self._writer.run(
                lambda connection: patiently(lambda: prune(connection, pruning, since))
            )

    async def _view(self, steps: Steps[T]) -> T:
        return await self._read(lambda: self._reader.read(lambda c: run_read(c, steps)))

    async def _read(self, work: Callable[[], T]) -> T:
        return await _in(self._reading, work)

    # the leader

    async def lead(self) -> int | None:
        if self._reading is None:
            raise _not_open()
        if not self._lock.acquire():
            return None
        try:
            self._epoch, oldest = self._leader.run(_raise_epoch)
        except BaseException:
            self._lock.release()
            raise
        self._expiry.restart(oldest)
        return self._epoch

    async def resign(self) -> None:
        self._epoch = None
        self._leader.close()
        self._lock.release()

    async def leader(self) -> str | None:
        holder = self._lock.holder()
        return None if holder is None else str(holder)

    async def load(self) -> Image:
        self._leading()
        return self._leader.read(
            lambda connection: run_read(connection, self._reads.image(queue=None, limit=None))
        )

    async def read_inbox(self, limit: int) -> list[InboxRow]:
        self._leading()
        return self._leader.run(partial(_read_inbox, limit=limit))

    async def ended_jobs(self, ids: Sequence[JobId]) -> dict[JobId, LiveJob]:
        self._leading()
        return self._leader.run(partial(run_read, steps=self._reads.ended_jobs(ids)))

    async def payloads(self, starts: Sequence[Start]) -> Mapping[JobId, Payload]:
        self._leading()
        return self._leader.run(partial(run_read, steps=self._reads.payloads(starts)))

    def commit(self, changes: Changes, at: float) -> Writing:
        epoch = self._leading()
        newest = changes.events[-1].seq if changes.events else None
        expiry = self._expiry.due(newest_event=newest, at=at)
        parts = list(pieces(sqlite_rows(changes, at), PIECE_BYTES))
        # Checked here and not in `_write`, because the check releases Python's lock: other threads
        # would start their work for the time of the write before the write starts.
        yields = self._leader_turn.is_requested()
        return Writing(partial(self._write, parts, epoch, expiry, yields=yields))

    async def _write(
        self, parts: list[tuple[str, str]], epoch: int, expiry: Expiry, *, yields: bool
    ) -> None:
        self._leading()
        if yields:
            await self._leader_turn.let_writers_pass()
        self._leader.run(lambda _: self._commits.commit(parts, epoch=epoch, expiry=expiry))

    def _leading(self) -> int:
        if self._epoch is None:
            raise NotLeading(f"this process does not lead {self.path}; call lead() and load first")
        return self._epoch


def _raise_epoch(connection: apsw.Connection) -> tuple[int, int | None]:
    epoch: int = connection.execute(statements.RAISE_EPOCH).get
    return epoch, connection.execute(statements.OLDEST_EVENT).get


def _read_inbox(connection: apsw.Connection, limit: int) -> list[InboxRow]:
    """Return the oldest rows; those that were answered before are deleted instead."""
    row = tuple[int, str, str, float, int]
    while True:
        rows = read_rows(connection, Statement(statements.READ_INBOX, row, (limit,)))
        answered = [id for id, _, _, _, done in rows if done]
        if answered:
            connection.execute(statements.DELETE_FROM_INBOX, (json_list(answered),))
        fresh = [InboxRow(id, key, body, at) for id, key, body, at, done in rows if not done]
        if fresh or not answered:
            return fresh


async def _in(threads: ThreadPoolExecutor | None, work: Callable[[], T]) -> T:
    if threads is None:
        raise _not_open()
    return await asyncio.get_running_loop().run_in_executor(threads, work)


def _not_open() -> StoreUnavailable:
    return StoreUnavailable("the store is not open; call open() first, also after a fork")
