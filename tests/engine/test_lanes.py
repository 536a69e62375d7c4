"""Lanes: their state, and saved parameters that are locked while a job is active."""

from datetime import UTC, datetime

import pytest

from fairlane import Context, Fairlane, JobFailed, LaneLocked, NotFound, Retry
from fairlane.testing import running
from tests.support.apps import Doors, lane_state


async def test_the_state_of_a_lane_follows_the_states_of_its_jobs(
    app: Fairlane, doors: Doors
) -> None:
    @app.task(lane="{name}")
    async def work(name: str, fails: bool = False) -> None:
        await doors.wait(name)
        if fails:
            raise ValueError(name)

    async with running(app):
        await app.lanes.save("default", "saved", work.call("saved"))
        job = await work.submit("a")
        bad = await work.submit("b", fails=True)
        gone = await work.submit("c")
        await doors.reached("a", "b", "c")
        await gone.cancel()
        await app.jobs.wait(gone.id)
        during = {view.lane: view.state for view in await app.lanes.list("default")}
        doors.open("a", "b")
        await job.wait()
        await app.jobs.wait(bad.id)
        after = {view.lane: view.state for view in await app.lanes.list("default")}

    assert during == {"saved": "idle", "a": "running", "b": "running", "c": "cancelled"}
    assert after == {"saved": "idle", "a": "done", "b": "failed", "c": "cancelled"}


async def test_a_lane_with_a_scheduled_blocked_or_retrying_job_is_queued(app: Fairlane) -> None:
    @app.task(lane="retrying", retry=Retry(times=1, first_seconds=60))
    async def failing() -> None:
        raise OSError("busy")

    @app.task(lane="blocked", preconditions=[lambda values: "not yet"])
    async def blocked() -> None: ...

    @app.task(lane="scheduled")
    async def scheduled() -> None: ...

    async with running(app) as world:
        await failing.submit()
        await blocked.submit()
        later = datetime.fromtimestamp(world.clock.now() + 60, UTC)
        await scheduled.options(run_at=later).submit()
        await world.idle()

        assert {v.lane: v.state for v in await app.lanes.list()} == dict.fromkeys(
            ("retrying", "blocked", "scheduled"), "queued"
        )


async def test_cancelling_a_queued_job_makes_its_lane_idle_and_changes_no_other_job(
    app: Fairlane,
) -> None:
    @app.task(lane="{name}")
    async def work(ctx: Context, name: str) -> None:
        ctx.checkpoint["cursor"] = 7

    async with running(app):
        await (await work.submit("a")).wait()
        await app.queues.pause("default")
        queued = await work.submit("a")
        other = await work.submit("b")
        before = (await app.lanes.list())[0]
        await queued.cancel()
        after = (await app.lanes.list())[0]

        assert (await queued.show()).state == "cancelled"
        assert (before.state, after.state) == ("queued", "idle")
        assert (after.checkpoint, after.last_job) == (before.checkpoint, before.last_job)
        assert (await other.show()).state == "queued"


async def test_parameters_of_a_lane_can_be_saved_only_while_no_job_is_active(
    app: Fairlane, doors: Doors
) -> None:
    @app.task(lane="{name}")
    async def work(name: str, limit: int = 1) -> int:
        await doors.wait(name)
        return limit

    async with running(app):
        await app.lanes.save("default", "a", work.call("a", limit=1))
        job = await app.lanes.start("default", "a")
        await doors.reached("a")
        with pytest.raises(LaneLocked) as refused:
            await app.lanes.save("default", "a", work.call("a", limit=2))
        doors.open("a")
        await job.wait()
        await app.lanes.save("default", "a", work.call("a", limit=2))
        again = await app.lanes.start("default", "a")

        assert refused.value.active_job == job.id
        assert await again.wait() == 2
        assert (await job.show()).params == {"name": "a", "limit": 1}


async def test_a_lane_is_started_and_continued_from_its_saved_parameters(app: Fairlane) -> None:
    @app.task(lane="{name}")
    async def work(ctx: Context, name: str) -> int:
        ctx.checkpoint["page"] = ctx.checkpoint.get("page", 0) + 1
        return int(ctx.checkpoint["page"])

    async with running(app):
        await app.lanes.save("default", "a", work.call("a"))
        assert await (await app.lanes.start("default", "a")).wait() == 1
        assert await (await app.lanes.continue_("default", "a")).wait() == 2
        assert await (await app.lanes.start("default", "a")).wait() == 1


async def test_a_lane_without_saved_parameters_cannot_be_started(app: Fairlane) -> None:
    async with running(app):
        with pytest.raises(NotFound, match="no saved parameters"):
            await app.lanes.start("default", "nobody")


async def test_deleted_parameters_of_a_lane_are_gone(app: Fairlane) -> None:
    @app.task
    async def work(name: str) -> None: ...

    async with running(app):
        await app.lanes.save("default", "a", work.call("a"))
        await app.lanes.save("default", "a", None)

        assert [view.params for view in await app.lanes.list()] == [None]


async def test_a_failed_job_leaves_its_lane_free_for_the_next(app: Fairlane) -> None:
    app.queue("archive", on_conflict="reject")

    @app.task(queue="archive", lane="x")
    async def work(fails: bool) -> str:
        if fails:
            raise ValueError("no")
        return "done"

    async with running(app):
        with pytest.raises(JobFailed):
            await (await work.submit(fails=True)).wait()

        assert await (await work.submit(fails=False)).wait() == "done"
        assert await lane_state(app, "archive", "x") == "done"
