"""The time of the database, on which the leaders of several machines agree."""

import asyncio
from typing import Final

from fairlane.cluster.fleet import Fleet
from fairlane.runtime.clock import Clock

_MEASURE_SECONDS: Final = 30.0  # between two measurements of the skew
_SMALL_SECONDS: Final = 1.0  # corrections of a clock that are too small to count as a jump
_NEVER: Final = float("-inf")


class DatabaseClock:
    def __init__(self, clock: Clock, fleet: Fleet) -> None:
        self._clock = clock
        self.jitter = clock.jitter
        self._fleet = fleet
        self._skew = 0.0  # seconds by which the database's clock is ahead of this machine's
        self._measured_at = _NEVER

    def now(self) -> float:
        return self._clock.now() + self._skew

    def seconds_until(self, at: float) -> float | None:
        return self._clock.seconds_until(at - self._skew)

    async def reset(self) -> None:
        """Measure the skew before a load, which needs no correction for earlier jumps."""
        self._clock.jumped()  # loading uses the clock as it is now, so an earlier jump is void
        self._skew = await self._fleet.clock_skew()

    async def measure_setback(self) -> float:
        """Return by how many seconds this clock was set back since the last call.

        Until the next await, `now` is the time after exactly these jumps.
        """
        total = 0.0
        while (back := self._clock.jumped()) or self._is_old():  # it may jump while it is measured
            self._measured_at = asyncio.get_running_loop().time()
            previous, self._skew = self._skew, await self._fleet.clock_skew()
            total += back
            if abs(previous - self._skew) > _SMALL_SECONDS:
                total += previous - self._skew
        return max(0.0, total)

    def _is_old(self) -> bool:
        return asyncio.get_running_loop().time() - self._measured_at > _MEASURE_SECONDS
