"""Stages: reported, replaced by a fallback where they fail, and never run twice."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from fairlane import Context, Fairlane, Give, JobFailed, Retry, SyncContext
from fairlane.testing import FakeClock, running
from tests.support.apps import Doors, reaches


class Page(BaseModel):
    number: int


def broken(*args: Any) -> str:
    raise ValueError("no subtitles")


async def test_a_stage_is_reported_with_status_progress_message_and_times(
    app: Fairlane, doors: Doors
) -> None:
    @app.task(stages=["listing", "saving", "tidying"])
    async def work(ctx: Context) -> None:
        async with ctx.stage("listing"):
            pass
        async with ctx.stage("saving") as stage:
            stage.progress(50, "page 2 of 4")
            await doors.wait("saving")
        ctx.stage("tidying").skip("nothing to tidy")

    async with running(app) as world:
        job = await work.submit()
        await doors.reached("saving")
        await world.app._engine.settled()
        during = await job.show()
        doors.open("saving")
        await job.wait()
        after = await job.show()

    listing, saving, tidying = during.stages
    assert [s.status for s in during.stages] == ["done", "running", "pending"]
    assert [s.percent for s in during.stages] == [100, 50, 0]
    assert saving.message == "page 2 of 4"
    assert None not in (listing.started_at, listing.finished_at, saving.started_at)
    assert (saving.finished_at, tidying.started_at) == (None, None)
    assert during.progress.percent == 50
    assert [s.status for s in after.stages] == ["done", "done", "skipped"]
    assert after.stages[2].message == "nothing to tidy"
    assert after.progress.percent == 100


async def test_progress_that_a_job_sets_replaces_the_mean_of_its_stages(app: Fairlane) -> None:
    @app.task(stages=["a", "b"])
    async def work(ctx: Context) -> None:
        ctx.progress(150, "nearly")

    async with running(app):
        job = await work.submit()
        await job.wait()
        progress = (await job.show()).progress

    assert (progress.percent, progress.message) == (100, "nearly")


async def test_a_stage_that_raises_is_reported_as_an_error(app: Fairlane) -> None:
    @app.task
    async def shown(ctx: Context) -> None:
        async with ctx.stage("saving"):
            raise ValueError("disk on fire")

    @app.task
    def ran(ctx: SyncContext) -> None:
        ctx.stage("saving").run(broken)

    async with running(app):
        views = [await app.jobs.wait((await task.submit()).id) for task in (shown, ran)]

    shown_stages = [(view.stages[0].status, view.stages[0].message) for view in views]
    assert shown_stages == [("error", "disk on fire"), ("error", "no subtitles")]


async def test_a_stage_of_a_cancelled_job_does_not_stay_running(
    app: Fairlane, doors: Doors
) -> None:
    @app.task
    async def work(ctx: Context) -> None:
        await ctx.stage("saving").run(doors.wait, "a")

    async with running(app):
        job = await work.submit()
        await doors.reached("a")
        await job.cancel()
        stage = (await app.jobs.wait(job.id)).stages[0]

    assert (stage.status, stage.message) == ("error", "stopped")
    assert stage.finished_at is not None


async def test_a_stage_that_has_completed_is_not_run_again_when_the_job_is_retried(
    app: Fairlane,
) -> None:
    runs: list[str] = []

    def parse(url: str) -> Page:
        runs.append("parse")
        return Page(number=7)

    def save(page: Page) -> int:
        runs.append("save")
        if runs.count("save") < 3:
            raise TimeoutError
        return page.number

    @app.task(retry=Retry(times=1, first_seconds=5))
    async def work(ctx: Context) -> int:
        page = await ctx.stage("parsing").run(parse, "https://a")
        return int(await ctx.stage("saving").run(save, page))

    async with running(app) as world:
        job = await work.submit()
        await world.idle()
        await world.advance(5)  # the retry of the engine
        await reaches(job, "failed")
        await job.retry()  # and one by hand

        assert await job.wait() == 7
    assert runs == ["parse", "save", "save", "save"]


async def test_a_stage_that_has_completed_is_not_run_again_after_a_restart(tmp_path: Path) -> None:
    runs: list[str] = []
    doors = Doors()

    def parse() -> str:
        runs.append("parse")
        return "page"

    def made() -> Fairlane:
        clock = FakeClock()
        app = Fairlane(f"sqlite:///{tmp_path}/work.db", clock=clock, stop_grace_seconds=0)

        @app.task(name="work")
        async def work(ctx: Context) -> str:
            page = await ctx.stage("parsing").run(parse)
            await doors.wait("saving")
            return str(page)

        return app

    first = made()
    async with running(first):
        job = await first.tasks["work"].submit()
        await doors.reached("saving")
    doors.open("saving")
    second = made()
    async with running(second):
        view = await second.jobs.wait(job.id)

    assert (view.state, view.result) == ("completed", "page")
    assert runs == ["parse"]


async def test_a_stage_may_fail_into_another(app: Fairlane) -> None:
    def recognise(url: str) -> str:
        return f"speech of {url}"

    @app.task
    async def work(ctx: Context) -> str:
        return str(await ctx.stage("text").run(broken, "a", fallback=recognise))

    async with running(app):
        job = await work.submit()
        assert await job.wait() == "speech of a"
        stage = (await job.show()).stages[0]

    assert (stage.status, stage.message) == ("done", "fallback after: no subtitles")


async def test_a_stage_may_fail_into_a_smaller_variant_and_then_be_skipped(app: Fairlane) -> None:
    tried: list[str] = []

    def large() -> str:
        tried.append("large")
        raise MemoryError("large")

    def small() -> str:
        tried.append("small")
        raise MemoryError("small")

    @app.task
    def work(ctx: SyncContext) -> list[str]:
        left = ctx.stage("speech").run(large, fallback=[small, Give(["subtitles"])])
        return list(left)

    async with running(app):
        job = await work.submit()
        assert await job.wait() == ["subtitles"]
        stage = (await job.show()).stages[0]

    assert tried == ["large", "small"]
    assert (stage.status, stage.message) == ("skipped", "skipped after: small")


async def test_when_no_fallback_works_the_last_error_is_the_stages(app: Fairlane) -> None:
    def also_broken() -> str:
        raise LookupError("no speech either")

    @app.task
    async def work(ctx: Context) -> None:
        await ctx.stage("text").run(broken, fallback=also_broken)

    async with running(app):
        with pytest.raises(JobFailed, match="no speech either"):
            await (await work.submit()).wait()


async def test_the_result_of_a_fallback_is_stored_too(app: Fairlane) -> None:
    runs: list[str] = []

    def recognise() -> str:
        runs.append("speech")
        return "speech"

    @app.task
    async def work(ctx: Context) -> str:
        text = await ctx.stage("text").run(broken, fallback=recognise)
        if ctx.attempt == 1:
            raise ValueError("no")
        return str(text)

    async with running(app):
        job = await work.submit()
        await reaches(job, "failed")
        await job.retry()
        assert await job.wait() == "speech"

    assert runs == ["speech"]


async def test_stages_side_by_side_keep_their_results_apart(app: Fairlane) -> None:
    def double(number: int) -> int:
        return number * 2

    @app.task
    async def work(ctx: Context) -> list[int]:
        pages = [ctx.stage(f"page-{number}").run(double, number) for number in range(5)]
        return list(await asyncio.gather(*pages))

    async with running(app):
        assert await (await work.submit()).wait() == [0, 2, 4, 6, 8]


async def test_a_stage_is_run_only_once_by_an_attempt(app: Fairlane) -> None:
    @app.task
    async def work(ctx: Context) -> None:
        await ctx.stage("page").run(len, "a")
        await ctx.stage("page").run(len, "b")

    async with running(app):
        with pytest.raises(JobFailed, match="give each stage another"):
            await (await work.submit()).wait()


async def test_a_stage_returns_the_same_type_the_first_time_and_from_its_stored_result(
    app: Fairlane,
) -> None:
    def parse() -> Page:
        return Page(number=7)

    @app.task
    async def work(ctx: Context) -> str:
        page = await ctx.stage("parsing").run(parse)
        if ctx.attempt == 1:
            raise ValueError(type(page).__name__)
        return type(page).__name__

    async with running(app):
        job = await work.submit()
        with pytest.raises(JobFailed, match="Page"):
            await job.wait()
        await job.retry()
        assert await job.wait() == "Page"


async def test_a_stage_with_a_limit_is_not_run_again_by_the_next_attempt(app: Fairlane) -> None:
    app.limit("host", starts=9, per_seconds=1)
    runs: list[int] = []

    @app.task(retry=Retry(times=1, first_seconds=0))
    async def work(ctx: Context) -> int:
        await ctx.stage("loading").run(runs.append, ctx.attempt, limits=["host"])
        if ctx.attempt == 1:
            raise ConnectionError("lost after the stage")
        return len(runs)

    async with running(app):
        assert await (await work.submit()).wait() == 1
