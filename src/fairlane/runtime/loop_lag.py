"""How late an event loop comes round: what everything on it has to wait for besides itself."""

import asyncio

from fairlane.runtime.counters import Histogram


async def measure_lag(lag: Histogram, seconds: float) -> None:
    """Look again and again by how much a short sleep on this loop was too long."""
    loop = asyncio.get_running_loop()
    while True:
        due_at = loop.time() + seconds
        await asyncio.sleep(seconds)
        lag.add(max(0.0, loop.time() - due_at))
