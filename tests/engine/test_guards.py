"""Guards against rare orders of events, which other tests do not reach."""

import asyncio
import threading

import pytest

from fairlane import Fairlane
from fairlane.core.decisions import Stop
from fairlane.core.live_job import JobId
from fairlane.testing import running
from tests.support.apps import Doors
from tests.support.eventually import eventually


async def test_a_stop_order_for_another_assignment_does_not_stop_the_job(
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


async def test_a_worker_that_accepts_no_jobs_hands_an_assignment_back(
    app: Fairlane, doors: Doors
) -> None:
    """The leader may decide a start before it receives the report that the worker stops."""

    @app.task
    async def work() -> None:
        await doors.wait("inside")

    async with running(app):
        app._engine.worker.accepting = False
        job = await work.submit()
        await app._engine.settled()

        async def is_handed_back() -> bool:
            view = await job.show()
            return (view.state, view.attempt) == ("queued", 0)

        # An introduction that the worker sent earlier may make the leader assign the job once more.
        await eventually(is_handed_back, what="the job is handed back")
        assert doors.arrived == []


async def test_a_process_that_cannot_stop_a_job_keeps_its_leadership_or_lease(
    app: Fairlane,
) -> None:
    """A new leader would count the worker as dead and run the job a second time."""
    began, go_on = threading.Event(), threading.Event()

    @app.task
    def stubborn() -> None:
        began.set()
        go_on.wait()

    async with running(app):
        await stubborn.submit()
        await eventually(began.is_set)
        engine = app._engine
        stopping = asyncio.create_task(engine.stop(0))
        await eventually(lambda: not engine.worker.accepting)
        stopping.cancel()
        await asyncio.gather(stopping, return_exceptions=True)
        if engine.store.single_process:
            claim: object = await engine.store.leader()
        else:  # the lease is the claim; another process may lead
            lease = engine.store.lease(engine.worker.id)  # type: ignore[attr-defined]
            claim = (await lease.renew()).standing == "known"
            await lease.close()
        go_on.set()
        assert claim


async def test_a_submission_with_the_id_of_an_ended_job_returns_that_job(
    app: Fairlane, doors: Doors, caplog: pytest.LogCaptureFixture
) -> None:
    @app.task
    async def work() -> str:
        await doors.wait("inside")
        return "once"

    doors.open("inside")
    async with running(app):
        call = work.options(id="11111111-2222-7333-8444-555555555555").call()
        assert await (await app.submit(call)).wait() == "once"
        again = await app.submit(call)
        assert again.id == "11111111-2222-7333-8444-555555555555"
        assert await again.wait() == "once"
        assert doors.arrived == ["inside"]
    assert not [record for record in caplog.records if record.levelname == "ERROR"]
