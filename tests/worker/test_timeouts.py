"""Timeouts: of a whole job, of a stage, and of a job without progress."""

import asyncio
import threading
from pathlib import Path

import pytest

from fairlane import Context, Fairlane, Give, JobFailed, Retry, SyncContext
from fairlane.testing import running
from tests.support import apps_isolated, apps_slow_import
from tests.support.apps import Doors


async def error_of(app: Fairlane, id: str) -> tuple[str, str, bool]:
    view = await app.jobs.wait(id)
    assert view.error is not None
    return view.error.code, view.error.message, view.error.retryable


async def test_a_job_that_takes_too_long_as_a_whole_fails(app: Fairlane, doors: Doors) -> None:
    @app.task(timeout_seconds=0.05)
    async def work() -> None:
        await doors.wait("never")

    async with running(app):
        job = await work.submit()

        assert await error_of(app, job.id) == ("timeout", "took longer than 0.05 s", True)


async def test_a_job_that_timed_out_is_tried_again_if_it_asks_for_it(
    app: Fairlane, doors: Doors
) -> None:
    @app.task(timeout_seconds=0.05, retry=Retry(times=1, first_seconds=5))
    async def work(ctx: Context) -> int:
        if ctx.attempt == 1:
            await doors.wait("never")
        return ctx.attempt

    async with running(app) as world:
        job = await work.submit()
        await world.idle()
        await world.advance(5)

        assert await job.wait() == 2


async def test_a_job_without_any_progress_fails(app: Fairlane, doors: Doors) -> None:
    @app.task(stall_seconds=0.05)
    async def work(ctx: Context) -> None:
        ctx.progress(10)
        await doors.wait("never")

    async with running(app):
        job = await work.submit()

        assert await error_of(app, job.id) == ("stall", "no progress for 0.05 s", True)


async def test_a_job_that_shows_progress_does_not_stall(app: Fairlane) -> None:
    @app.task(stall_seconds=0.5)
    async def work(ctx: Context) -> str:
        loop = asyncio.get_running_loop()
        enough_at = loop.time() + 0.6
        while loop.time() < enough_at:
            ctx.progress(50)
            await asyncio.sleep(0)
        return "done"

    async with running(app):
        assert await (await work.submit()).wait() == "done"


async def test_the_start_of_a_child_process_is_not_a_lack_of_progress(app: Fairlane) -> None:
    work = app.task(isolation="process", stall_seconds=0.5)(apps_slow_import.returns_at_once)
    async with running(app):
        assert await (await work.submit()).wait() == "done"


async def test_a_child_process_without_any_progress_fails(app: Fairlane, tmp_path: Path) -> None:
    work = app.task(isolation="process", stall_seconds=0.2)(apps_isolated.stops_when_asked)
    async with running(app):
        job = await work.submit(str(tmp_path / "pid"))

        assert await error_of(app, job.id) == ("stall", "no progress for 0.2 s", True)
        assert (tmp_path / "pid").exists()


async def test_a_stage_that_takes_too_long_fails_and_may_be_tried_again(
    app: Fairlane, doors: Doors
) -> None:
    tries: list[str] = []

    async def parse() -> str:
        tries.append("parse")
        if len(tries) == 1:
            await doors.wait("never")
        return "parsed"

    @app.task
    async def fails(ctx: Context) -> None:
        await ctx.stage("parsing").run(doors.wait, "never", timeout_seconds=0.05)

    @app.task
    async def again(ctx: Context) -> str:
        retry = Retry(times=1, first_seconds=0, on=("stage_timeout",))
        return str(await ctx.stage("parsing").run(parse, timeout_seconds=0.05, retry=retry))

    @app.task
    async def falls_back(ctx: Context) -> str:
        stage = ctx.stage("parsing")
        return str(await stage.run(doors.wait, "never", timeout_seconds=0.05, fallback=Give("x")))

    async with running(app):
        failed = await fails.submit()
        assert await error_of(app, failed.id) == (
            "stage_timeout", 'stage "parsing" took longer than 0.05 s', True,
        )  # fmt: skip
        assert await (await again.submit()).wait() == "parsed"
        assert await (await falls_back.submit()).wait() == "x"


async def test_a_timeout_error_of_the_function_is_not_the_timeout_of_its_stage(
    app: Fairlane,
) -> None:
    async def parse() -> None:
        raise TimeoutError("the host did not answer")

    @app.task
    async def work(ctx: Context) -> None:
        await ctx.stage("parsing").run(parse, timeout_seconds=20)

    async with running(app):
        with pytest.raises(JobFailed, match="the host did not answer"):
            await (await work.submit()).wait()


async def test_a_thread_past_its_timeout_is_requested_to_stop_and_fails_when_it_returns(
    app: Fairlane,
) -> None:
    asked = threading.Event()

    @app.task(timeout_seconds=0.05)
    def work(ctx: SyncContext) -> str:
        while not ctx.stopping:
            asked.wait(0.001)
        return "late"

    async with running(app):
        job = await work.submit()

        assert (await error_of(app, job.id))[0] == "timeout"


async def test_a_process_that_takes_too_long_is_killed_after_its_grace(
    app: Fairlane, tmp_path: Path
) -> None:
    work = app.task(isolation="process", timeout_seconds=0.05, grace_seconds=0.05)(
        apps_isolated.ignores_being_asked
    )
    async with running(app):
        job = await work.submit(str(tmp_path / "pid"))

        assert (await error_of(app, job.id))[0] == "timeout"


async def test_an_attempt_is_stopped_at_the_deadline_of_its_job_and_not_retried(
    app: Fairlane, doors: Doors
) -> None:
    retry = Retry(times=3, first_seconds=0, on=("deadline", "stage_timeout"))

    @app.task(deadline_seconds=0.3, retry=retry)
    async def work(ctx: Context) -> None:
        if ctx.attempt == 1:
            await ctx.stage("first").run(doors.wait, "never", timeout_seconds=0.01)
        await doors.wait("never")

    async with running(app):
        job = await work.submit()

        code, message, retryable = await error_of(app, job.id)
        assert (code, retryable) == ("deadline", False)
        assert message == "its attempts together took longer than its deadline_seconds"
        assert (await job.show()).attempt == 2


async def test_a_job_whose_deadline_has_passed_does_not_begin_again(app: Fairlane) -> None:
    attempts: list[int] = []
    app.queue("slow")

    @app.task(queue="slow", deadline_seconds=60, retry=Retry(times=3, first_seconds=30))
    async def work(ctx: Context) -> None:
        attempts.append(ctx.attempt)
        raise ConnectionError("lost")

    async with running(app) as world:
        job = await work.submit()
        await world.idle()
        await app.queues.pause("slow")
        await world.advance(100)

        assert (await error_of(app, job.id))[0] == "deadline"
        assert (await job.show()).attempt == 1
    assert attempts == [1]
