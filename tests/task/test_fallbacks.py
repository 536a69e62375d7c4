"""Fallbacks: they run with what their stage uses, or with resources and limits that they name."""

from typing import Any

import pytest

from fairlane import Context, Fairlane, Fallback, Job, JobFailed, Retry, SyncContext, UsageError
from fairlane.testing import running
from tests.support.apps import Doors
from tests.support.eventually import eventually


def broken(*_: Any) -> None:
    raise ValueError("no subtitles")


async def wait_for_stages(app: Fairlane, count: int) -> None:
    """Return when the leader lets this number of stages wait."""
    board = app._engine.leader.scheduler.board
    await eventually(lambda: len(board.waiting_stages) == count, what=f"{count} waiting stages")


async def test_a_fallback_runs_with_what_its_stage_uses(app: Fairlane, doors: Doors) -> None:
    app.resource("gpu", 1)

    @app.task
    async def work(ctx: Context, name: str) -> None:
        await ctx.stage("asr").run(broken, name, fallback=[broken, doors.wait], uses={"gpu": 1})

    async with running(app):
        jobs = [await work.submit(name) for name in "abc"]
        await doors.crowd(1)
        await wait_for_stages(app, 2)
        doors.open("a", "b", "c")
        for job in jobs:
            await job.wait()

    assert len(doors.arrived) == 3
    assert doors.most_inside == 1


async def test_a_stage_holds_its_resources_during_its_backoff(app: Fairlane) -> None:
    app.resource("gpu", 1)
    seen: list[str] = []

    def load(name: str) -> None:
        seen.append(name)
        if seen.count(name) == 1:
            raise ConnectionError("lost")

    @app.task
    def work(ctx: SyncContext, name: str) -> None:
        retry = Retry(times=1, first_seconds=0.05)
        ctx.stage("asr").run(load, name, uses={"gpu": 1}, retry=retry)

    async with running(app):
        for job in [await work.submit(name) for name in "ab"]:
            await job.wait()

    assert seen in (["a", "a", "b", "b"], ["b", "b", "a", "a"])


async def test_a_fallback_may_name_its_own_uses_and_limits(app: Fairlane, doors: Doors) -> None:
    app.resource("gpu", 1)
    app.resource("cpu", 1)
    app.limit("host", starts=2, per_seconds=60)

    @app.task
    async def smaller(ctx: Context, name: str) -> None:
        fallback = Fallback(doors.wait, uses={"cpu": 1}, limits=["host"])
        await ctx.stage("asr").run(broken, name, fallback=fallback, uses={"gpu": 1})

    @app.task(uses={"gpu": 1})
    async def larger() -> str:
        return "the gpu is free"

    async with running(app) as world:
        jobs: list[Job[Any]] = [await smaller.submit(name) for name in "abc"]
        await doors.crowd(1)
        await wait_for_stages(app, 2)  # the others have broken, too, and want the cpu

        assert await (await larger.submit()).wait() == "the gpu is free"
        doors.open("a", "b", "c")
        await eventually(lambda: len(doors.arrived) == 2, what="the second fallback")
        await wait_for_stages(app, 1)  # for the limit
        await world.advance(60)
        for job in jobs:
            await job.wait()

    assert len(doors.arrived) == 3
    assert doors.most_inside == 1


async def test_a_fallback_that_uses_nothing_frees_the_resources_of_its_stage(
    app: Fairlane, doors: Doors
) -> None:
    app.resource("gpu", 1)

    @app.task
    async def work(ctx: Context, name: str) -> None:
        fallback = Fallback(doors.wait, uses={})
        await ctx.stage("asr").run(broken, name, fallback=fallback, uses={"gpu": 1})

    async with running(app):
        jobs = [await work.submit(name) for name in "ab"]
        await doors.reached("a", "b")
        doors.open("a", "b")
        for job in jobs:
            await job.wait()


async def test_a_wrong_need_of_a_fallback_is_an_error_before_the_stage_runs(app: Fairlane) -> None:
    ran: list[str] = []

    @app.task
    async def work(ctx: Context) -> None:
        fallback = Fallback(broken, uses={"gpu": 0})
        await ctx.stage("asr").run(ran.append, "asr", fallback=fallback)

    with pytest.raises(UsageError, match="must be a function"):
        Fallback("asr")  # type: ignore[arg-type]
    async with running(app):
        with pytest.raises(JobFailed, match='uses 0 of "gpu"'):
            await (await work.submit()).wait()
    assert ran == []
