"""A worker without work has no timers: its services wait until there is something to do."""

from fairlane import Fairlane
from fairlane.testing import running
from tests.support.apps import Doors, reaches


async def test_a_worker_sends_reports_only_while_an_attempt_runs(
    app: Fairlane, doors: Doors
) -> None:
    @app.task
    async def work() -> None:
        await doors.wait("work")

    async with running(app) as world:
        worker = world.app._engine.worker
        assert await worker.send_reports() is None
        job = await work.submit()
        await doors.reached("work")
        assert await worker.send_reports() is not None
        doors.open("work")
        await job.wait()
        assert await worker.send_reports() is None


async def test_a_worker_checks_preconditions_only_while_a_job_is_blocked(app: Fairlane) -> None:
    is_ready = False

    @app.task(preconditions=[lambda _: None if is_ready else "not yet"])
    async def work() -> str:
        return "done"

    async with running(app) as world:
        worker = world.app._engine.worker
        assert await worker.recheck_preconditions() is None
        job = await work.submit()
        await reaches(job, "blocked")
        assert await worker.recheck_preconditions() is not None
        is_ready = True
        assert await job.wait() == "done"
        assert await worker.recheck_preconditions() is None
