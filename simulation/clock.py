"""The wall clock of a world, which faults can set, and the view of it in each process."""

import asyncio
from typing import Final

START: Final = 1_800_000_012.5  # not on a full minute: schedules fire there
_TOLERANCE_SECONDS: Final = 1.0


class WallClock:
    """The wall clock that all processes of a world share."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self.offset = START
        self.highest = START

    def now(self) -> float:
        return self.offset + self._loop.time()

    def jump(self, seconds: float) -> None:
        self.highest = self.reached()
        self.offset += seconds

    def reached(self) -> float:
        """Return the latest time that the clock has shown; a job due by then stays due."""
        return max(self.highest, self.now())


class ProcessClock:
    """The wall clock as one process reads it; the process notices jumps only while it runs."""

    jitter = True

    def __init__(self, wall: WallClock) -> None:
        self._wall = wall
        self._seen = wall.offset

    def now(self) -> float:
        return self._wall.now()

    def seconds_until(self, at: float) -> float | None:
        return max(0.0, at - self._wall.now())

    def jumped(self) -> float:
        back = self._seen - self._wall.offset
        self._seen = self._wall.offset
        return back if back > _TOLERANCE_SECONDS else 0.0
