"""Wait for a condition that another task, thread or process fulfils."""

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar, overload

PAUSE_SECONDS: Final = 0.005

Found = TypeVar("Found")


@overload
async def eventually(
    probe: Callable[[], Awaitable[Found]], *, within_seconds: float = 20.0, what: str = ""
) -> Found: ...
@overload
async def eventually(
    probe: Callable[[], Found], *, within_seconds: float = 20.0, what: str = ""
) -> Found: ...
async def eventually(
    probe: Callable[[], Any], *, within_seconds: float = 20.0, what: str = ""
) -> Any:
    """Ask `probe` until it answers something true and return that; fail after `within_seconds`.

    The bound is generous on purpose: it is there to end a broken test, not to measure a good one.
    """
    give_up_at = time.monotonic() + within_seconds
    while True:
        found = await _asked(probe)
        if found:
            return found
        if time.monotonic() > give_up_at:
            raise AssertionError(_message(what, found, within_seconds))
        await asyncio.sleep(PAUSE_SECONDS)


def eventually_sync(
    probe: Callable[[], Found],
    *,
    within_seconds: float = 20.0,
    what: str = "",
) -> Found:
    """Do the same without an event loop."""
    give_up_at = time.monotonic() + within_seconds
    while True:
        found = probe()
        if found:
            return found
        if time.monotonic() > give_up_at:
            raise AssertionError(_message(what, found, within_seconds))
        time.sleep(PAUSE_SECONDS)


async def _asked(probe: Callable[[], Any]) -> Any:
    answer = probe()
    if inspect.isawaitable(answer):
        return await answer
    return answer


def _message(what: str, last: object, within_seconds: float) -> str:
    return (
        f"{what or 'it'} did not happen within {within_seconds:g} s; the last answer was {last!r}"
    )
