"""A store in memory whose handles stand for processes that share a database, as on PostgreSQL.

It is for tests and simulations, which can freeze a process and lose a message without a server.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextvars import copy_context
from typing import Final

from fairlane.core.decisions import Changes, Start
from fairlane.core.live_job import JobId, WorkerId
from fairlane.errors import NotLeading
from fairlane.store.memory.store import MemoryStore
from fairlane.store.memory.tables import MemoryDatabase
from fairlane.store.shared_protocol import (
    ELECTED,
    INBOX,
    NEWS,
    LeaseCount,
    LeaseCounts,
    Message,
    Renewal,
)
from fairlane.store.views import Payload

SESSION_SECONDS: Final = 5.0  # a leader without a call for this long no longer leads


class SharedDatabase(MemoryDatabase):
    def __init__(self, *, keep_events: int = 200_000) -> None:
        super().__init__(keep_events=keep_events)
        self.leader_seen_at = 0.0
        self.renewed_at: dict[str, float] = {}
        self.delivers = False  # all notifications, so that processes need not poll often
        self.listeners: dict[object, Callable[[str], None]] = {}

    def has_leader(self) -> bool:
        return self.leader is not None and _now() - self.leader_seen_at <= SESSION_SECONDS

    def notify(self, *names: str) -> None:
        for on_notification in list(self.listeners.values()):
            for name in names:
                on_notification(name)


class SharedMemoryStore(MemoryStore):
    single_process = False
    _database: SharedDatabase

    def __init__(self, database: SharedDatabase | None = None) -> None:
        super().__init__(database or SharedDatabase())

    @property
    def is_listening(self) -> bool:
        return self._database.delivers and self in self._database.listeners

    def interrupt(self) -> None:
        """Report to the listener that it may have missed notifications."""
        if self in self._database.listeners:
            self._database.listeners[self]("")

    async def close(self) -> None:
        self._database.listeners.pop(self, None)
        await super().close()

    # every process

    async def append(self, key: str, body: str, at: float) -> None:
        await super().append(key, body, at)
        self._database.notify(INBOX)

    async def send_report(self, key: str, body: str, at: float) -> None:
        await self.append(key, body, at)

    async def messages(self, worker: WorkerId, after: int) -> list[Message]:
        with self._database.turn:
            messages = self._database.messages.get(worker, [])
            return [Message(number, body) for number, body in messages if number > after]

    async def assigned_payloads(self, starts: Sequence[Start]) -> Mapping[JobId, Payload]:
        return self._payloads(starts)

    async def delete_messages(self, worker: WorkerId, up_to: int) -> None:
        with self._database.turn:
            messages = self._database.messages.get(worker)
            if messages is not None:
                messages[:] = [message for message in messages if message[0] > up_to]

    def lease(self, worker: WorkerId) -> "MemoryLease":
        return MemoryLease(self._database, worker)

    async def listen(self, on_notification: Callable[[str], None]) -> None:
        loop, context = asyncio.get_running_loop(), copy_context()

        def call_back(name: str) -> None:
            try:
                loop.call_soon_threadsafe(on_notification, name, context=context)
            except RuntimeError:
                pass  # the process has ended

        self._database.listeners[self] = call_back

    # the leader

    async def lead(self) -> int | None:
        with self._database.turn:
            database = self._database
            if not database.has_leader():
                database.leader = None
            epoch = await super().lead()
            if epoch is not None:
                database.leader_seen_at = _now()
                database.notify(ELECTED)
            return epoch

    async def _commit(self, changes: Changes, at: float) -> None:
        await super()._commit(changes, at)
        self._database.notify(NEWS, *(worker for worker, _, _ in changes.messages))

    def _leading(self) -> int:
        if self._database.leader is not self:
            raise NotLeading("this handle does not lead its database; call lead() and load first")
        self._database.leader_seen_at = _now()
        return super()._leading()

    async def lease_counts(self) -> LeaseCounts:
        self._leading()
        database, now = self._database, _now()
        with database.turn:
            counts = {
                WorkerId(worker): LeaseCount(count, now - database.renewed_at.get(worker, now))
                for worker, count in database.beats.items()
            }
            return LeaseCounts(counts, bool(database.inbox))

    async def clock_skew(self) -> float:
        return 0.0


class MemoryLease:
    def __init__(self, database: SharedDatabase, worker: WorkerId) -> None:
        self._database = database
        self._worker = worker

    async def begin(self) -> None:
        with self._database.turn:
            self._database.beats.setdefault(self._worker, 0)

    async def renew(self) -> Renewal:
        database = self._database
        with database.turn:
            has_leader = database.has_leader()
            if self._worker not in database.beats:
                return Renewal("dead", has_leader)
            database.beats[self._worker] += 1
            database.renewed_at[self._worker] = _now()
            is_known = ("worker", self._worker) in database.records
            return Renewal("known" if is_known else "unknown", has_leader)

    async def close(self) -> None: ...


def _now() -> float:
    return asyncio.get_running_loop().time()
