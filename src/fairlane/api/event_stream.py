"""The stream of events of one process, from which every connection is told.

Events are read once, encoded once and kept in one bounded window; a follower is a number in it. So
a connection that is slow, or takes nothing at all, holds up nobody and costs no memory but its own
socket's: when the window has moved on, it is told to `resync`, and when it takes nothing for half
a minute, it is let go.

To tell two thousand connections takes a while, and all of it is taken from the loop that also runs
jobs. So after each round there is a pause of a multiple of what the round took, in which events
gather. When more gather than can be told in time, nothing is told for a moment and then everybody
is sent for the snapshot, which is made once for all of them (`state`).
"""

import asyncio
import logging
import signal
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

from starlette.requests import HTTPConnection

from fairlane.api.event_batch import EventBatch, batches_of
from fairlane.api.event_follower import PATIENCE_SECONDS, Follower
from fairlane.api.event_window import MOST_EVENTS, Window
from fairlane.runtime.service import Service
from fairlane.store.views import EventView

if TYPE_CHECKING:
    from fairlane.app import Fairlane

log = logging.getLogger("fairlane.api")

ROUND: Final = 1_000  # events that are told together at most
REST: Final = 10  # times what a round took
SHORTEST_PAUSE_SECONDS: Final = 0.02
LONGEST_PAUSE_SECONDS: Final = 0.3
LONGEST_REST_SECONDS: Final = 1.0  # where more happens than can be told: jobs come first
OVERRUN_SECONDS: Final = 3.0
LOOK_SECONDS: Final = 1.0


class Stream:
    def __init__(self, app: "Fairlane") -> None:
        self.window = Window(0)
        self.is_over = False
        self._app = app
        self._followers: set[Follower] = set()
        self._turn = asyncio.Lock()
        self._tasks: list[asyncio.Task[None]] = []
        self._news: AsyncGenerator[list[EventView], None] | None = None
        self._is_overrun = False

    @property
    def followers(self) -> int:
        return len(self._followers)

    @property
    def spread_seconds(self) -> float:
        """Over how long those who are sent for the snapshot are spread."""
        return min(1.0, self.followers / 2_000)

    @asynccontextmanager
    async def following(
        self, after: int | None, *, job: str | None = None, queue: str | None = None
    ) -> AsyncIterator[Follower]:
        """Be one of the followers for as long as the block lasts; None is from now on."""
        async with self._turn:
            if not self._tasks:
                await self._begin()
            follower = Follower(
                self, await self._reached(after), after=after or 0, job=job, queue=queue
            )
            self._followers.add(follower)
        try:
            async with follower.patience:
                yield follower
        except TimeoutError:
            if not follower.is_let_go:
                raise
            log.info("let go of a client that took nothing for %.0f s", PATIENCE_SECONDS)
        finally:
            self._followers.discard(follower)
            async with self._turn:
                if not self._followers:
                    await self._end()

    async def _begin(self) -> None:
        self.window = Window(await self._app.events.newest())
        self.is_over = self._is_overrun = False
        services = (Service("stream", self._tell), Service("followers", self._look_after))
        self._tasks = [asyncio.create_task(service.run()) for service in services]

    async def _end(self) -> None:
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._forget_news()
        self.window = Window(0)

    async def _forget_news(self) -> None:
        news, self._news = self._news, None
        if news is not None:
            await news.aclose()

    async def _reached(self, after: int | None) -> int | None:
        """Return where to begin; None if that is too old, or a number that never was."""
        if after is None:
            return self.window.last
        if after > self.window.last:
            return after if after <= await self._app.events.newest() else None
        if after < self.window.first - 1 and self.window.last - after <= MOST_EVENTS:
            older = await self._stored(after, self.window.first - 1)
            self.window.prepend(older)
        return after if after >= self.window.first - 1 else None

    async def _stored(self, after: int, last: int) -> list[EventBatch]:
        found: list[EventBatch] = []
        while after < last:
            events = await self._app.events.stored(after=after, limit=min(ROUND, last - after))
            if not events:
                break
            found += batches_of(events)
            after = events[-1].seq
        return found

    # services

    async def _tell(self) -> float | None:
        """Tell everybody what is new, and return how long to gather more."""
        if self._is_overrun:
            await self._skip(await self._app.events.newest())
        if self._news is None:
            self._news = self._app.events.batches(after=self.window.last, limit=ROUND)
        try:
            events = await anext(self._news)
        except StopAsyncIteration:  # the engine stops
            self.close()
            return None
        except BaseException:
            self._news = None
            raise
        if events[0].type == "resync":
            await self._skip(events[0].seq)
            return OVERRUN_SECONDS
        rest = REST * await self._told(events)
        if len(events) < ROUND:
            return min(max(rest, SHORTEST_PAUSE_SECONDS), LONGEST_PAUSE_SECONDS)
        rest = min(rest, LONGEST_REST_SECONDS)
        left = await self._app.events.newest() - self.window.last
        self._is_overrun = left > MOST_EVENTS or left / ROUND * rest > OVERRUN_SECONDS
        return OVERRUN_SECONDS if self._is_overrun else rest

    async def _told(self, events: list[EventView]) -> float:
        """Let every follower take it, and return the seconds that this took the loop."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        for batch in batches_of(events):
            self.window.append(batch)
        self._wake()
        await asyncio.sleep(0)  # they take it and write,
        await asyncio.sleep(0)  # and uvloop sends what was written at the end of a turn
        return loop.time() - began

    async def _skip(self, seq: int) -> None:
        """Begin again at a number; everybody has to take the snapshot."""
        await self._forget_news()
        self._is_overrun = False
        self.window = Window(seq)
        self._wake()

    async def _look_after(self) -> float:
        if server_is_ending():
            self.close()
        now = asyncio.get_running_loop().time()
        for follower in self._followers:
            follower.look_after(now)
        return LOOK_SECONDS

    def close(self) -> None:
        """End every stream, as when the server is to end; clients come back by themselves."""
        self.is_over = True
        self._wake()

    def _wake(self) -> None:
        for follower in self._followers:
            follower.wake()


def server_is_ending() -> bool:
    """Tell whether uvicorn, if that is who serves us, was told to end.

    It tells an application only when every response has ended, which a stream does not by itself.
    """
    handler = signal.getsignal(signal.SIGTERM)
    return bool(getattr(getattr(handler, "__self__", None), "should_exit", False))


def the_stream(connection: HTTPConnection) -> Stream:
    """Return the stream of the app that a connection is about, as a dependency of routes."""
    state = connection.app.state
    if not hasattr(state, "stream"):
        state.stream = Stream(state.fairlane)
    stream: Stream = state.stream
    return stream
