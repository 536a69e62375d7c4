"""Where code runs: on the loop, in a thread, or in a child process."""

import os
import sys
import threading
import time
from pathlib import Path

import pytest
from pydantic import SecretStr

from fairlane import BadSetting, Fairlane, JobFailed, Retry, Task
from fairlane.redaction import MASK
from fairlane.runtime.clock import boot_seconds
from fairlane.testing import running
from tests.support import apps_isolated
from tests.support.eventually import eventually
from tests.support.programs_processes import is_alive


async def test_blocking_code_does_not_block_the_loop(app: Fairlane) -> None:
    go_on = threading.Event()

    @app.task
    def blocking() -> str:
        return "went on" if go_on.wait(20) else "was never let go"

    @app.task
    async def quick() -> str:
        return "quick"

    async with running(app):
        job = await blocking.submit()
        assert await (await quick.submit()).wait() == "quick"
        assert (await job.show()).state == "running"
        go_on.set()

        assert await job.wait() == "went on"


async def test_async_functions_run_on_the_loop_and_plain_ones_beside_it(app: Fairlane) -> None:
    @app.task
    async def coroutine() -> int:
        return threading.get_ident()

    @app.task
    def plain() -> int:
        return threading.get_ident()

    async with running(app):
        here = threading.get_ident()

        assert await (await coroutine.submit()).wait() == here
        assert await (await plain.submit()).wait() != here


async def test_an_isolated_task_runs_in_another_process_which_is_reused(app: Fairlane) -> None:
    plain = app.task(isolation="process")(apps_isolated.process_id)
    coroutine = app.task(isolation="process")(apps_isolated.process_id_of_coroutine)
    async with running(app):
        first = await (await plain.submit()).wait()
        second = await (await plain.submit()).wait()
        third = await (await coroutine.submit()).wait()

    assert first != os.getpid()
    assert first == second == third


async def test_a_child_process_has_the_whole_context(app: Fairlane, tmp_path: Path) -> None:
    app.limit("host", starts=9, per_seconds=1)
    app.resource("gpu", 1)
    path = tmp_path / "made.txt"
    work = app.task(isolation="process", lane="x")(apps_isolated.shows_everything)
    async with running(app):
        job = await work.submit(str(path))
        assert await job.wait() == ["ABC", "x", 1]
        view = await job.show()
        lines = [line.message for line in await job.log()]
        lane = (await app.lanes.list())[0]

    assert (view.statistics, lines) == ({"downloaded": 3}, ["hello from afar"])
    assert [(stage.name, stage.status) for stage in view.stages] == [("making", "done")]
    assert [Path(artifact.path).name for artifact in view.artifacts] == ["made.txt"]
    assert lane.checkpoint == {"cursor": 1}
    assert path.read_text() == "whole"


async def test_a_log_line_before_the_return_stays_with_its_job_and_is_masked(
    app: Fairlane,
) -> None:
    first = app.task(isolation="process")(apps_isolated.logs_its_key)
    second = app.task(isolation="process")(apps_isolated.process_id_of_coroutine)
    async with running(app):
        mine = await first.submit(SecretStr("hunter2"))
        child = await mine.wait()
        next_one = await second.submit()
        assert await next_one.wait() == child

        assert [line.message for line in await mine.log()] == [f"the key is {MASK}"]
        assert await next_one.log() == []


async def test_a_thread_that_outlives_its_job_cannot_write_into_the_log_of_the_next_one(
    app: Fairlane,
) -> None:
    first = app.task(isolation="process")(apps_isolated.leaves_a_thread_that_logs)
    second = app.task(isolation="process")(apps_isolated.waits_for_the_late_line)
    async with running(app):
        mine = await first.submit(SecretStr("hunter2"))
        child = await mine.wait()
        next_one = await second.submit()
        assert await next_one.wait() == child

        assert await next_one.log() == []
        assert await mine.log() == []


