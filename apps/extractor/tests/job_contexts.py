"""The context of a real job, for tests that call the functions of stages themselves."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fairlane import Context, Fairlane


@asynccontextmanager
async def job_context() -> AsyncIterator[Context]:
    """Run a job for the length of the block, and give its context."""
    app = Fairlane("memory://")
    given: asyncio.Future[Context] = asyncio.get_running_loop().create_future()
    finished = asyncio.Event()

    @app.task
    async def hold(ctx: Context) -> None:
        given.set_result(ctx)
        await finished.wait()

    async with app:
        job = await hold.submit()
        try:
            yield await given
        finally:
            finished.set()
            await job.wait()
