"""`updated_at` of a job: the time of its last change of state, progress or statistics."""

from datetime import UTC, datetime, timedelta

from fairlane import Context, Fairlane, Retry
from fairlane.client.job import Job
from fairlane.testing import World, running
from tests.support.apps import Doors, reaches
from tests.support.eventually import eventually


async def changed_now(world: World, job: Job[None]) -> bool:
    """Whether the last change of a job happened at the present time of the fake clock."""
    return (await job.show()).updated_at == datetime.fromtimestamp(world.clock.now(), UTC)


async def test_updated_at_moves_with_every_change_of_state_progress_or_statistics(
    app: Fairlane,
) -> None:
    doors = Doors()

    @app.task(retry=Retry(times=1, first_seconds=5))
    async def work(ctx: Context) -> None:
        if ctx.attempt == 1:
            await doors.wait("progress")
            ctx.progress(40)
            await doors.wait("statistics")
            ctx.report(saved=1)
            await doors.wait("failure")
            raise TimeoutError

    async with running(app) as world:
        await app.queues.pause("default")
        job = await work.submit()
        assert await changed_now(world, job)

        world.clock.advance(60)
        await app.queues.resume("default")
        await doors.reached("progress")
        assert await changed_now(world, job)  # it started

        for door in ("progress", "statistics"):
            world.clock.advance(60)
            assert not await changed_now(world, job)
            doors.open(door)
            await eventually(lambda: changed_now(world, job))

        world.clock.advance(60)
        doors.open("failure")
        await reaches(job, "retrying")
        assert await changed_now(world, job)

        await world.advance(5)
        assert (await job.show()).state == "completed"
        assert await changed_now(world, job)
        await world.advance(60)
        ended = await job.show()

    assert ended.updated_at == ended.ended_at


async def test_updated_at_moves_when_a_job_is_moved_and_stays_otherwise(app: Fairlane) -> None:
    @app.task
    async def work() -> None: ...

    async with running(app) as world:
        await app.queues.pause("default")
        job, other = await app.submit_many([work.call(), work.call()])
        await world.advance(60)
        await other.move(to="head")
        views = [await job.show(), await other.show()]

    assert [view.updated_at - view.created_at for view in views] == [
        timedelta(0),
        timedelta(seconds=60),
    ]
