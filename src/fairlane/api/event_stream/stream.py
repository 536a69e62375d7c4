"""The event stream of one process, which feeds every connection.

Rules: each event is read once, encoded once and stored in one bounded window. A follower is a
position in the window. A follower that falls behind the window gets a `resync`. A follower that
reads nothing for half a minute is dropped. So a slow connection delays no other connection and
costs only the memory of its socket buffer.

Sending to two thousand connections takes time on the event loop that also runs jobs. So the stream
pauses after each round for a multiple of the time that the round took, and events accumulate
meanwhile. When more events accumulate than it can send in time (an overrun), it sends nothing for
`OVERRUN_SECONDS` and then a `resync` to every follower. Their requests for the snapshot are
answered from one shared reading (`api.snapshot`).
"""

import asyncio
import logging
import signal
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

from starlette.requests import HTTPConnection

from fairlane.api.event_stream.batch import EventBatch, split_into_batches
from fairlane.api.event_stream.follower import STALLED_SECONDS, Follower
from fairlane.api.event_stream.window import MOST_EVENTS, EventWindow
from fairlane.runtime.service import Service
from fairlane.store.views import EventView

if TYPE_CHECKING:
    from fairlane.app import Fairlane

log = logging.getLogger("fairlane.api")

ROUND_EVENTS: Final = 1_000  # the most events in one round
REST_FACTOR: Final = 10  # the pause after a round, as a multiple of its duration
SHORTEST_PAUSE_SECONDS: Final = 0.02
LONGEST_PAUSE_SECONDS: Final = 0.3
LONGEST_REST_SECONDS: Final = 1.0  # after a full round: running jobs come first
OVERRUN_SECONDS: Final = 3.0
CHECK_SECONDS: Final = 1.0


class EventStream:
    def __init__(self, app: "Fairlane") -> None:
        self.window = EventWindow(0)
        self.is_over = False
        self._app = app
        self._followers: set[Follower] = set()
        self._turn = asyncio.Lock()
        self._tasks: list[asyncio.Task[None]] = []
        self._source: AsyncGenerator[list[EventView], None] | None = None
        self._is_overrun = False

    @property
    def followers(self) -> int:
        return len(self._followers)

    @property
    def resync_spread_seconds(self) -> float:
        """The time over which followers receive their resync, so that they do not come at once."""
        return min(1.0, self.followers / 2_000)

    @asynccontextmanager
    async def follow(
        self, after: int | None, *, job: str | None = None, queue: str | None = None
    ) -> AsyncIterator[Follower]:
        """Add a follower for the duration of the block; `after=None` begins with new events."""
        async with self._turn:
            if not self._tasks:
                await self._start()
            follower = Follower(
                self, await self._starting_seq_of(after), after=after or 0, job=job, queue=queue
            )
            self._followers.add(follower)
        try:
            async with follower.deadline:
                yield follower
        except TimeoutError:
            if not follower.was_dropped:
                raise
            log.info("dropped a client that read no events for %.0f s", STALLED_SECONDS)
        finally:
            self._followers.discard(follower)
            async with self._turn:
                if not self._followers:
                    await self._stop()

    async def _start(self) -> None:
        self.window = EventWindow(await self._app.events.newest())
        self.is_over = self._is_overrun = False
        services = (
            Service("stream", self._publish_new),
            Service("followers", self._check_followers),
        )
        self._tasks = [asyncio.create_task(service.run()) for service in services]

    async def _stop(self) -> None:
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._close_source()
        self.window = EventWindow(0)

    async def _close_source(self) -> None:
        source, self._source = self._source, None
        if source is not None:
            await source.aclose()

    async def _starting_seq_of(self, after: int | None) -> int | None:
        """Return the cursor to begin at; None if it is too old, or above the newest event."""
        if after is None:
            return self.window.last
        if after > self.window.last:
            return after if after <= await self._app.events.newest() else None
        if after < self.window.first - 1 and self.window.last - after <= MOST_EVENTS:
            older = await self._read_stored(after, self.window.first - 1)
            self.window.prepend(older)
        return after if after >= self.window.first - 1 else None

    async def _read_stored(self, after: int, last: int) -> list[EventBatch]:
        found: list[EventBatch] = []
        while after < last:
            events = await self._app.events.stored(
                after=after, limit=min(ROUND_EVENTS, last - after)
            )
            if not events:
                break
            found += split_into_batches(events)
            after = events[-1].seq
        return found

    # services

    async def _publish_new(self) -> float | None:
        """Publish the new events, and return the pause before the next round."""
        if self._is_overrun:
            await self._restart_at(await self._app.events.newest())
        if self._source is None:
            self._source = self._app.events.batches(after=self.window.last, limit=ROUND_EVENTS)
        try:
            events = await anext(self._source)
        except StopAsyncIteration:  # the engine stops
            self.close()
            return None
        except BaseException:
            self._source = None
            raise
        if events[0].type == "resync":
            await self._restart_at(events[0].seq)
            return OVERRUN_SECONDS
        rest = REST_FACTOR * await self._publish(events)
        if len(events) < ROUND_EVENTS:
            return min(max(rest, SHORTEST_PAUSE_SECONDS), LONGEST_PAUSE_SECONDS)
        rest = min(rest, LONGEST_REST_SECONDS)
        left = await self._app.events.newest() - self.window.last
        self._is_overrun = left > MOST_EVENTS or left / ROUND_EVENTS * rest > OVERRUN_SECONDS
        return OVERRUN_SECONDS if self._is_overrun else rest

    async def _publish(self, events: list[EventView]) -> float:
        """Add events to the window, wake the followers, and return how long the loop was busy."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        for batch in split_into_batches(events):
            self.window.append(batch)
        self._wake()
        await asyncio.sleep(0)  # the followers read and write in this turn,
        await asyncio.sleep(0)  # and uvloop sends the written bytes at the end of it
        return loop.time() - began

    async def _restart_at(self, seq: int) -> None:
        """Restart the window at a number; every follower gets a resync."""
        await self._close_source()
        self._is_overrun = False
        self.window = EventWindow(seq)
        self._wake()

    async def _check_followers(self) -> float:
        if server_is_ending():
            self.close()
        now = asyncio.get_running_loop().time()
        for follower in self._followers:
            follower.check(now)
        return CHECK_SECONDS

    def close(self) -> None:
        """End every connection's stream, because the server stops; clients reconnect."""
        self.is_over = True
        self._wake()

    def _wake(self) -> None:
        for follower in self._followers:
            follower.wake()


def server_is_ending() -> bool:
    """Return whether this runs under uvicorn and uvicorn received a signal to stop.

    Uvicorn notifies the application only after every response has ended, and a stream never ends
    by itself.
    """
    handler = signal.getsignal(signal.SIGTERM)
    return bool(getattr(getattr(handler, "__self__", None), "should_exit", False))


def event_stream_of(connection: HTTPConnection) -> EventStream:
    """Return the event stream of the app that serves this connection, as a dependency."""
    state = connection.app.state
    if not hasattr(state, "stream"):
        state.stream = EventStream(state.fairlane)
    stream: EventStream = state.stream
    return stream
