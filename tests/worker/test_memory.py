"""The memory of an attempt is free as soon as the attempt has ended."""

import gc

from fairlane import Context, Fairlane
from fairlane.testing import running
from fairlane.worker.attempt import Attempt


async def test_an_ended_attempt_is_freed_without_the_garbage_collector(app: Fairlane) -> None:
    @app.task
    async def plain() -> None:
        pass

    @app.task
    async def with_context(ctx: Context) -> None:
        ctx.progress(50)

    @app.task
    def in_a_thread() -> None:
        pass

    async with running(app) as world:
        gc.collect()
        gc.disable()  # a cycle of references would keep each attempt until the next collection
        try:
            for task in (plain, with_context, in_a_thread):
                await (await task.submit()).wait()
            await world.idle()
            attempts = [thing for thing in gc.get_objects() if isinstance(thing, Attempt)]
        finally:
            gc.enable()

    assert attempts == []
