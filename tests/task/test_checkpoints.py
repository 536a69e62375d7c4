"""Checkpoints: values that a job stores for its next attempt and for the next job of its lane."""

from typing import Any, Literal

import pytest

from fairlane import Context, Fairlane, JobCancelled, JobFailed, Retry
from fairlane.testing import running
from tests.support.apps import Doors, checkpoint_of


async def test_start_begins_afresh_and_continue_goes_on_from_the_last_job(app: Fairlane) -> None:
    @app.task(lane="a")
    async def work(ctx: Context) -> int:
        ctx.checkpoint["cursor"] = ctx.checkpoint.get("cursor", 0) + 10
        return int(ctx.checkpoint["cursor"])

    async def ran(kind: Literal["start", "continue"]) -> int:
        return await (await work.options(kind=kind).submit()).wait()

    async with running(app):
        assert [await ran("continue"), await ran("continue"), await ran("start")] == [10, 20, 10]
        assert await checkpoint_of(app, "default", "a") == {"cursor": 10}


async def test_a_retry_sees_the_jobs_own_checkpoint(app: Fairlane) -> None:
    seen: list[Any] = []

    @app.task(lane="a", retry=Retry(times=1, first_seconds=5))
    async def work(ctx: Context) -> None:
        seen.append(ctx.checkpoint.get("cursor"))
        ctx.checkpoint["cursor"] = 3
        if ctx.attempt == 1:
            raise TimeoutError

    async with running(app) as world:
        job = await work.submit()
        await world.idle()
        assert await checkpoint_of_nobody(app)
        await world.advance(5)
        await job.wait()

    assert seen == [None, 3]


async def checkpoint_of_nobody(app: Fairlane) -> bool:
    """Whether no lane has a checkpoint yet: a lane gets one only when its job ends."""
    return all(not view.checkpoint for view in await app.lanes.list())


async def test_a_retry_by_hand_sees_the_jobs_own_checkpoint(app: Fairlane) -> None:
    seen: list[Any] = []

    @app.task(lane="a")
    async def work(ctx: Context) -> None:
        seen.append(ctx.checkpoint.get("cursor"))
        ctx.checkpoint["cursor"] = 3
        if len(seen) == 1:
            raise ValueError("no")

    async with running(app):
        job = await work.submit()
        with pytest.raises(JobFailed):
            await job.wait()
        await job.retry()
        await job.wait()

    assert seen == [None, 3]


async def test_the_checkpoint_of_a_failed_job_is_the_lanes(app: Fairlane) -> None:
    @app.task(lane="a")
    async def work(ctx: Context) -> None:
        ctx.checkpoint["cursor"] = 3
        raise ValueError("no")

    async with running(app):
        await app.jobs.wait((await work.submit()).id)

        assert await checkpoint_of(app, "default", "a") == {"cursor": 3}


@pytest.mark.parametrize(("outputs", "left"), [("keep", {"cursor": 2}), ("delete", {"cursor": 1})])
async def test_delete_on_cancel_puts_back_the_lanes_checkpoint_from_before_the_run(
    app: Fairlane, doors: Doors, outputs: Literal["keep", "delete"], left: dict[str, int]
) -> None:
    @app.task(lane="a")
    async def work(ctx: Context, cursor: int) -> None:
        ctx.checkpoint["cursor"] = cursor
        if cursor == 2:
            await doors.wait("a")

    async with running(app):
        await (await work.submit(1)).wait()
        job = await work.options(kind="continue").submit(2)
        await doors.reached("a")
        await job.cancel(outputs=outputs)
        with pytest.raises(JobCancelled):
            await job.wait()

        assert await checkpoint_of(app, "default", "a") == left


async def test_a_retry_after_delete_on_cancel_begins_at_the_restored_checkpoint(
    app: Fairlane, doors: Doors
) -> None:
    seen: list[Any] = []

    @app.task(lane="a")
    async def work(ctx: Context, cursor: int) -> None:
        seen.append(ctx.checkpoint.get("cursor"))
        ctx.checkpoint["cursor"] = cursor
        if cursor == 2:
            await doors.wait("a")

    async with running(app):
        await (await work.submit(1)).wait()
        job = await work.options(kind="continue").submit(2)
        await doors.reached("a")
        await job.cancel(outputs="delete")
        with pytest.raises(JobCancelled):
            await job.wait()
        await job.retry()
        doors.open("a")
        await job.wait()

    assert seen == [None, 1, 1]


@pytest.mark.parametrize("reports", [False, True])
async def test_a_continued_job_that_does_not_set_its_cursor_keeps_it(
    app: Fairlane, reports: bool
) -> None:
    @app.task(lane="a")
    async def first(ctx: Context) -> None:
        ctx.checkpoint["cursor"] = 1

    @app.task(lane="a")
    async def second(ctx: Context) -> None:
        if reports:
            ctx.report(downloaded=0)

    @app.task(lane="a")
    def third() -> None: ...

    async with running(app):
        await (await first.submit()).wait()
        await (await second.options(kind="continue").submit()).wait()
        await (await third.options(kind="continue").submit()).wait()

        assert await checkpoint_of(app, "default", "a") == {"cursor": 1}


async def test_what_is_no_json_cannot_be_remembered(app: Fairlane) -> None:
    @app.task
    async def work(ctx: Context) -> None:
        ctx.checkpoint["where"] = object()

    async with running(app):
        with pytest.raises(JobFailed, match="cannot be written as JSON"):
            await (await work.submit()).wait()
