"""How late an event loop comes round: what everything on it has to wait for besides itself."""

import asyncio
from typing import Final

from fairlane.engine.tally import Spread

LOOK_SECONDS: Final = 0.25


async def watch(lag: Spread) -> None:
    """Look again and again by how much a short sleep on this loop was too long."""
    loop = asyncio.get_running_loop()
    while True:
        due_at = loop.time() + LOOK_SECONDS
        await asyncio.sleep(LOOK_SECONDS)
        lag.add(max(0.0, loop.time() - due_at))
