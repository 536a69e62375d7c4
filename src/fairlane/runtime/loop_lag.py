"""The lag of an event loop: the delay of every callback on it."""

import asyncio

from fairlane.runtime.counters import Histogram


async def measure_lag(lag: Histogram, seconds: float) -> None:
    """Measure repeatedly by how much a short sleep on this loop is too long."""
    loop = asyncio.get_running_loop()
    while True:
        due_at = loop.time() + seconds
        await asyncio.sleep(seconds)
        lag.add(max(0.0, loop.time() - due_at))
