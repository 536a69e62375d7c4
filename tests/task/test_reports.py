"""Statistics, progress and log lines: stored soon, and with every change of state."""

import asyncio
from pathlib import Path

import pytest

from fairlane import Context, Fairlane, JobFailed, JobView, Retry, SyncContext
from fairlane.store.sqlite import SQLiteStore
from fairlane.testing import FakeClock, running
from tests.support.apps import Doors
from tests.support.eventually import eventually


async def test_progress_and_statistics_of_a_running_job_are_on_disk_soon(
    tmp_path: Path, doors: Doors
) -> None:
    app = Fairlane(f"sqlite:///{tmp_path}/work.db", clock=FakeClock(), stop_grace_seconds=0)

    @app.task
    async def work(ctx: Context) -> None:
        ctx.report(downloaded=12, rate="3 MB/s")
        ctx.progress(40, "page 2 of 5")
        await doors.wait("a")

    async with running(app):
        job = await work.submit()
        reader = SQLiteStore(tmp_path / "work.db")
        await reader.open()

        async def written() -> JobView | None:
            view = (await reader.jobs([job.id]))[job.id]
            return view if view.statistics else None

        view = await eventually(written)
        await reader.close()

    assert view is not None
    assert (view.state, view.statistics) == ("running", {"downloaded": 12, "rate": "3 MB/s"})
    assert (view.progress.percent, view.progress.message) == (40, "page 2 of 5")


async def test_what_was_reported_last_is_there_when_the_state_has_changed(app: Fairlane) -> None:
    @app.task(retry=Retry(times=1, first_seconds=5))
    async def work(ctx: Context) -> None:
        ctx.report(downloaded=ctx.attempt)
        if ctx.attempt == 1:
            raise TimeoutError

    async with running(app) as world:
        job = await work.submit()
        await world.idle()
        retrying = await job.show()
        await world.advance(5)
        completed = await job.show()

    assert (retrying.state, retrying.statistics) == ("retrying", {"downloaded": 1})
    assert (completed.state, completed.statistics) == ("completed", {"downloaded": 2})


@pytest.mark.parametrize(("declared", "percent"), [(["saving"], 0), ([], 60)])
async def test_an_attempt_with_declared_stages_does_not_seem_as_far_as_the_one_before_it(
    app: Fairlane, doors: Doors, declared: list[str], percent: float
) -> None:
    @app.task(retry=Retry(times=1, first_seconds=5), stages=declared)
    async def work(ctx: Context) -> None:
        if ctx.attempt == 1:
            async with ctx.stage("saving") as stage:
                stage.progress(40)
                ctx.progress(60, "block 14")
                raise TimeoutError
        await doors.wait("a")

    async with running(app) as world:
        job = await work.submit()
        await world.idle()
        assert (await job.show()).progress.percent == 60
        later = asyncio.create_task(world.advance(5))  # returns when no job runs any more
        await doors.reached("a")

        async def begun_anew() -> JobView | None:
            view = await job.show()
            return view if view.progress.message == "" else None

        view = await eventually(begun_anew)
        doors.open("a")
        await later

    assert view is not None
    assert [(stage.status, stage.percent) for stage in view.stages] == [("pending", 0)]
    assert (view.progress.percent, view.progress.message) == (percent, "")


async def test_statistics_of_earlier_attempts_stay_until_they_are_reported_again(
    app: Fairlane,
) -> None:
    @app.task(retry=Retry(times=1, first_seconds=5))
    async def work(ctx: Context) -> None:
        if ctx.attempt == 1:
            ctx.report(downloaded=5, page=1)
            raise TimeoutError
        ctx.report(page=2)

    async with running(app) as world:
        job = await work.submit()
        await world.idle()
        await world.advance(5)

        assert (await job.show()).statistics == {"downloaded": 5, "page": 2}


async def test_log_lines_are_stored_in_order_also_those_written_right_before_the_end(
    app: Fairlane,
) -> None:
    @app.task
    def work(ctx: SyncContext) -> None:
        ctx.log("listing")
        ctx.log("page 2 is empty", level="warning")
        ctx.log("done")

    async with running(app):
        job = await work.submit()
        await job.wait()
        lines = await job.log()
        last = await job.log(limit=1)

    assert [(line.level, line.message) for line in lines] == [
        ("info", "listing"),
        ("warning", "page 2 is empty"),
        ("info", "done"),
    ]
    assert [line.message for line in last] == ["done"]


@pytest.mark.parametrize(
    ("value", "problem"),
    [(object(), "cannot be written as JSON"), ("x" * 100_000, "the limit is 65,536")],
)
async def test_a_value_that_is_not_json_is_refused_where_it_is_reported(
    app: Fairlane, value: object, problem: str
) -> None:
    @app.task
    async def work(ctx: Context) -> None:
        ctx.report(downloaded=value)

    async with running(app):
        with pytest.raises(JobFailed, match=problem):
            await (await work.submit()).wait()


async def test_a_reported_value_does_not_change_with_its_original(app: Fairlane) -> None:
    @app.task(lane="x")
    async def work(ctx: Context) -> None:
        pages: list[object] = [1]
        ctx.report(pages=pages)
        ctx.checkpoint["pages"] = pages
        pages.append(object())

    async with running(app):
        job = await work.submit()
        await job.wait()

        assert (await job.show()).statistics == {"pages": [1]}
        assert (await app.lanes.list())[0].checkpoint == {"pages": [1]}


async def test_a_flood_of_log_lines_is_cut_with_a_word_about_it(app: Fairlane) -> None:
    @app.task
    async def work(ctx: Context) -> None:
        for number in range(5000):
            ctx.log(f"line {number}")

    async with running(app):
        job = await work.submit()
        await job.wait()
        lines = await job.log(limit=5000)

    assert len(lines) == 1001
    assert "dropped" in lines[-1].message


async def test_statistics_are_streamed_also_when_the_job_ends_right_after(app: Fairlane) -> None:
    @app.task
    async def work(ctx: Context) -> None:
        ctx.report(downloaded=12)
        ctx.log("saved")

    async with running(app):
        seq = (await app.snapshot()).seq
        job = await work.submit()
        seen = []
        async for event in app.events.follow(after=seq, job=job.id):
            seen.append((event.type, event.data.get("statistics") or event.data.get("state")))
            if event.data.get("state") == "completed":
                break

    assert seen == [
        ("job_state_changed", "queued"),
        ("job_state_changed", "running"),
        ("job_log", None),
        ("job_progress", {"downloaded": 12}),
        ("job_state_changed", "completed"),
    ]
