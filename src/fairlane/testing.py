"""For tests of programs that use Fairlane: a clock of your own, and a way to wait without sleeping.

async with testing.running(app) as world:
    await send.submit(to="ann")
    await world.idle()             # everything that can happen without time has happened
    await world.advance(60)        # a minute passes at once; what was due has run
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
    """A clock that stands still until it is advanced. Give it to `Fairlane(clock=…)`.

    It rules everything the scheduler decides by: due times, backoffs, rates, schedules. Time-outs
    of running code and stages are real.
    """

    def __init__(self, now: float = START) -> None:
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
    """A running app whose time is in the test's hands."""

    def __init__(self, app: Fairlane, clock: FakeClock) -> None:
        self.app = app
        self.clock = clock

    async def advance(self, seconds: float) -> None:
        """Let time pass, then wait until everything that was due has happened."""
        self.clock.advance(seconds)
        await self.idle()

    async def set_back(self, seconds: float) -> None:
        self.clock.set_back(seconds)
        await self.idle()

    async def idle(self) -> None:
        """Return when no job runs and nothing is left to decide; fail after half a minute."""
        engine = self.app._engine  # the one friend of the app that looks inside
        async with asyncio.timeout(_IDLE_SECONDS):
            await engine.settled()
            # A job that has just ended may make room for another: its outcome has to be decided.
            while engine.worker.running or engine.worker.unacknowledged_inputs():
                await engine.worker.idle.wait()
                await engine.settled()


@asynccontextmanager
async def running(app: Fairlane, *, database: str | None = None) -> AsyncIterator[World]:
    """Run an app on a fake clock, and in memory, for the length of the block.

    An app that was made with a fake clock is a test's own and keeps its database; any other is put
    back as it was afterwards. `database` names another one.
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
