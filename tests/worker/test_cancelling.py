"""Cancelling jobs: waiting ones, and coroutines, threads and child processes that run."""

import asyncio
import contextlib
import threading
from pathlib import Path
from typing import Any, Literal

import pytest

from fairlane import (
    Context,
    Fairlane,
    IllegalTransition,
    Job,
    JobCancelled,
    JobView,
    Retry,
    SyncContext,
)
from fairlane.testing import FakeClock, running
from tests.support import apps_isolated
from tests.support.apps import Doors, reaches, states
from tests.support.eventually import eventually
from tests.support.programs_processes import all_gone, family, is_alive, script, survivors


async def stuck(job: Job[Any]) -> JobView:
    """Return the view of the job once it is reported as stuck."""

    async def told() -> JobView | None:
        view = await job.show()
        return view if view.waiting_for else None

    view = await eventually(told, what="the end of its grace")
    assert view is not None
    return view


async def cancelled(job: Job[Any], outputs: Literal["keep", "delete"] = "keep") -> None:
    await job.cancel(outputs=outputs)
    with pytest.raises(JobCancelled):
        await job.wait()


async def test_cancelling_a_queued_job_touches_no_other_job(app: Fairlane, doors: Doors) -> None:
    app.queue("default", max_concurrent=1)

    @app.task
    async def work(name: str) -> None:
        await doors.wait(name)

    async with running(app):
        jobs = await app.submit_many([work.call(name) for name in "abc"])
        await cancelled(jobs[1])
        assert await states(jobs) == ["running", "cancelled", "queued"]
        doors.open("a", "b", "c")
        await jobs[2].wait()

    assert doors.arrived == ["a", "c"]


async def test_a_running_coroutine_is_cancelled_where_it_stands(
    app: Fairlane, doors: Doors
) -> None:
    left: list[str] = []

    @app.task
    async def work(ctx: Context) -> None:
        try:
            await doors.wait("a")
        finally:
            left.append(f"stopping: {ctx.stopping}")

    async with running(app):
        job = await work.submit()
        await doors.reached("a")
        answer = await job.cancel()
        with pytest.raises(JobCancelled):
            await job.wait()

    assert answer == {"state": "running", "stopping": True}
    assert left == ["stopping: True"]


async def test_a_running_thread_counts_as_cancelled_even_when_it_returns_a_result(
    app: Fairlane,
) -> None:
    begun = threading.Event()

    @app.task
    def work(ctx: SyncContext) -> str:
        begun.set()
        while not ctx.stopping:
            begun.wait(0.001)
        return "half of it"

    async with running(app):
        job = await work.submit()
        await eventually(begun.is_set)
        await cancelled(job)

        assert (await job.show()).result is None


async def test_a_running_child_process_is_requested_to_stop(app: Fairlane, tmp_path: Path) -> None:
    work = app.task(isolation="process")(apps_isolated.stops_when_asked)
    place = tmp_path / "pid"
    async with running(app):
        job = await work.submit(str(place))
        await eventually(place.exists)
        await cancelled(job)


@pytest.mark.parametrize("kind", ["coroutine", "thread"])
async def test_no_new_work_starts_once_it_is_to_stop(app: Fairlane, kind: str) -> None:
    begun, go_on = threading.Event(), threading.Event()
    later: list[str] = []

    def first() -> None:
        begun.set()
        go_on.wait(20)

    @app.task
    async def coroutine(ctx: Context) -> None:
        await ctx.stage("first").run(first)
        await ctx.stage("second").run(later.append, "second")

    @app.task
    def thread(ctx: SyncContext) -> None:
        ctx.stage("first").run(first)
        ctx.stage("second").run(later.append, "second", fallback=later.append)

    async with running(app):
        job = await app.jobs.submit_by_name(kind, {})
        await eventually(begun.is_set)
        await job.cancel()
        assert (await job.show()).state == "running"  # its thread has not returned yet
        go_on.set()
        with pytest.raises(JobCancelled):
            await job.wait()

    assert later == []


@pytest.mark.parametrize(("outputs", "left"), [("keep", ["whole.mp4"]), ("delete", [])])
async def test_temporary_files_are_removed_and_published_ones_stay_or_are_deleted(
    app: Fairlane,
    doors: Doors,
    tmp_path: Path,
    outputs: Literal["keep", "delete"],
    left: list[str],
) -> None:
    folder = tmp_path / "videos"
    folder.mkdir()

    @app.task
    async def work(ctx: Context) -> None:
        async with ctx.output(folder / "whole.mp4") as path:
            path.write_text("whole")
        async with ctx.output(folder / "half.mp4") as path:
            path.write_text("half")
            await doors.wait("half")

    async with running(app):
        job = await work.submit()
        await doors.reached("half")
        assert len(list(folder.iterdir())) == 2
        await cancelled(job, outputs)

    assert [path.name for path in folder.iterdir()] == left