async def test_a_log_line_with_a_lone_surrogate_is_stored_also_from_a_child_process(
    app: Fairlane,
) -> None:
    work = app.task(isolation="process")(apps_isolated.logs_a_name_that_is_not_text)
    async with running(app):
        job = await work.submit()
        await job.wait()

        assert [line.message for line in await job.log()] == [r"x\ud800y"]


async def test_an_async_task_in_a_child_process_has_stages(app: Fairlane) -> None:
    work = app.task(isolation="process")(apps_isolated.coroutine_with_stage)
    async with running(app):
        assert await (await work.submit()).wait() == "True"


async def test_an_error_in_a_child_process_keeps_its_class_and_traceback(app: Fairlane) -> None:
    retry = Retry(times=1, first_seconds=1)
    work = app.task(isolation="process", retry=retry)(apps_isolated.fails)
    async with running(app) as world:
        job = await work.submit()
        await world.idle()
        due = (await job.show()).due_at
        await world.advance(7)
        view = await app.jobs.wait(job.id)

    assert due is not None
    assert view.error is not None
    assert (view.error.code, view.error.message) == ("retryable", "try later")
    assert "in fails" in view.error.traceback


async def test_an_unknown_limit_is_an_error_in_a_child_process(app: Fairlane) -> None:
    app.limit("mastodon", starts=1, per_seconds=1)
    work = app.task(isolation="process")(apps_isolated.asks_for_an_unknown_limit)
    async with running(app):
        with pytest.raises(JobFailed, match='did you mean "mastodon"'):
            await (await work.submit()).wait()


async def test_a_child_process_that_dies_fails_its_job_and_no_other(app: Fairlane) -> None:
    dies = app.task(isolation="process")(apps_isolated.dies)
    lives = app.task(isolation="process")(apps_isolated.process_id)
    async with running(app):
        with pytest.raises(JobFailed, match="ended before the job was done") as failed:
            await (await dies.submit()).wait()
        assert failed.value.error is not None
        assert failed.value.error["code"] == "process_died"
        assert await (await lives.submit()).wait() > 0


async def test_a_child_process_that_was_killed_at_the_end_of_a_lease_is_an_interruption(
    app: Fairlane, tmp_path: Path
) -> None:
    work = app.task(isolation="process")(apps_isolated.waits_for_permission)
    place = tmp_path / "pid"
    async with running(app):
        job = await work.submit(str(place))
        await eventually(lambda: place.exists() and place.read_text(), what="the child's id")
        deadline = app._engine.worker.process_deadline
        deadline.renew(boot_seconds())
        while is_alive(int(place.read_text())):
            time.sleep(0.01)  # noqa: ASYNC251 - this process is frozen meanwhile
        deadline.renew(boot_seconds() + 60)
        Path(f"{place}.permission").touch()

        assert await job.wait() > 0
        assert ((await job.show()).attempt, (await job.show()).error) == (2, None)


@pytest.mark.parametrize("kind", ["coroutine", "thread"])
async def test_a_task_that_wants_to_exit_ends_itself_and_not_the_program(
    app: Fairlane, kind: str
) -> None:
    @app.task
    async def coroutine() -> None:
        sys.exit(3)

    @app.task
    def thread() -> None:
        sys.exit(3)

    async with running(app):
        with pytest.raises(JobFailed):
            await (await app.jobs.submit_by_name(kind, {})).wait()


def test_an_isolated_task_must_be_importable_which_is_checked_at_registration(
    app: Fairlane,
) -> None:
    def inner() -> None: ...

    with pytest.raises(BadSetting, match="define it at the top level of a module"):
        app.task(isolation="process")(inner)


async def test_a_task_called_directly_runs_here_and_now(app: Fairlane) -> None:
    double: Task[[int], int] = app.task(lambda_free_double)

    assert double(4) == 8


def lambda_free_double(number: int) -> int:
    return number * 2
