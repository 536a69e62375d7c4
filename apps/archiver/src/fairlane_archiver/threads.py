"""Work on files, which may block, away from the event loop and always to its end."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

T = TypeVar("T")


async def in_thread(function: Callable[..., T], *args: Any, **named: Any) -> T:
    """Run a function in a thread; a cancellation meanwhile is raised once it has returned.

    Otherwise a file could still be put in its place after everything seems to have stopped.
    """
    loop = asyncio.get_running_loop()
    running = loop.run_in_executor(None, partial(function, *args, **named))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait([running])
        if not running.cancelled() and running.exception() is not None:
            running.exception()  # seen; the cancellation counts more
        raise