async def test_finished_files_of_a_job_that_waits_for_its_retry_are_deleted_too(
    app: Fairlane, tmp_path: Path
) -> None:
    @app.task(retry=Retry(times=1, first_seconds=60))
    async def work(ctx: Context) -> None:
        async with ctx.output(tmp_path / "whole.mp4") as path:
            path.write_text("whole")
        raise TimeoutError

    async with running(app) as world:
        job = await work.submit()
        await world.idle()
        await cancelled(job, "delete")
        await world.idle()

        assert not (tmp_path / "whole.mp4").exists()


async def test_delete_on_cancel_keeps_the_file_of_another_job_at_the_same_path(
    app: Fairlane, tmp_path: Path
) -> None:
    @app.task(retry=Retry(times=1, first_seconds=60))
    async def work(ctx: Context, fails: bool) -> None:
        async with ctx.output(tmp_path / "whole.mp4", on_exists="overwrite") as path:
            path.write_text("older" if fails else "younger")
        if fails:
            raise TimeoutError

    async with running(app) as world:
        older = await work.submit(True)
        await world.idle()
        await (await work.submit(False)).wait()
        await cancelled(older, "delete")
        await world.idle()

        assert (tmp_path / "whole.mp4").read_text() == "younger"


async def test_a_retry_does_not_replace_a_file_that_replaced_its_own(
    app: Fairlane, tmp_path: Path
) -> None:
    @app.task(retry=Retry(times=1, first_seconds=60))
    async def work(ctx: Context) -> None:
        async with ctx.output(tmp_path / "whole.mp4") as path:
            path.write_text(f"attempt {ctx.attempt}")
        if ctx.attempt == 1:
            raise TimeoutError

    async with running(app) as world:
        job = await work.submit()
        await world.idle()
        (tmp_path / "new").write_text("another program's")
        (tmp_path / "new").replace(tmp_path / "whole.mp4")
        await world.advance(60)
        await job.wait()

    assert (tmp_path / "whole.mp4").read_text() == "another program's"
    assert (tmp_path / "whole-1.mp4").read_text() == "attempt 2"


async def test_files_of_a_job_that_fails_before_it_hears_of_its_cancellation_are_deleted_too(
    app: Fairlane, tmp_path: Path
) -> None:
    asked: list[asyncio.Task[Any]] = []

    @app.task
    async def work(ctx: Context) -> None:
        async with ctx.output(tmp_path / "whole.mp4") as path:
            path.write_text("whole")
        asked.append(asyncio.create_task(app.jobs.handle(ctx.job.id).cancel(outputs="delete")))
        await asyncio.sleep(0)  # the leader has the request, and has not sent the stop yet
        raise ValueError("it fails by itself")

    async with running(app) as world:
        job = await work.submit()
        await world.idle()
        await asyncio.gather(*asked)

        assert (await job.show()).state == "cancelled"
        assert not (tmp_path / "whole.mp4").exists()


async def test_who_cancels_again_to_delete_has_it_deleted_however_far_the_first_has_come(
    app: Fairlane, doors: Doors, tmp_path: Path
) -> None:
    @app.task
    async def work(ctx: Context) -> None:
        async with ctx.output(tmp_path / "whole.mp4") as path:
            path.write_text("whole")
        try:
            await doors.wait("whole")
        except asyncio.CancelledError:
            # The stop was sent, and the job ends before a second one can be sent.
            again.append(asyncio.create_task(app.jobs.handle(ctx.job.id).cancel(outputs="delete")))
            await asyncio.sleep(0)
            raise

    again: list[asyncio.Task[Any]] = []
    async with running(app) as world:
        job = await work.submit()
        await doors.reached("whole")
        await cancelled(job, "keep")
        await asyncio.gather(*again)
        await world.idle()

        assert not (tmp_path / "whole.mp4").exists()


async def test_a_thread_past_its_grace_stays_running_and_keeps_its_lane_until_it_returns(
    app: Fairlane,
) -> None:
    begun, go_on = threading.Event(), threading.Event()

    @app.task(lane="x", grace_seconds=0.01)
    def work() -> None:
        begun.set()
        go_on.wait(20)

    async with running(app) as world:
        job = await work.submit()
        await eventually(begun.is_set)
        behind = await work.submit()
        await job.cancel()
        view = await stuck(job)
        await job.cancel(force=True)
        await world.app._engine.settled()
        assert await states([job, behind]) == ["running", "queued"]
        go_on.set()
        with pytest.raises(JobCancelled):
            await job.wait()
        await behind.wait()

    assert (view.state, view.stopping) == ("running", True)
    assert view.waiting_for[0].code == "stuck"
    assert "cannot be forced" in view.waiting_for[0].message


