"""The clock of the engine, which tests replace.

The wall clock may be set back while a process runs. `now` follows it, and `jumped` returns once by
how much, so that waits which are durations can move with it. No job and no schedule starts before
its nominal time.
"""

import time
from typing import Final, Protocol

# The clock of leases must go on while the machine sleeps, because the database server goes on too.
# Linux has CLOCK_BOOTTIME for that; its CLOCK_MONOTONIC stands still. macOS has no CLOCK_BOOTTIME,
# but clock_gettime(3) there says that CLOCK_MONOTONIC continues to increment during sleep.
# `time.monotonic()` does not help: on macOS Python reads mach_absolute_time, which stands still.
BOOT_CLOCK: Final[int] = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def boot_seconds() -> float:
    """Return seconds on the clock of leases: it runs while the machine sleeps and is never set."""
    return time.clock_gettime(BOOT_CLOCK)


class Clock(Protocol):
    jitter: bool  # whether backoffs have their jitter; a clock of tests has none

    def now(self) -> float:
        """Return seconds since the epoch."""
        ...

    def seconds_until(self, at: float) -> float | None:
        """Return the real seconds until an instant; None if only an `advance` reaches it."""
        ...

    def jumped(self) -> float:
        """Return by how many seconds the wall clock was set back since the last call."""
        ...


class SystemClock:
    jitter = True
    _TOLERANCE_SECONDS = 1.0  # small corrections are not jumps

    def __init__(self) -> None:
        self._offset = self._measure()

    @staticmethod
    def _measure() -> float:
        return time.time() - boot_seconds()

    def now(self) -> float:
        return time.time()

    def seconds_until(self, at: float) -> float | None:
        return max(0.0, at - time.time())

    def jumped(self) -> float:
        offset = self._measure()
        back = self._offset - offset
        self._offset = offset
        return back if back > self._TOLERANCE_SECONDS else 0.0
