"""A wall clock that is set back while the leader decides a batch."""

from typing import Any

import pytest

from fairlane import Fairlane, Permanent
from fairlane.testing import running


async def test_a_start_that_a_new_clock_decides_stays_in_its_rate_window(
    app: Fairlane, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[int] = []
    app.limit("api", starts=2, per_seconds=60)

    @app.task(limits=["api"])
    async def call(number: int) -> None:
        begun.append(number)
        if begun == [1]:
            raise Permanent("the first call fails")

    async with running(app) as world:
        failed = await call.submit(1)
        await world.advance(120)
        store = app._engine.store
        read = store.ended_jobs

        async def read_while_the_clock_is_set_back(ids: Any) -> Any:
            monkeypatch.undo()
            world.clock.set_back(80)
            return await read(ids)

        monkeypatch.setattr(store, "ended_jobs", read_while_the_clock_is_set_back)
        await failed.retry()
        await world.idle()
        for number in (2, 3):
            await call.submit(number)
        await world.idle()

        assert begun == [1, 1, 2]
        await world.advance(60)
    assert begun == [1, 1, 2, 3]
