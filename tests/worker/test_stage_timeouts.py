"""Time-outs of stages that run blocking code: the stage ends, and its thread is accounted for."""

import inspect
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fairlane import Context, Fairlane, Fallback, Give, JobFailed, Retry, SyncContext, TimedOut
from fairlane.task.stages import Stage, SyncStage
from fairlane.testing import running
from tests.support import apps_isolated
from tests.support.apps import reaches, states
from tests.support.eventually import eventually


class Block:
    """A function that blocks its thread until the test lets it return."""

    def __init__(self) -> None:
        self.let_go = threading.Event()
        self.calls = 0
        self.inside = 0
        self.most_inside = 0

    def __call__(self, *_: Any) -> str:
        self.calls += 1
        self.inside += 1
        self.most_inside = max(self.most_inside, self.inside)
        self.let_go.wait(40)  # a failed test must end, too, but after `eventually`
        self.inside -= 1
        return "late"


@pytest.fixture
def block() -> Iterator[Block]:
    made = Block()
    yield made
    made.let_go.set()


@pytest.mark.parametrize("kind", ["coroutine", "thread"])
async def test_a_stage_of_blocking_code_ends_at_its_time_and_falls_back(
    app: Fairlane, block: Block, kind: str
) -> None:
    went_on: list[str] = []

    @app.task
    async def coroutine(ctx: Context) -> str:
        stage = ctx.stage("asr")
        went_on.append(await stage.run(block, timeout_seconds=0.05, fallback=Give("subtitles")))
        return went_on[0]

    @app.task
    def thread(ctx: SyncContext) -> str:
        stage = ctx.stage("asr")
        went_on.append(stage.run(block, timeout_seconds=0.05, fallback=Give("subtitles")))
        return went_on[0]

    async with running(app):
        job = await app.tasks[kind].submit()
        await eventually(lambda: went_on == ["subtitles"], what="the end of the stage")
        assert block.inside == 1
        block.let_go.set()
        assert await job.wait() == "subtitles"
        assert (await job.show()).stages[0].status == "skipped"


async def test_a_stage_of_blocking_code_fails_at_its_time(app: Fairlane, block: Block) -> None:
    caught: list[str] = []

    @app.task
    async def work(ctx: Context) -> None:
        try:
            await ctx.stage("asr").run(block, timeout_seconds=0.05)
        except TimedOut as error:
            caught.append(str(error))
            raise

    async with running(app):
        job = await work.submit()
        await eventually(lambda: bool(caught), what="the end of the stage")
        assert block.inside == 1
        block.let_go.set()
        error = (await app.jobs.wait(job.id)).error

    assert error is not None
    assert (error.code, error.message) == ("stage_timeout", 'stage "asr" took longer than 0.05 s')


async def test_a_job_holds_its_lane_and_resources_until_its_blocking_code_returns(
    app: Fairlane, block: Block
) -> None:
    app.resource("gpu", 1)

    @app.task(lane="{name}")
    async def work(ctx: Context, name: str) -> str:
        fallback = Fallback(str.upper, uses={})
        stage = ctx.stage("asr")
        function: Any = block if name == "first" else str.lower
        return str(
            await stage.run(
                function, name, timeout_seconds=0.05, uses={"gpu": 1}, fallback=fallback
            )
        )

    async with running(app):
        first = await work.submit("first")

        async def is_left() -> bool:
            view = await first.show()
            is_stuck = any(reason.code == "stuck" for reason in view.waiting_for)
            return is_stuck and any(stage.status == "done" for stage in view.stages)

        await eventually(is_left, what="the report of the thread that still runs")
        second, other = await work.submit("first"), await work.submit("other")
        board = app._engine.leader.scheduler.board
        await eventually(lambda: bool(board.waiting_stages), what="a stage that waits")
        assert await states([first, second]) == ["running", "queued"]
        block.let_go.set()
        assert [await job.wait() for job in (first, second, other)] == ["FIRST", "late", "other"]


async def test_a_fallback_waits_for_the_resource_that_blocking_code_still_holds(
    app: Fairlane, block: Block
) -> None:
    app.resource("gpu", 1)

    @app.task
    def work(ctx: SyncContext) -> str:
        stage = ctx.stage("asr")
        return str(stage.run(block, timeout_seconds=0.05, uses={"gpu": 1}, fallback=block))

    async with running(app):
        job = await work.submit()
        board = app._engine.leader.scheduler.board
        await eventually(lambda: bool(board.waiting_stages), what="a stage that waits")
        block.let_go.set()
        assert await job.wait() == "late"

    assert (block.calls, block.most_inside) == (2, 1)


async def test_a_time_out_of_a_stage_bounds_its_fallback_and_its_next_try(
    app: Fairlane, block: Block
) -> None:
    went_on: list[str] = []

    @app.task
    async def work(ctx: Context) -> None:
        retry = Retry(times=1, first_seconds=0)
        stage = ctx.stage("asr")
        fallback: list[Block | Give] = [block, Give("nothing")]
        went_on.append(await stage.run(block, timeout_seconds=0.05, retry=retry, fallback=fallback))

    async with running(app):
        job = await work.submit()
        await eventually(lambda: went_on == ["nothing"], what="the end of the stage")
        assert block.inside == 3
        block.let_go.set()
        await job.wait()
    assert block.calls == 3


def is_gone(place: Path) -> bool:
    try:
        os.kill(int(place.read_text()), 0)
    except ProcessLookupError:
        return True
    return False


