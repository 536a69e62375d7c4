"""A job, or everything, looked at again whenever something has happened to it; and events.

For a look, events only say that it is time; what is shown is always what the queue answers. So
nothing depends on having heard every event, and a stream that breaks costs a moment at most. Where
the events themselves are wanted, they are taken up again after the last that was heard.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, suppress
from typing import Any, Final

from fairlane.cli.exit_codes import UNAVAILABLE, Refused, Unreachable
from fairlane.cli.paths import job_path
from fairlane.cli.target import ApiClient
from fairlane.core.lifecycle import FINAL
from fairlane.errors import StoreError

PAUSE_SECONDS: Final = 0.1  # between two looks, however much happens
LOOK_SECONDS: Final = 2.0  # a look without any event, in case one was missed
AGAIN_SECONDS: Final = 1.0  # before a stream that broke is begun anew
PATIENCE_SECONDS: Final = 30.0  # for a server that does not answer


async def looks(
    steering: ApiClient, look: Callable[[], Awaitable[Any]], **narrowed: str
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


async def _listen(steering: ApiClient, happened: asyncio.Event, narrowed: dict[str, str]) -> None:
    while True:
        with suppress(Unreachable, StoreError, Refused):
            async for _ in steering.events(**narrowed):
                happened.set()
        await asyncio.sleep(AGAIN_SECONDS)


async def events_after(
    steering: ApiClient, seq: int, **narrowed: str
) -> AsyncGenerator[dict[str, Any], None]:
    """Give each event once, also when a server goes and comes back meanwhile."""
    while True:
        try:
            async with aclosing(steering.events(seq, **narrowed)) as events:
                async for event in events:
                    seq = event["seq"]
                    yield event
        except (Unreachable, StoreError):
            pass
        except Refused as error:
            if error.exit_code != UNAVAILABLE:
                raise
        await asyncio.sleep(AGAIN_SECONDS)
        await _answers(steering)


async def _answers(steering: ApiClient) -> None:
    """Wait until the queue answers, for as long as patience lasts."""
    loop = asyncio.get_running_loop()
    give_up_at = loop.time() + PATIENCE_SECONDS
    while True:
        try:
            await steering.get("/healthz")
        except (Unreachable, StoreError, Refused):
            if loop.time() > give_up_at:
                raise
            await asyncio.sleep(AGAIN_SECONDS)
        else:
            return


async def newest_event(steering: ApiClient) -> int:
    """Return the number after which everything is new."""
    return int((await steering.get("/api/state"))["seq"])


async def job_views(steering: ApiClient, job: str) -> AsyncGenerator[dict[str, Any], None]:
    """Give a job each time that it has changed, the last time when it has ended."""
    async for view in looks(steering, lambda: steering.get(job_path(job)), job=job):
        yield view
        if view["state"] in FINAL:
            return
