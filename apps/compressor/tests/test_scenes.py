"""Seven typical scenarios of a queue that compresses one file at a time."""

import sys
from pathlib import Path
from typing import Any

import pytest

from apps.compressor.tests.clips import FakeFfmpeg, clip, started, tidy
from fairlane import Fairlane, Job, Priority
from fairlane_compressor.program import build
from tests.support.apps import states
from tests.support.eventually import eventually


async def submit(app: Fairlane, *paths: Path, **wishes: Any) -> list[Job[Any]]:
    compress = app.tasks["compress"]
    return await app.submit_many([compress.call(source=str(path), **wishes) for path in paths])


def three(files: Path) -> list[Path]:
    first = clip(files / "a.mp4")
    copies = [files / "b.mp4", files / "c.mp4"]
    for copy in copies:
        copy.write_bytes(first.read_bytes())
    return [first, *copies]


async def test_1_a_job_runs_at_once_when_nothing_else_does(
    app: Fairlane, files: Path, fake_ffmpeg: FakeFfmpeg
) -> None:
    fake_ffmpeg.be("held")
    async with app:
        (job,) = await submit(app, clip(files / "a.mp4"))
        await fake_ffmpeg.has_started()
        assert (await job.show()).state == "running"
        await fake_ffmpeg.go_on()

        result = await job.wait()

    assert tidy(files) == ["a-balanced.mp4", "a.mp4"]
    assert 0 < result["after_bytes"] < result["before_bytes"]
    assert result["saved_bytes"] == result["before_bytes"] - result["after_bytes"]


async def test_2_others_wait_in_their_order_while_one_runs(
    app: Fairlane, files: Path, fake_ffmpeg: FakeFfmpeg
) -> None:
    fake_ffmpeg.be("held")
    async with app:
        jobs = await submit(app, *three(files))
        await fake_ffmpeg.has_started()
        assert await states(jobs) == ["running", "queued", "queued"]
        fake_ffmpeg.be_well()
        await fake_ffmpeg.go_on()
        await app.drain()

        ended = (await app.jobs.history()).items
        assert [job.id for job in reversed(ended)] == [job.id for job in jobs]


async def test_3_a_paused_queue_ends_what_runs_and_starts_nothing(
    app: Fairlane, files: Path, fake_ffmpeg: FakeFfmpeg
) -> None:
    fake_ffmpeg.be("held")
    async with app:
        jobs = await submit(app, *three(files)[:2])
        await fake_ffmpeg.has_started()
        await app.queues.pause("compress")
        fake_ffmpeg.be_well()
        await fake_ffmpeg.go_on()
        await jobs[0].wait()
        why = await jobs[1].explain()  # decided after the end of the first job

        assert "paused" in [reason["code"] for reason in why["reasons"]]
        assert await states(jobs) == ["completed", "queued"]
        assert len(fake_ffmpeg.started) == 1


async def test_4_a_resumed_queue_goes_on(app: Fairlane, files: Path) -> None:
    async with app:
        await app.queues.pause("compress")
        (job,) = await submit(app, clip(files / "a.mp4"))
        assert (await job.show()).state == "queued"
        await app.queues.resume("compress")
        await job.wait()

    assert "a-balanced.mp4" in tidy(files)


async def test_5_a_passing_error_is_retried_and_then_somebody_may_retry(
    app: Fairlane, files: Path, fake_ffmpeg: FakeFfmpeg
) -> None:
    fake_ffmpeg.be("broken")
    async with app:
        job, other = await submit(app, *three(files)[:2])
        view = await app.jobs.wait(job.id)
        assert (view.state, view.attempt) == ("failed", 2)
        assert view.error is not None
        assert (view.error.code, view.error.retryable) == ("io", True)
        await app.jobs.wait(other.id)  # the queue went on

        fake_ffmpeg.be_well()
        await app.queues.pause("compress")
        (waiting,) = await submit(app, files / "b.mp4")
        await job.retry()
        line = await app.queues.line("compress")
        assert [view.id for view in line.items] == [job.id, waiting.id]  # it stands at the head
        await app.queues.resume("compress")
        assert (await job.wait())["kept"] == "result"


async def test_6_a_job_that_is_put_first_starts_next(
    app: Fairlane, files: Path, fake_ffmpeg: FakeFfmpeg
) -> None:
    fake_ffmpeg.be("held")
    async with app:
        first, second, third = await submit(app, *three(files))
        await fake_ffmpeg.has_started()
        await third.move(to="head")
        fake_ffmpeg.be_well()
        await fake_ffmpeg.go_on()
        await app.drain()
        assert [view.id for view in reversed((await app.jobs.history()).items)] == [
            first.id, third.id, second.id,
        ]  # fmt: skip


async def test_6_a_job_of_high_priority_starts_before_the_others(
    app: Fairlane, files: Path, fake_ffmpeg: FakeFfmpeg
) -> None:
    fake_ffmpeg.be("held")
    async with app:
        first, second, third = await submit(app, *three(files))
        await fake_ffmpeg.has_started()
        await third.set_priority(Priority.HIGH)
        fake_ffmpeg.be_well()
        await fake_ffmpeg.go_on()
        await app.drain()
        assert [view.id for view in reversed((await app.jobs.history()).items)] == [
            first.id, third.id, second.id,
        ]  # fmt: skip


@pytest.mark.parametrize("recover", [1, 0])
async def test_7_a_program_that_died_goes_on_when_it_is_opened_again_or_asks(
    tmp_path: Path, files: Path, fake_ffmpeg: FakeFfmpeg, recover: int
) -> None:
    """It is killed during an encode: a partial file exists, without its final name."""
    source = clip(files / "a.mp4", seconds=30)
    database = f"sqlite:///{tmp_path}/jobs.db"
    fake_ffmpeg.be("slow")
    words = [database, str(recover), str(source)]
    argv = [sys.executable, "-m", "apps.compressor.tests.worker_program", *words]
    with started(argv) as program:
        await eventually(lambda: any(part.stat().st_size for part in files.glob(".*.part*")))
        program.kill()
    assert [name for name in tidy(files) if not name.startswith(".")] == ["a.mp4"]
    await eventually(lambda: not fake_ffmpeg.is_running(), what="the end of ffmpeg")

    fake_ffmpeg.be_well()
    async with build(database, recover=recover) as app:
        (view,) = (await app.jobs.list()).items
        job = app.jobs.handle(view.id)
        view = await app.jobs.wait(job.id)
        assert view.crashes == 1
        if not recover:
            assert (view.state, tidy(files)) == ("failed", ["a.mp4"])
            await job.retry()
            view = await app.jobs.wait(job.id)
        assert (view.state, view.attempt) == ("completed", 2)
        assert len((await app.jobs.list()).items) == 1
    assert tidy(files) == ["a-balanced.mp4", "a.mp4"]
    assert len(fake_ffmpeg.started) == 2  # once for each attempt


async def test_many_at_a_time_when_somebody_says_so(
    app: Fairlane, files: Path, fake_ffmpeg: FakeFfmpeg
) -> None:
    fake_ffmpeg.be("held")
    async with app:
        jobs = await submit(app, *three(files))
        await fake_ffmpeg.has_started()
        await app.queues.set("compress", max_concurrent=2)
        await fake_ffmpeg.has_started(2)
        assert await states(jobs) == ["running", "running", "queued"]
        fake_ffmpeg.be_well()
        await fake_ffmpeg.go_on(0)
        await fake_ffmpeg.go_on(1)
        await app.drain()
        assert await states(jobs) == ["completed"] * 3
