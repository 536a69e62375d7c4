"""Follow a job or the whole queue: poll it on each event, or read the events themselves.

For polling, an event is only a signal; the displayed data is always a fresh response. So a missed
event or a broken stream delays an update by `POLL_SECONDS` at most. Where the events themselves are
wanted, a broken stream is resumed after the last event received.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, suppress
from typing import Any, Final

from fairlane.cli.api_client import ApiClient
from fairlane.cli.exit_codes import UNAVAILABLE, ApiProblem, Unreachable
from fairlane.cli.paths import job_path
from fairlane.core.lifecycle import FINAL
from fairlane.errors import StoreError

PAUSE_SECONDS: Final = 0.1  # the shortest time between two polls
POLL_SECONDS: Final = 2.0  # poll without an event, in case one was missed
RECONNECT_SECONDS: Final = 1.0  # the wait before a broken stream is opened again
GIVE_UP_SECONDS: Final = 30.0  # the longest wait for a server that does not answer


async def poll_on_events(
    client: ApiClient, poll: Callable[[], Awaitable[Any]], **filters: str
) -> AsyncGenerator[Any, None]:
    """Poll at once and after each event, and yield each result that differs from the last."""
    loop, event_arrived = asyncio.get_running_loop(), asyncio.Event()
    listening = asyncio.create_task(_set_on_events(client, event_arrived, filters))
    last: Any = None
    lost_at: float | None = None
    try:
        while True:
            event_arrived.clear()
            try:
                current = await poll()
            except (Unreachable, StoreError):
                lost_at = loop.time() if lost_at is None else lost_at
                if last is None or loop.time() - lost_at > GIVE_UP_SECONDS:
                    raise
                current = last
            else:
                lost_at = None
            if current != last:
                last = current
                yield current
            await asyncio.sleep(PAUSE_SECONDS)
            with suppress(TimeoutError):
                async with asyncio.timeout(POLL_SECONDS):
                    await event_arrived.wait()
    finally:
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)


async def _set_on_events(
    client: ApiClient, event_arrived: asyncio.Event, filters: dict[str, str]
) -> None:
    while True:
        with suppress(Unreachable, StoreError, ApiProblem):
            async for _ in client.events(**filters):
                event_arrived.set()
        await asyncio.sleep(RECONNECT_SECONDS)


async def events_after(
    client: ApiClient, seq: int, **filters: str
) -> AsyncGenerator[dict[str, Any], None]:
    """Yield each event above `seq` once, also if the server restarts meanwhile."""
    while True:
        try:
            async with aclosing(client.events(seq, **filters)) as events:
                async for event in events:
                    seq = event["seq"]
                    yield event
        except (Unreachable, StoreError):
            pass
        except ApiProblem as error:
            if error.exit_code != UNAVAILABLE:
                raise
        await asyncio.sleep(RECONNECT_SECONDS)
        await _wait_until_reachable(client)


async def _wait_until_reachable(client: ApiClient) -> None:
    """Wait until the queue answers; raise its error after `GIVE_UP_SECONDS`."""
    loop = asyncio.get_running_loop()
    give_up_at = loop.time() + GIVE_UP_SECONDS
    while True:
        try:
            await client.get("/healthz")
        except (Unreachable, StoreError, ApiProblem):
            if loop.time() > give_up_at:
                raise
            await asyncio.sleep(RECONNECT_SECONDS)
        else:
            return


async def fetch_newest_seq(client: ApiClient) -> int:
    """Return the number of the newest event."""
    return int((await client.get("/api/state"))["seq"])


async def follow_job(client: ApiClient, job: str) -> AsyncGenerator[dict[str, Any], None]:
    """Yield a job each time it changes, until it has ended."""
    async for view in poll_on_events(client, lambda: client.get(job_path(job)), job=job):
        yield view
        if view["state"] in FINAL:
            return
