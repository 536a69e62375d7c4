"""Run blocking file operations in a thread, and always wait for their end."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

T = TypeVar("T")


async def in_thread(function: Callable[..., T], *args: Any, **named: Any) -> T:
    """Run a function in a thread; a cancellation is raised only after it has returned.

    Otherwise a file could still be placed after the run seems to have stopped.
    """
    loop = asyncio.get_running_loop()
    running = loop.run_in_executor(None, partial(function, *args, **named))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait([running])
        if not running.cancelled() and running.exception() is not None:
            running.exception()  # retrieved; the cancellation takes precedence
        raise
