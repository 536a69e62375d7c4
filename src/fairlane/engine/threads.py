"""Work that is awaited to its end, whatever happens to who awaits it.

A thread cannot be cancelled, and a clean-up must not be. Who stopped waiting for one would go on
while it still runs: its job would be reported as ended too early, and what it did to files would be
known to nobody.
"""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor
from typing import TypeVar

T = TypeVar("T")


async def in_thread(
    function: Callable[..., T], *args: object, threads: Executor | None = None
) -> T:
    """Run a function in a thread; a cancellation meanwhile is raised once it has returned."""
    return await to_its_end(asyncio.get_running_loop().run_in_executor(threads, function, *args))


async def to_its_end(work: Awaitable[T], *, hurry: Callable[[], None] | None = None) -> T:
    """Await work even if this task is cancelled meanwhile, and be cancelled then.

    `hurry` is called at each such cancellation.
    """
    task = asyncio.ensure_future(work)
    cancellation: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            cancellation = error
            if hurry is not None:
                hurry()
    if cancellation is not None:
        task.exception()  # the cancellation is what counts, and this has been looked at
        raise cancellation
    return task.result()
