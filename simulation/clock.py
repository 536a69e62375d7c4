"""The wall clock of a world, which troubles may set, as each process sees it."""

import asyncio
from typing import Final

START: Final = 1_800_000_012.5  # not on a full minute: schedules fire there
_TOLERANCE_SECONDS: Final = 1.0


class WallClock:
    """One for the whole machine."""

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
        """Return the latest time it has ever shown: what was due then stays due."""
        return max(self.highest, self.now())


class ProcessClock:
    """What one process knows of it: it notices a jump only while it lives."""

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
