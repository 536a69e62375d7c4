"""A clock for the demo, which gives it a history at the start."""

import asyncio
import random
import time
from contextvars import ContextVar


class CatchingUp:
    """A clock that begins in the past and runs fast until it meets the real time."""

    jitter = True

    def __init__(self) -> None:
        self._meets_at = 0.0
        self._pace = 1.0
        self._woken_at: ContextVar[float] = ContextVar("woken_at")  # of each task

    def begin(self, *, past_seconds: float, within_seconds: float) -> None:
        self._meets_at = time.time() + within_seconds
        self._pace = (past_seconds + within_seconds) / within_seconds

    def now(self) -> float:
        left = self._meets_at - time.time()
        return self._meets_at - (left if left < 0 else left * self._pace)

    def seconds_until(self, at: float) -> float:
        if at < self._meets_at:
            at = self._meets_at - (self._meets_at - at) / self._pace
        return max(0.0, at - time.time())

    def jumped(self) -> float:
        return 0.0

    async def nap(self, shortest: float, longest: float | None = None) -> None:
        """Sleep for a number of seconds of this clock, random between the two arguments.

        A fast second is so short that every sleep is too long; the next sleep compensates.
        """
        seconds = random.uniform(shortest, shortest if longest is None else longest)
        until = max(self._woken_at.get(0.0), self.now() - self._pace * 0.01) + seconds
        self._woken_at.set(until)
        await asyncio.sleep(self.seconds_until(until))

    async def meet(self) -> None:
        await asyncio.sleep(self.seconds_until(self._meets_at))
        self._pace = 1.0
