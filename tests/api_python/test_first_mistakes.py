"""The first mistakes of newcomers, and the errors that they get."""

import asyncio
import logging
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from fairlane import BadSetting, Conflict, Context, Fairlane, JobFailed, UnknownName
from fairlane.testing import running

UNGUARDED = """
import asyncio
from fairlane import Fairlane, JobFailed

app = Fairlane("sqlite:///work.db")

@app.task(isolation="process")
def double(number: int) -> int:
    return 2 * number

async def main() -> None:
    async with app:
        try:
            print(await (await double.submit(21)).wait())
        except JobFailed as error:
            print(error)

asyncio.run(main())
"""


def test_a_program_without_a_main_guard_gets_an_error_from_its_child(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(UNGUARDED)
    done = subprocess.run(
        [sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert 'put the code that starts it under `if __name__ == "__main__":`' in done.stdout


@pytest.fixture
def app() -> Fairlane:
    return Fairlane("memory://")


async def test_draining_a_queue_that_does_not_exist_is_refused(app: Fairlane) -> None:
    app.queue("letters")
    async with running(app):
        with pytest.raises(UnknownName, match='did you mean "letters"'):
            await app.drain("leters")


@pytest.mark.parametrize("filters", [{"queue": "nope"}, {"states": ["done"]}])
async def test_a_history_of_an_unknown_queue_or_state_is_refused(
    app: Fairlane, filters: dict[str, str]
) -> None:
    async with running(app):
        with pytest.raises(UnknownName):
            await app.jobs.history(**filters)  # type: ignore[arg-type]


async def test_a_failed_job_is_logged_though_no_caller_waits(
    app: Fairlane, caplog: pytest.LogCaptureFixture
) -> None:
    @app.task
    async def work() -> None:
        raise KeyError("missing")

    with caplog.at_level(logging.WARNING, logger="fairlane"):
        async with running(app) as world:
            job = await work.submit()
            await world.idle()
    assert f"job {job.id} of task work failed in attempt 1: KeyError: 'missing'" in caplog.text


async def test_an_error_whose_message_is_only_a_key_is_stored_with_its_class(app: Fairlane) -> None:
    @app.task
    async def work() -> None:
        raise SystemExit(3)

    async with running(app):
        with pytest.raises(JobFailed, match="SystemExit: 3"):
            await (await work.submit()).wait()


async def test_the_folder_of_an_output_is_created(app: Fairlane, tmp_path: Path) -> None:
    @app.task
    async def save(ctx: Context, folder: str) -> None:
        async with ctx.output(Path(folder) / "ann" / "letter.txt") as part:
            part.write_text("dear ann")

    async with running(app):
        await (await save.submit(folder=str(tmp_path / "out"))).wait()
    assert (tmp_path / "out" / "ann" / "letter.txt").read_text() == "dear ann"


async def test_jobs_of_a_missing_task_are_logged_at_the_start(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    address = f"sqlite:///{tmp_path}/work.db"
    old = Fairlane(address)

    @old.task
    async def send() -> None: ...

    async with old:
        await old.queues.pause("default")
        await send.submit()
    with caplog.at_level(logging.WARNING, logger="fairlane"):
        async with Fairlane(address):
            pass
    assert "tasks that this program does not have: send" in caplog.text


async def test_a_wait_that_times_out_names_the_job(app: Fairlane) -> None:
    @app.task
    async def work() -> None:
        await asyncio.Event().wait()

    async with running(app):
        job = await work.submit()
        with pytest.raises(TimeoutError, match=str(job.id)):
            await job.wait(timeout_seconds=0.01)
        await job.cancel()


@pytest.mark.parametrize(
    "options",
    [
        {"lane": "\udcff"},
        {"dedupe": "\udcff"},
        {"id": "../escape"},
        {"id": ""},
        {"id": "x" * 101},
        {"meta": {"name": "\udcff"}},
        {"run_at": datetime.max.replace(tzinfo=UTC)},
        {"run_at": datetime.min.replace(tzinfo=UTC)},
    ],
)
async def test_a_value_that_cannot_be_stored_is_refused_at_submission(
    app: Fairlane, options: dict[str, Any]
) -> None:
    @app.task
    async def work() -> None: ...

    async with running(app):
        with pytest.raises(BadSetting):
            await work.options(**options).submit()
        assert (await app.snapshot()).counts == {}


async def test_an_id_that_was_used_before_is_the_job_that_had_it(app: Fairlane) -> None:
    @app.task
    async def work() -> str:
        return "once"

    async with running(app):
        first = await work.options(id="letter-1").submit()
        assert await first.wait() == "once"
        again = await work.options(id="letter-1").submit()
        assert await again.wait() == "once"
        assert (await again.show()).attempt == 1
        assert len((await app.jobs.history()).items) == 1


async def test_only_an_ended_job_is_run_again(app: Fairlane) -> None:
    @app.task
    async def work() -> None: ...

    async with running(app):
        await app.queues.pause("default")
        job = await work.submit()
        with pytest.raises(Conflict, match="when it has ended"):
            await job.rerun()