@pytest.mark.parametrize("fallback", [True, False])
async def test_blocking_code_in_a_process_is_killed_before_its_job_ends(
    app: Fairlane, tmp_path: Path, fallback: bool
) -> None:
    place = tmp_path / "pid"
    work = app.task(isolation="process")(apps_isolated.blocks_in_a_stage)
    async with running(app):
        job = await work.submit(str(place), fallback)
        view = await app.jobs.wait(job.id)
        assert is_gone(place)

    if fallback:
        assert (view.state, view.result) == ("completed", "subtitles")
    else:
        assert view.error is not None
        assert view.error.code == "stage_timeout"


async def test_blocking_code_in_a_process_fails_its_stage_if_the_fallback_needs_its_resource(
    app: Fairlane, tmp_path: Path
) -> None:
    app.resource("gpu", 1)
    place = tmp_path / "pid"
    work = app.task(isolation="process")(apps_isolated.falls_back_to_the_same_gpu)
    async with running(app):
        job = await work.submit(str(place))
        with pytest.raises(JobFailed, match="holds gpu until the child process ends"):
            await job.wait()
        assert is_gone(place)


async def test_a_stage_of_a_process_fails_if_blocking_code_of_its_job_holds_its_resource(
    app: Fairlane, tmp_path: Path
) -> None:
    app.resource("gpu", 1)
    place = tmp_path / "pid"
    work = app.task(isolation="process")(apps_isolated.needs_the_gpu_after_a_time_out)
    other = app.task(isolation="process")(apps_isolated.waits_for_the_gpu)
    async with running(app):
        job = await work.submit(str(place))
        await reaches(job, "failed")
        view = await job.show()
        assert is_gone(place)
        assert await (await other.submit()).wait() == "DONE"

    assert view.error is not None
    assert (view.error.code, view.error.retryable) == ("stage_timeout", True)
    assert view.error.message.startswith('stage "rendering" cannot get 1 of "gpu"')
    assert [stage.status for stage in view.stages] == ["skipped", "error"]


async def test_a_stage_that_waits_fails_when_blocking_code_of_its_job_is_left_with_its_resource(
    app: Fairlane, tmp_path: Path
) -> None:
    app.resource("gpu", 1)
    work = app.task(isolation="process")(apps_isolated.waits_for_the_gpu_beside_a_time_out)
    async with running(app):
        job = await work.submit(str(tmp_path / "pid"))
        board = app._engine.leader.scheduler.board
        await eventually(lambda: bool(board.waiting_stages), what="a stage that waits")
        await reaches(job, "failed")
        stages = {stage.name: stage.message for stage in (await job.show()).stages}

    assert stages["rendering"].startswith('stage "rendering" cannot get 1 of "gpu"')


async def test_a_retry_gets_the_resource_that_blocking_code_held_in_the_process_before(
    app: Fairlane, tmp_path: Path
) -> None:
    app.resource("gpu", 1)
    retry = Retry(times=1, first_seconds=0, on=("timeout",))
    work = app.task(isolation="process", retry=retry)(apps_isolated.needs_the_gpu_after_a_time_out)
    async with running(app):
        job = await work.submit(str(tmp_path / "pid"))
        await reaches(job, "completed")
        view = await job.show()

    assert (view.attempt, view.result) == (2, "FILM")


async def test_a_stage_of_a_process_gets_a_resource_of_which_blocking_code_left_enough(
    app: Fairlane, tmp_path: Path
) -> None:
    app.resource("gpu", 2)
    work = app.task(isolation="process")(apps_isolated.needs_the_gpu_after_a_time_out)
    async with running(app):
        job = await work.submit(str(tmp_path / "pid"))
        await reaches(job, "completed")
        assert await job.wait() == "FILM"


async def test_a_stopping_job_waits_for_blocking_code_that_has_a_time_out(
    app: Fairlane, block: Block
) -> None:
    @app.task(grace_seconds=0.01)
    async def work(ctx: Context) -> None:
        await ctx.stage("asr").run(block, timeout_seconds=60)

    async with running(app):
        job = await work.submit()
        await eventually(lambda: block.inside == 1, what="the call")
        await job.cancel()
        assert (await job.show()).state == "running"
        block.let_go.set()
        await reaches(job, "cancelled")


def test_stages_of_plain_and_async_functions_take_the_same_options() -> None:
    one, other = inspect.signature(Stage.run), inspect.signature(SyncStage.run)
    assert list(one.parameters.values()) == list(other.parameters.values())


@pytest.mark.parametrize("kind", ["coroutine", "thread", "fallback"])
@pytest.mark.parametrize(
    "seconds", [0, -1, "1", float("nan"), 1e18, pytest.param(10**400, id="10**400")]
)
async def test_a_wrong_time_out_of_a_stage_is_an_error(
    app: Fairlane, seconds: Any, kind: str
) -> None:
    @app.task
    def thread(ctx: SyncContext) -> None:
        ctx.stage("asr").run(len, "", timeout_seconds=seconds)

    @app.task
    async def coroutine(ctx: Context) -> None:
        await ctx.stage("asr").run(len, "", timeout_seconds=seconds)

    @app.task
    def fallback(ctx: SyncContext) -> None:
        ctx.stage("asr").run(int, "x", fallback=Fallback(len, timeout_seconds=seconds))

    async with running(app):
        with pytest.raises(JobFailed, match=r"timeout_seconds of stage .* it must be a number"):
            await (await app.tasks[kind].submit()).wait()
