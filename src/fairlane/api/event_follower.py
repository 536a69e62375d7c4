"""One who follows the stream: how far it is, what it wants to hear, and what it is told next."""

import asyncio
import random
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from fairlane.api.event_batch import MOST_BYTES, EventBatch, Portion, StreamMessage, message_of
from fairlane.store.views import EventView

if TYPE_CHECKING:
    from fairlane.api.event_stream import Stream

HEARTBEAT_SECONDS: Final = 15.0
PATIENCE_SECONDS: Final = 30.0


class Follower:
    """Keeps a number and nothing else: what it has not taken yet stays in the shared window."""

    def __init__(
        self,
        stream: "Stream",
        cursor: int | None,
        *,
        after: int,
        job: str | None,
        queue: str | None,
    ) -> None:
        self.cursor = cursor  # None: what it has cannot be gone on from
        self._prev = after if cursor is None else cursor
        self._stream = stream
        self._job, self._queue = job, queue
        self.patience = asyncio.timeout(None)
        self._loop = asyncio.get_running_loop()
        self._waiter: asyncio.Future[None] | None = None
        self.has_left = False
        self._is_reminded = False
        self._told_at = self._loop.time()
        self._is_busy = False  # with what it was told last

    @property
    def is_let_go(self) -> bool:
        return self.patience.expired()

    async def next(self) -> Portion | None:
        """Return what to tell next as soon as there is something; None when the stream is over."""
        self._is_busy = False
        while not (self.has_left or self._stream.is_over):
            portion = await self._portion()
            if portion is not None:
                self._told_at, self._is_busy = self._loop.time(), True
                return portion
            await self._woken()
        return None

    async def _portion(self) -> Portion | None:
        if self.cursor is None or self.cursor < self._stream.window.first - 1:
            # Whoever is sent for the snapshot comes at once; not all of them in the same moment.
            await asyncio.sleep(random.uniform(0, self._stream.spread_seconds))
            return self._resync()
        messages = self._taken(self.cursor)
        if messages or self._is_reminded:
            self._is_reminded = False
            return messages or Portion((), self._prev)
        return None

    def _resync(self) -> Portion:
        seq, at = self._stream.window.last, datetime.now(UTC)
        event = EventView(seq=seq, type="resync", at=at, job=None, queue=None, data={})
        portion = Portion([message_of(event)], self._prev)
        self.cursor = self._prev = seq
        return portion

    def _taken(self, cursor: int) -> Portion | None:
        """Take what is new, as far as a connection should swallow at once."""
        messages: list[StreamMessage] = []
        size, prev = 0, self._prev
        for batch in self._stream.window.after(cursor):
            wanted = self._wanted(batch, cursor)
            if wanted is batch.messages and batch.last == self._stream.window.last and not messages:
                self.cursor = self._prev = batch.last
                return Portion(wanted, prev, whole=batch)
            messages += wanted
            size += batch.bytes if wanted else 0
            self.cursor = batch.last
            if size > MOST_BYTES:
                break
        if not messages:
            return None
        self._prev = messages[-1].seq
        return Portion(messages, prev)

    def _wanted(self, batch: EventBatch, cursor: int) -> list[StreamMessage]:
        if self._job is not None:
            found = batch.of_jobs.get(self._job, [])
            if self._queue is not None:
                found = [message for message in found if message.queue == self._queue]
        elif self._queue is not None:
            found = batch.of_queues.get(self._queue, [])
        else:
            found = batch.messages
        return found if batch.first > cursor else [one for one in found if one.seq > cursor]

    # what the stream and the connection do to it

    async def _woken(self) -> None:
        self._waiter = self._loop.create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def leave(self) -> None:
        """Its connection is gone."""
        self.has_left = True
        self.wake()

    def look_after(self, now: float) -> None:
        """Say that we are still here, or give up one that takes nothing any more."""
        if self._is_busy and now - self._told_at > PATIENCE_SECONDS:
            self.patience.reschedule(now)
        elif not self._is_busy and now - self._told_at >= HEARTBEAT_SECONDS:
            self._is_reminded = True
            self.wake()
