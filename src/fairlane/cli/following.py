"""A job, or everything, looked at again whenever something has happened to it.

Events only say that it is time to look; what is shown is always what the queue answers. So nothing
depends on having heard every event, and a stream that breaks costs a moment at most.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress
from typing import Any, Final

from fairlane.cli.endings import Refused, Unreachable
from fairlane.cli.steering import Steering
from fairlane.errors import StoreError

FINAL: Final = frozenset({"completed", "failed", "cancelled", "skipped"})
PAUSE_SECONDS: Final = 0.1  # between two looks, however much happens
LOOK_SECONDS: Final = 2.0  # a look without any event, in case one was missed
PATIENCE_SECONDS: Final = 30.0  # for a server that does not answer


async def looks(
    steering: Steering, look: Callable[[], Awaitable[Any]], **narrowed: str
) -> AsyncGenerator[Any, None]:
    """Give what a look sees, first at once and then each time that it has changed."""
    loop, happened = asyncio.get_running_loop(), asyncio.Event()
    listening = asyncio.create_task(_listen(steering, happened, narrowed))
    seen: Any = None
    lost_at: float | None = None
    try:
        while True:
            happened.clear()
            try:
                now = await look()
            except (Unreachable, StoreError):
                lost_at = loop.time() if lost_at is None else lost_at
                if seen is None or loop.time() - lost_at > PATIENCE_SECONDS:
                    raise
                now = seen
            else:
                lost_at = None
            if now != seen:
                seen = now
                yield now
            await asyncio.sleep(PAUSE_SECONDS)
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS):
                    await happened.wait()
    finally:
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)


async def _listen(steering: Steering, happened: asyncio.Event, narrowed: dict[str, str]) -> None:
    while True:
        with suppress(Unreachable, StoreError, Refused):
            async for _ in steering.events(**narrowed):
                happened.set()
        await asyncio.sleep(1.0)


async def job_views(steering: Steering, job: str) -> AsyncGenerator[dict[str, Any], None]:
    """Give a job each time that it has changed, the last time when it has ended."""
    async for view in looks(steering, lambda: steering.get(f"/api/jobs/{job}"), job=job):
        yield view
        if view["state"] in FINAL:
            return
