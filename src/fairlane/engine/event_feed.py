"""The event feed of this process: stored events, read once and shared by all followers.

Events are read only for followers. Followers at the end share a bounded window of the events that
were read last. A follower that is further behind reads from the store, at its own pace, and costs
the other followers no time. A follower that requests events that are no longer stored, or that do
not exist yet, gets a single `resync` event: it has to read the snapshot again.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Final

import msgspec

from fairlane.core.decisions import Decisions
from fairlane.core.live_job import JobId
from fairlane.runtime.service import Service
from fairlane.store.protocol import Store
from fairlane.store.views import EventView

_WINDOW: Final = 5_000
_CHUNK: Final = 500


class EventFeed:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._window: list[EventView] = []  # consecutive numbers
        self._followers = 0
        self._notified = 0
        self._news = asyncio.Condition()
        self._closed = False
        self._turn = asyncio.Lock()
        self.service = Service("feed", self.run_once)

    @property
    def has_followers(self) -> bool:
        return self._followers > 0

    def receive_commit(self, decisions: Decisions) -> None:
        if self._followers and decisions.changes.events:
            self.service.wake()

    async def run_once(self) -> float | None:
        await self.wake_followers()
        return None

    async def close(self) -> None:
        """End every stream: the engine stops."""
        self._closed = True
        await self.wake_followers()

    async def wake_followers(self) -> None:
        """Wake the followers that wait for events: there may be a new commit."""
        self._notified += 1
        async with self._news:
            self._news.notify_all()

    async def follow(
        self, after: int | None, *, job: JobId | None = None, queue: str | None = None
    ) -> AsyncGenerator[EventView, None]:
        """Yield the events after a number (None: from now on) as they are committed."""
        previous = await self._store.last_seq() if after is None else after
        async with aclosing(self.batches(previous)) as batches:
            async for events in batches:
                for event in events:
                    is_wanted = job in (None, event.job) and queue in (None, event.queue)
                    if is_wanted or event.type == "resync":
                        yield msgspec.structs.replace(event, prev=previous)
                        previous = event.seq

    async def batches(
        self, after: int, *, limit: int = _CHUNK
    ) -> AsyncGenerator[list[EventView], None]:
        """Yield lists of at most `limit` events after a number; the caller sets `prev`."""
        self._followers += 1
        try:
            while not self._closed:
                notified = self._notified
                events = await self._after(after, limit)
                if events is None:
                    yield [await self._resync()]
                    return
                if events:
                    yield events
                    after = events[-1].seq
                else:
                    await self._next_notification(notified)
        finally:
            self._followers -= 1
            if not self._followers:
                self._window = []

    async def _resync(self) -> EventView:
        seq, at = await self._store.last_seq(), datetime.now(UTC)
        return EventView(seq=seq, type="resync", at=at, job=None, queue=None, data={})

    async def _next_notification(self, notified: int) -> None:
        async with self._news:
            await self._news.wait_for(lambda: self._notified != notified or self._closed)

    async def _after(self, cursor: int, limit: int) -> list[EventView] | None:
        if self._is_behind(cursor):
            return await self._store.events(cursor, limit)
        async with self._turn:  # a follower that waits here finds the events of the read before it
            known = self._known(cursor, limit)
            if known:
                return known
            fresh = await self._store.events(cursor, limit)
            if fresh and not self._is_behind(cursor):
                self._keep(fresh)
            return fresh

    def _is_behind(self, cursor: int) -> bool:
        return bool(self._window) and cursor < self._window[0].seq - 1

    def _known(self, cursor: int, limit: int) -> list[EventView]:
        if not self._window:
            return []
        start = cursor + 1 - self._window[0].seq
        return self._window[start : start + limit]

    def _keep(self, fresh: list[EventView]) -> None:
        """Add events to the window; start a new window if there would be a gap."""
        if self._window and self._window[-1].seq != fresh[0].seq - 1:
            self._window = []
        self._window += fresh
        if len(self._window) > 2 * _WINDOW:  # rarely, because it moves all events that stay
            del self._window[:-_WINDOW]