async def test_a_coroutine_that_ignores_its_cancellation_is_reported_as_stuck(
    app: Fairlane, doors: Doors
) -> None:
    @app.task(grace_seconds=0.01)
    async def work() -> None:
        try:
            await doors.wait("a")
        except asyncio.CancelledError:
            await doors.wait("b")

    async with running(app):
        job = await work.submit()
        await doors.reached("a")
        await job.cancel()
        assert (await stuck(job)).stopping
        doors.open("b")
        with pytest.raises(JobCancelled):
            await job.wait()


async def test_a_child_process_past_its_grace_is_reported_as_stuck_and_can_be_forced(
    app: Fairlane, tmp_path: Path
) -> None:
    work = app.task(isolation="process", grace_seconds=0.01)(apps_isolated.ignores_being_asked)
    place = tmp_path / "pid"
    async with running(app):
        job = await work.submit(str(place))
        await eventually(lambda: place.exists() and place.read_text())
        await job.cancel()
        view = await stuck(job)
        await job.cancel(force=True)
        with pytest.raises(JobCancelled):
            await job.wait()

    assert "force is possible, and may damage its output" in view.waiting_for[0].message
    assert not is_alive(int(place.read_text()))


async def test_a_process_that_is_cancelled_while_it_starts_never_runs_the_task(
    app: Fairlane, tmp_path: Path
) -> None:
    work = app.task(isolation="process")(apps_isolated.ignores_being_asked)
    place = tmp_path / "pid"
    async with running(app):
        job = await work.submit(str(place))
        await cancelled(job)

    assert not place.exists()


@pytest.mark.parametrize("kind", ["coroutine", "thread", "process"])
async def test_a_program_is_gone_with_all_its_descendants_when_its_job_has_ended(
    app: Fairlane, tmp_path: Path, kind: str
) -> None:
    folder = tmp_path / "family"
    folder.mkdir()

    @app.task
    async def coroutine(ctx: Context, folder: str) -> None:
        await ctx.run(script("programs_family.py", folder))

    app.task(name="thread")(apps_isolated.runs_a_family)
    app.task(name="process", isolation="process")(apps_isolated.runs_a_family)

    async with running(app):
        job = await app.jobs.submit_by_name(kind, {"folder": str(folder)})
        pids = await family(folder)
        await cancelled(job)
        left = survivors(pids)
        await all_gone(pids)

    assert left == []


async def test_a_job_ends_whenever_its_cancellation_comes(app: Fairlane, tmp_path: Path) -> None:
    @app.task
    async def work(ctx: Context, number: int) -> None:
        async with ctx.output(tmp_path / f"{number}.txt") as path:
            path.write_text("whole")

    async with running(app):
        jobs = await app.submit_many([work.call(number) for number in range(40)])
        for job in jobs:
            with contextlib.suppress(IllegalTransition):  # it ended before the cancellation
                await job.cancel(outputs="delete")
        await app.drain()
        ended = await states(jobs)

    assert set(ended) <= {"completed", "cancelled"}
    assert len(list(tmp_path.glob("*.txt"))) == ended.count("completed")
    assert not list(tmp_path.glob(".*.part*"))


async def test_a_stopping_engine_returns_its_running_jobs(tmp_path: Path, doors: Doors) -> None:
    def made() -> Fairlane:
        app = Fairlane(f"sqlite:///{tmp_path}/work.db", clock=FakeClock(), stop_grace_seconds=0)

        @app.task(name="work")
        async def work() -> None:
            await doors.wait("a")

        return app

    first = made()
    async with running(first):
        job = await first.tasks["work"].submit()
        await doors.reached("a")
    second = made()
    doors.open("a")
    async with running(second):
        view = await second.jobs.wait(job.id)

    assert (view.state, view.crashes) == ("completed", 0)


async def test_a_plain_function_that_ends_while_the_engine_stops_has_completed(
    tmp_path: Path,
) -> None:
    begun, go_on = threading.Event(), threading.Event()
    app = Fairlane(f"sqlite:///{tmp_path}/work.db", clock=FakeClock(), stop_grace_seconds=0)

    @app.task
    def work() -> str:
        begun.set()
        go_on.wait(20)
        return "whole"

    async with running(app):
        job = await work.submit()
        await eventually(begun.is_set)
        asyncio.get_running_loop().call_later(0.05, go_on.set)
    async with running(app):
        view = await app.jobs.wait(job.id)

    assert (view.state, view.result, view.attempt) == ("completed", "whole", 1)


async def test_a_cancelled_job_can_be_retried_by_hand(app: Fairlane, doors: Doors) -> None:
    @app.task
    async def work(ctx: Context) -> int:
        if ctx.attempt == 1:
            await doors.wait("a")
        return ctx.attempt

    async with running(app):
        job = await work.submit()
        await doors.reached("a")
        await cancelled(job)
        await job.retry()
        await reaches(job, "completed")

        assert await job.wait() == 2
