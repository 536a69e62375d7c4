"""The event feed of this process: stored events, read once and shared by all who follow.

A follower reads at its own pace from a bounded window of recent events, and from the store when it
is further behind; a slow one costs nobody else anything. One that asks for what is no longer stored
gets a single `resync` event: take the snapshot again.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from datetime import UTC, datetime
from typing import Final

import msgspec

from fairlane.core.job import JobId
from fairlane.store.protocol import Store
from fairlane.store.views import EventView

_WINDOW: Final = 5_000
_CHUNK: Final = 500


class Feed:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._window: deque[EventView] = deque(maxlen=_WINDOW)
        self._seq: int | None = None
        self._followers = 0
        self._news = asyncio.Condition()
        self._closed = False
        self._turn = asyncio.Lock()

    @property
    def has_followers(self) -> bool:
        return self._followers > 0

    async def close(self) -> None:
        """The engine stops: every stream ends."""
        self._closed = True
        async with self._news:
            self._news.notify_all()

    async def pump(self) -> None:
        """Read what is new into the window and tell the followers."""
        async with self._turn:
            while self._followers and self._seq is not None:
                fresh = await self._store.events(self._seq, _CHUNK)
                if fresh is None:
                    self._window.clear()
                    self._seq = await self._newest()
                elif fresh:
                    self._window.extend(fresh)
                    self._seq = fresh[-1].seq
                async with self._news:
                    self._news.notify_all()
                if not fresh or len(fresh) < _CHUNK:
                    return

    async def _newest(self) -> int:
        return await self._store.seq()

    async def follow(
        self, after: int | None, *, job: JobId | None = None, queue: str | None = None
    ) -> AsyncGenerator[EventView, None]:
        """Give events above `after` (None: from now on) as they are committed."""
        self._followers += 1
        try:
            async with self._turn:  # a window with a hole or an echo in it would be miscounted
                if self._seq is None:
                    self._window.clear()
                    self._seq = await self._newest()
                cursor = self._seq if after is None else after
            previous = cursor
            while True:
                events = await self._after(cursor)
                if events is None:
                    yield EventView(
                        seq=self._seq, type="resync", at=datetime.now(UTC), job=None,
                        queue=None, data={}, prev=previous,
                    )  # fmt: skip
                    return
                for event in events:
                    cursor = event.seq
                    if job in (None, event.job) and queue in (None, event.queue):
                        yield msgspec.structs.replace(event, prev=previous)
                        previous = event.seq
                if not events:
                    async with self._news:
                        if self._closed:
                            return
                        if self._seq <= cursor:
                            await self._news.wait()
        finally:
            self._followers -= 1
            if not self._followers:
                self._seq = None  # nobody reads along any more

    async def _after(self, cursor: int) -> list[EventView] | None:
        if self._window and self._window[0].seq <= cursor + 1:
            newest = self._window[-1].seq
            if cursor <= newest:
                return list(self._window)[cursor + 1 - self._window[0].seq :][:_CHUNK]
        return await self._store.events(cursor, _CHUNK)
