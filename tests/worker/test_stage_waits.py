"""A stage that waits for a limit, a resource or its backoff: it shows it, and does not stall."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from fairlane import Context, Fairlane, Job, JobView, Retry, SyncContext
from fairlane.testing import running
from fairlane.worker.child_main import ChildLink
from fairlane.worker.child_messages import (
    CancelEntryMessage,
    EnterStageMessage,
    FromChild,
    LeaveStageMessage,
    MessageOfRun,
    ReplyMessage,
)
from tests.support import apps_isolated
from tests.support.apps import Doors
from tests.support.eventually import eventually

STALL_SECONDS = 0.4  # long enough for the steps before a wait on a loaded machine


def coroutine(app: Fairlane) -> Any:
    @app.task(stall_seconds=STALL_SECONDS)
    async def work(ctx: Context) -> str:
        return str(await ctx.stage("asr").run(str.upper, "done", uses={"gpu": 1}, limits=["host"]))

    return work


def thread(app: Fairlane) -> Any:
    @app.task(stall_seconds=STALL_SECONDS)
    def work(ctx: SyncContext) -> str:
        return str(ctx.stage("asr").run(str.upper, "done", uses={"gpu": 1}, limits=["host"]))

    return work


def process(app: Fairlane) -> Any:
    # Starting the child process takes longer than the others need for all of it.
    return app.task(stall_seconds=5.0, isolation="process")(apps_isolated.waits_for_the_gpu)


async def outlast_a_stall(app: Fairlane) -> None:
    """Return when a job that reports nothing, submitted now, has failed as stalled."""
    view = await app.jobs.wait((await app.tasks["silent"].submit()).id)
    assert view.error is not None
    assert view.error.code == "stall"


async def waits(app: Fairlane) -> None:
    """Return when the leader lets a stage wait."""
    board = app._engine.leader.scheduler.board
    await eventually(lambda: bool(board.waiting_stages), what="a stage that waits")


Make = Callable[[Fairlane], Any]


@pytest.fixture
def gpu(app: Fairlane) -> Fairlane:
    app.resource("gpu", 1)
    app.limit("host", starts=1, per_seconds=60)

    @app.task(stall_seconds=STALL_SECONDS)
    async def silent() -> None:
        await asyncio.Event().wait()

    return app


@pytest.mark.parametrize("make", [coroutine, thread])
async def test_a_stage_that_waits_for_a_resource_does_not_stall(
    gpu: Fairlane, doors: Doors, make: Make
) -> None:
    work = make(gpu)

    @gpu.task(uses={"gpu": 1})
    async def hold() -> None:
        await doors.wait("holding")

    async with running(gpu):
        await hold.submit()
        await doors.reached("holding")
        job = await work.submit()
        await waits(gpu)
        await outlast_a_stall(gpu)
        doors.open("holding")

        assert await job.wait() == "DONE"


@pytest.mark.parametrize("make", [coroutine, thread])
async def test_a_stage_that_waits_for_a_rate_does_not_stall(gpu: Fairlane, make: Make) -> None:
    work = make(gpu)

    @gpu.task(limits=["host"])
    async def first() -> None: ...

    async with running(gpu) as world:
        await (await first.submit()).wait()
        job = await work.submit()
        await waits(gpu)
        await outlast_a_stall(gpu)
        await world.advance(60)

        assert await job.wait() == "DONE"


@pytest.mark.parametrize("make", ["coroutine", "thread"])
async def test_a_stage_that_waits_out_its_backoff_does_not_stall(app: Fairlane, make: str) -> None:
    retry = Retry(times=1, first_seconds=5 * STALL_SECONDS)
    tries: list[int] = []

    def load() -> str:
        tries.append(1)
        if len(tries) == 1:
            raise ConnectionError("lost")
        return "loaded"

    @app.task(stall_seconds=STALL_SECONDS)
    async def coroutine(ctx: Context) -> str:
        return str(await ctx.stage("loading").run(load, retry=retry))

    @app.task(stall_seconds=STALL_SECONDS)
    def thread(ctx: SyncContext) -> str:
        return str(ctx.stage("loading").run(load, retry=retry))

    async with running(app):
        assert await (await app.tasks[make].submit()).wait() == "loaded"


async def test_a_stage_in_a_child_process_that_waits_does_not_stall(
    gpu: Fairlane, doors: Doors
) -> None:
    work = process(gpu)

    @gpu.task(uses={"gpu": 1})
    async def hold() -> None:
        await doors.wait("holding")

    async with running(gpu):
        await hold.submit()
        await doors.reached("holding")
        job = await work.submit()
        await waits(gpu)
        attempt = gpu._engine.worker._attempts[job.id]
        assert attempt.link.is_waiting
        doors.open("holding")

        assert await job.wait() == "DONE"
        assert not attempt.link.is_waiting


async def test_a_stage_that_has_waited_stalls_like_any_other(gpu: Fairlane, doors: Doors) -> None:
    @gpu.task(uses={"gpu": 1})
    async def hold() -> None:
        await doors.wait("holding")

    @gpu.task(stall_seconds=STALL_SECONDS)
    async def work(ctx: Context) -> None:
        await ctx.stage("asr").run(doors.wait, "never", uses={"gpu": 1})

    async with running(gpu):
        await hold.submit()
        await doors.reached("holding")
        job = await work.submit()
        await waits(gpu)
        await outlast_a_stall(gpu)
        doors.open("holding")

        error = (await gpu.jobs.wait(job.id)).error
        assert error is not None
        assert error.code == "stall"


async def test_a_stage_that_waits_is_pending_and_names_what_it_waits_for(
    gpu: Fairlane, doors: Doors
) -> None:
    @gpu.task(uses={"gpu": 1})
    async def hold() -> None:
        await doors.wait("holding")

    @gpu.task(stages=["asr", "saving"])
    async def work(ctx: Context) -> None:
        await ctx.stage("asr").run(doors.wait, "asr", uses={"gpu": 1})

    async with running(gpu):
        await hold.submit()
        await doors.reached("holding")
        job = await work.submit()
        await waits(gpu)
        waiting = await shown(job, "pending", "waits")
        explained = await gpu.jobs.explain(job.id)
        seen = [event async for event in progress_of(gpu, job)]
        doors.open("holding")
        await doors.reached("asr")
        begun = await shown(job, "running")
        doors.open("asr")
        await job.wait()

    reason = 'stage "asr": needs 1 of "gpu": 1 of 1 in use'
    stage = waiting.stages[0]
    assert (stage.message, stage.started_at) == ('waits for 1 of "gpu"', None)
    assert [(one.code, one.message) for one in waiting.waiting_for] == [("resource", reason)]
    assert {"code": "resource", "message": reason} in explained["reasons"]
    assert [one["message"] for one in seen[-1]["waiting_for"]] == [reason]
    assert (begun.stages[0].message, begun.waiting_for) == ("", [])
    assert begun.stages[0].started_at is not None


async def test_a_stage_in_its_backoff_is_pending(app: Fairlane) -> None:
    def load() -> None:
        raise ConnectionError("lost")

    @app.task
    async def work(ctx: Context) -> None:
        await ctx.stage("loading").run(load, retry=Retry(times=1, first_seconds=60))

    async with running(app):
        job = await work.submit()
        stage = (await shown(job, "pending", "try")).stages[0]
        assert stage.message == "try 2 in 60 s after: lost"
        await job.cancel()
        await app.jobs.wait(job.id)


async def shown(job: Job[Any], status: str, message: str = "") -> JobView:
    """Return the view of a job once its first stage has this status and message."""

    async def is_shown() -> bool:
        stages = (await job.show()).stages
        return any(one.status == status and one.message.startswith(message) for one in stages[:1])

    await eventually(is_shown, what=f"a stage that is {status}")
    return await job.show()


async def progress_of(app: Fairlane, job: Job[Any]) -> AsyncIterator[dict[str, Any]]:
    """Yield the progress of a job until now."""
    newest = (await app.snapshot()).seq
    async for event in app.events.follow(after=0):
        if event.type == "job_progress" and event.job == job.id:
            yield event.data
        if event.seq >= newest:
            return


async def test_a_cancelled_wait_in_a_child_process_leaves_the_resource_to_other_jobs(
    app: Fairlane, doors: Doors, tmp_path: Path
) -> None:
    app.resource("gpu", 1)
    work = app.task(isolation="process")(apps_isolated.gives_up_waiting_for_the_gpu)
    place = tmp_path / "place"

    @app.task(uses={"gpu": 1})
    async def hold(door: str) -> None:
        await doors.wait(door)

    async with running(app):
        await hold.submit("first")
        await doors.reached("first")
        job = await work.submit(str(place))
        await waits(app)
        await eventually(place.exists, what="the cancelled wait")
        board = app._engine.leader.scheduler.board
        await eventually(lambda: not board.waiting_stages, what="the end of the wait")
        doors.open("first")
        await hold.submit("second")
        await doors.reached("second")
        assert (await job.show()).state == "running"
        doors.open("second")
        place.with_name("place.permission").touch()
        await job.wait()


class SentMessages:
    """The connection of a child process that only records its messages."""

    def __init__(self) -> None:
        self.all: list[FromChild] = []

    def encode(self, sent: MessageOfRun) -> FromChild:
        return sent.message

    def write(self, message: FromChild) -> None:
        self.all.append(message)


@pytest.mark.parametrize("moment", ["before the grant", "with the grant", "before it arrives"])
async def test_a_cancelled_wait_in_a_child_process_returns_a_grant_that_was_on_its_way(
    moment: str,
) -> None:
    sent: Any = SentMessages()
    link = ChildLink(sent, asyncio.get_running_loop(), 1)
    entering = asyncio.create_task(link.enter_stage("asr", (), (("gpu", 1),)))
    await eventually(lambda: sent.all == [EnterStageMessage(1, "asr", (), (("gpu", 1),))])
    if moment == "with the grant":
        link.reply_received(ReplyMessage(1, "token"))  # the stage has not seen it yet
    entering.cancel()
    await asyncio.wait([entering])
    if moment == "before it arrives":
        link.reply_received(ReplyMessage(1, "token"))
    await asyncio.sleep(0)

    given_back = [] if moment == "before the grant" else [LeaveStageMessage("token")]
    cancelled = [] if moment == "with the grant" else [CancelEntryMessage(1)]
    assert entering.cancelled()
    assert sent.all[1:] == [*cancelled, *given_back]
