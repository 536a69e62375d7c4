"""A follower of the event stream: one connection with its position, its filter and its timeout."""

import asyncio
import random
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from fairlane.api.event_stream.batch import (
    MOST_BYTES,
    Delivery,
    EventBatch,
    StreamMessage,
    encode_event,
)
from fairlane.store.views import EventView

if TYPE_CHECKING:
    from fairlane.api.event_stream.stream import EventStream

HEARTBEAT_SECONDS: Final = 15.0
STALLED_SECONDS: Final = 30.0


class Follower:
    """The position of one connection in the shared window; it buffers no messages itself."""

    def __init__(
        self,
        stream: "EventStream",
        cursor: int | None,
        *,
        after: int,
        job: str | None,
        queue: str | None,
    ) -> None:
        self.cursor = cursor  # None: its position is not in the window, so it needs a resync
        self._prev = after if cursor is None else cursor
        self._stream = stream
        self._job, self._queue = job, queue
        self.deadline = asyncio.timeout(None)
        self._loop = asyncio.get_running_loop()
        self._waiter: asyncio.Future[None] | None = None
        self.is_disconnected = False
        self._heartbeat_due = False
        self._sent_at = self._loop.time()
        self._is_busy = False  # the connection is still sending the last delivery

    @property
    def was_dropped(self) -> bool:
        return self.deadline.expired()

    async def next_delivery(self) -> Delivery | None:
        """Wait for the next messages or heartbeat and return them; None when the stream is over."""
        self._is_busy = False
        while not (self.is_disconnected or self._stream.is_over):
            delivery = await self._delivery()
            if delivery is not None:
                self._sent_at, self._is_busy = self._loop.time(), True
                return delivery
            await self._wait()
        return None

    async def _delivery(self) -> Delivery | None:
        if self.cursor is None or self.cursor < self._stream.window.first - 1:
            # A client requests the snapshot as soon as it gets a resync; this spreads them out.
            await asyncio.sleep(random.uniform(0, self._stream.resync_spread_seconds))
            return self._resync()
        messages = self._new_messages(self.cursor)
        if messages or self._heartbeat_due:
            self._heartbeat_due = False
            return messages or Delivery((), self._prev)
        return None

    def _resync(self) -> Delivery:
        seq, at = self._stream.window.last, datetime.now(UTC)
        event = EventView(seq=seq, type="resync", at=at, job=None, queue=None, data={})
        delivery = Delivery([encode_event(event)], self._prev)
        self.cursor = self._prev = seq
        return delivery

    def _new_messages(self, cursor: int) -> Delivery | None:
        """Return the messages above the cursor, up to about `MOST_BYTES`."""
        messages: list[StreamMessage] = []
        size, prev = 0, self._prev
        for batch in self._stream.window.batches_after(cursor):
            matching = self._matching(batch, cursor)
            if (
                matching is batch.messages
                and batch.last == self._stream.window.last
                and not messages
            ):
                self.cursor = self._prev = batch.last
                return Delivery(matching, prev, whole=batch)
            messages += matching
            size += batch.bytes if matching else 0
            self.cursor = batch.last
            if size > MOST_BYTES:
                break
        if not messages:
            return None
        self._prev = messages[-1].seq
        return Delivery(messages, prev)

    def _matching(self, batch: EventBatch, cursor: int) -> list[StreamMessage]:
        if self._job is not None:
            found = batch.by_job.get(self._job, [])
            if self._queue is not None:
                found = [message for message in found if message.queue == self._queue]
        elif self._queue is not None:
            found = batch.by_queue.get(self._queue, [])
        else:
            found = batch.messages
        return found if batch.first > cursor else [one for one in found if one.seq > cursor]

    # called by the stream and the connection

    async def _wait(self) -> None:
        self._waiter = self._loop.create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def disconnect(self) -> None:
        """Record that the connection is closed, and end `next_delivery`."""
        self.is_disconnected = True
        self.wake()

    def check(self, now: float) -> None:
        """Have a heartbeat sent if one is due, or drop a connection that reads no more."""
        if self._is_busy and now - self._sent_at > STALLED_SECONDS:
            self.deadline.reschedule(now)
        elif not self._is_busy and now - self._sent_at >= HEARTBEAT_SECONDS:
            self._heartbeat_due = True
            self.wake()
