"""Guards of the worker that no story of the outside would reach."""

from fairlane import Fairlane
from fairlane.core.decisions import Stop
from fairlane.core.job import JobId
from fairlane.testing import running
from tests.support.apps import Doors


async def test_a_stop_that_was_meant_for_another_assignment_stops_nothing(
    app: Fairlane, doors: Doors
) -> None:
    @app.task
    async def work() -> str:
        await doors.wait("inside")
        return "whole"

    async with running(app):
        job = await work.submit()
        await doors.reached("inside")
        worker = app._engine.worker
        worker.stop(Stop(JobId(job.id), worker.id, 0, "keep", False))
        doors.open("inside")
        assert await job.wait() == "whole"


async def test_a_worker_that_takes_nothing_new_hands_an_assignment_back_unbegun(
    app: Fairlane, doors: Doors
) -> None:
    """The leader may decide a start before it has heard that the worker stops."""

    @app.task
    async def work() -> None:
        await doors.wait("inside")

    async with running(app):
        app._engine.worker.accepting = False
        job = await work.submit()
        await app._engine.settled()
        view = await job.show()
        assert (view.state, view.attempt) == ("queued", 0)
        assert doors.arrived == []
