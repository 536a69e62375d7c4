"""Tools for testing programs that use Fairlane: a fake clock, and waiting without sleeping.

async with testing.running(app) as world:
    await send.submit(to="ann")
    await world.idle()             # no job runs and no decision is left
    await world.advance(60)        # a minute passes at once; jobs that were due have run
"""

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from fairlane.app import Fairlane

START: Final = 1_800_000_000.0
_IDLE_SECONDS: Final = 30.0


class FakeClock:
    """A clock that stands still until it is advanced. Pass it to `Fairlane(clock=…)`.

    The scheduler takes due times, backoffs, rates and schedules from it. Time-outs of running code
    and stages are real. Backoffs have no jitter unless `jitter` is true.
    """

    def __init__(self, now: float = START, *, jitter: bool = False) -> None:
        self.jitter = jitter
        self._now = now
        self._back = 0.0
        self._lock = threading.Lock()

    def now(self) -> float:
        return self._now

    def seconds_until(self, at: float) -> float | None:
        return 0.0 if at <= self._now else None

    def jumped(self) -> float:
        with self._lock:
            back, self._back = self._back, 0.0
            return back

    def advance(self, seconds: float) -> None:
        with self._lock:
            self._now += seconds

    def set_back(self, seconds: float) -> None:
        """Move the wall clock backwards, as an operator or a time server may."""
        with self._lock:
            self._now -= seconds
            self._back += seconds


class World:
    """A running app and the fake clock that drives it."""

    def __init__(self, app: Fairlane, clock: FakeClock) -> None:
        self.app = app
        self.clock = clock

    async def advance(self, seconds: float) -> None:
        """Advance the clock, then wait until all jobs that were due have run."""
        self.clock.advance(seconds)
        await self.idle()

    async def set_back(self, seconds: float) -> None:
        self.clock.set_back(seconds)
        await self.idle()

    async def idle(self) -> None:
        """Return when no job runs and no decision is left; raise after half a minute."""
        engine = self.app._engine  # only this module reads a private attribute of an app
        async with asyncio.timeout(_IDLE_SECONDS):
            await engine.settled()
            # A job that has just ended may make room for another: its outcome has to be decided.
            while engine.worker.running or engine.worker.unacknowledged_inputs():
                await engine.worker.idle.wait()
                await engine.settled()


@asynccontextmanager
async def running(app: Fairlane, *, database: str | None = None) -> AsyncIterator[World]:
    """Run an app on a fake clock, and in memory, for the length of the block.

    An app that was created with a fake clock belongs to the test and keeps its database. Any other
    app gets its own clock and database back afterwards. `database` names another database.
    """
    was_clock, was_database = app._commands.clock, app.database
    if isinstance(was_clock, FakeClock):
        clock = was_clock
        app.database = database or was_database
    else:
        clock = FakeClock()
        app._commands.clock = clock
        app.database = database or "memory://"
    try:
        async with app:
            yield World(app, clock)
    finally:
        app._commands.clock, app.database = was_clock, was_database
