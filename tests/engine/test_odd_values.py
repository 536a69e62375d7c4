"""Unexpected values and errors: they may fail one job, but never another job."""

import asyncio
import os
import threading
from pathlib import Path

import pytest

from fairlane import BadSetting, Context, Fairlane, JobFailed, NotStarted, SyncContext, TooLarge
from fairlane.task.output_files import OutputRecord, remove_leftovers
from fairlane.testing import FakeClock, running
from tests.support.eventually import eventually, eventually_sync

NOT_UTF8 = os.fsdecode(b"caf\xe9.txt")


def with_neighbour(app: Fairlane) -> None:
    @app.task(name="neighbour", lane="one")
    async def neighbour() -> str:
        return "fine"


async def neighbours_are_fine(app: Fairlane) -> None:
    async with asyncio.timeout(20):
        assert await (await app.tasks["neighbour"].submit()).wait() == "fine"
        assert {job.task for job in (await app.jobs.history()).items} >= {"neighbour"}
        await app.snapshot()


async def test_an_error_message_with_a_file_name_that_is_not_utf8_is_stored(app: Fairlane) -> None:
    @app.task(lane="one")
    async def read() -> None:
        raise ValueError(f"cannot read {NOT_UTF8}")

    with_neighbour(app)
    async with running(app):
        with pytest.raises(JobFailed, match=r"cannot read caf\\udce9.txt"):
            await (await read.submit()).wait()
        await neighbours_are_fine(app)


async def test_text_that_is_not_utf8_is_escaped_in_reports(app: Fairlane) -> None:
    @app.task(lane="one")
    async def scan(ctx: Context) -> None:
        ctx.artifact(f"/var/{NOT_UTF8}")
        ctx.progress(5, NOT_UTF8)
        ctx.log(NOT_UTF8)
        ctx.report(name=1)

    with_neighbour(app)
    async with running(app):
        job = await scan.submit()
        await job.wait()
        assert (await job.show()).progress.message == r"caf\udce9.txt"
        assert [line.message for line in await job.log()] == [r"caf\udce9.txt"]
        await neighbours_are_fine(app)


async def test_a_job_that_raises_stop_iteration_fails(app: Fairlane) -> None:
    @app.task(lane="one")
    def first() -> int:
        return next(iter([]))  # StopIteration, which a future does not accept

    with_neighbour(app)
    async with running(app):
        with pytest.raises(JobFailed, match="StopIteration"):
            await (await first.submit()).wait()
        await neighbours_are_fine(app)


async def test_a_checkpoint_that_cannot_be_encoded_fails_only_its_own_job(app: Fairlane) -> None:
    @app.task(lane="one")
    async def work(ctx: Context) -> None:
        ctx.checkpoint["seen"] = []
        ctx.checkpoint["seen"].append(object())

    with_neighbour(app)
    async with running(app):
        with pytest.raises(JobFailed):
            await (await work.submit()).wait()
        await neighbours_are_fine(app)


@pytest.mark.parametrize("value", [float("nan"), [1.0, float("inf")]])
async def test_a_result_that_json_cannot_represent_fails_only_its_own_job(
    app: Fairlane, value: object
) -> None:
    @app.task(lane="one")
    async def measure() -> object:
        return value

    with_neighbour(app)
    async with running(app):
        with pytest.raises(JobFailed, match="JSON"):
            await (await measure.submit()).wait()
        await neighbours_are_fine(app)


async def test_a_retry_after_a_cancel_that_deletes_outputs_starts_from_the_beginning(
    app: Fairlane, tmp_path: Path
) -> None:
    halfway = asyncio.Event()
    made = tmp_path / "page.txt"

    @app.task(lane="one")
    async def save(ctx: Context) -> bool:
        async def page() -> None:
            async with ctx.output(made, on_exists="overwrite") as part:
                part.write_text("1")

        await ctx.stage("page").run(page)
        if ctx.attempt == 1:
            ctx.checkpoint["cursor"] = 1
            halfway.set()
            await asyncio.Event().wait()
        return made.exists() and not ctx.checkpoint

    async with running(app):
        job = await save.submit()
        await halfway.wait()
        await job.cancel(outputs="delete")
        await app.jobs.wait(job.id)
        assert not made.exists()
        await job.retry()
        assert await job.wait() is True


async def test_a_context_that_is_used_after_its_attempt_raises_an_error(app: Fairlane) -> None:
    kept: list[Context] = []

    @app.task
    async def work(ctx: Context) -> None:
        kept.append(ctx)

    async def late() -> int:
        return 1

    async with running(app):
        await (await work.submit()).wait()
        async with asyncio.timeout(20):
            with pytest.raises(Exception, match="is over"):
                await kept[0].stage("late").run(late)


def test_a_half_written_folder_is_removed_after_a_crash(tmp_path: Path) -> None:
    record = OutputRecord(final=str(tmp_path / "site"), temporary=str(tmp_path / ".site.1.part"))
    (tmp_path / ".site.1.part").mkdir()
    (tmp_path / ".site.1.part" / "index.html").write_text("half")
    assert remove_leftovers([record]) == [tmp_path / ".site.1.part"]
    assert list(tmp_path.iterdir()) == []


def test_a_caller_that_waits_for_a_job_gets_an_error_when_the_engine_stops(tmp_path: Path) -> None:
    app = Fairlane(f"sqlite:///{tmp_path}/work.db")

    @app.task
    def work() -> None: ...

    app.start()
    app.sync.queues.pause("default")
    job = app.sync.submit(work.call())
    heard: list[BaseException] = []

    def wait() -> None:
        try:
            job.wait()
        except BaseException as error:  # noqa: BLE001 - the test asserts the type of any error
            heard.append(error)

    waiting = threading.Thread(target=wait)
    waiting.start()
    eventually_sync(lambda: app._engine.waits.has_waiters)
    app.stop()
    waiting.join(20)
    assert [type(error) for error in heard] == [NotStarted]


async def test_another_process_leads_only_after_a_thread_that_does_not_stop_has_ended(
    tmp_path: Path,
) -> None:
    journal: list[str] = []
    begun, go_on = threading.Event(), threading.Event()

    def made() -> Fairlane:
        app = Fairlane(f"sqlite:///{tmp_path}/work.db", stop_grace_seconds=0, clock=FakeClock())

        @app.task(name="slow", lane="one", grace_seconds=0.01)
        def slow(ctx: SyncContext) -> None:
            journal.append("start")
            begun.set()
            go_on.wait(30)
            journal.append("end")

        return app

    first, second = made(), made()
    async with first:
        await first.tasks["slow"].submit()
        await eventually(begun.is_set)
        leaving = asyncio.create_task(first.__aexit__(None, None, None))
        async with second:
            await asyncio.wait([leaving], timeout=0.3)
            assert journal == ["start"]
            go_on.set()
            await leaving
            await second.drain()
    assert journal == ["start", "end"] * (len(journal) // 2)


async def test_a_paused_schedule_stays_paused_under_the_next_leader(tmp_path: Path) -> None:
    def made() -> Fairlane:
        app = Fairlane(f"sqlite:///{tmp_path}/work.db", clock=FakeClock())

        @app.task(name="tick")
        async def tick() -> None: ...

        app.schedule("often", app.tasks["tick"].call(), every_seconds=60)
        return app

    first, second = made(), made()
    async with first, second:
        await first.schedules.pause("often")
        await first.__aexit__(None, None, None)
        await eventually(lambda: second._engine.calls.leading)
        assert (await second.schedules.list())["often"].paused


async def test_a_submission_that_is_too_large_is_refused_as_a_whole(app: Fairlane) -> None:
    @app.task
    async def work(text: str) -> int:
        return len(text)

    a_megabyte = "é" * 500_000
    async with running(app):
        with pytest.raises(TooLarge, match="50,001 jobs, the limit is 50,000; submit it in sev"):
            await app.submit_many([work.call("")] * 50_001)
        with pytest.raises(TooLarge, match=r"34,000,\d+ bytes, the limit is 33,554,432; submit it"):
            await app.submit_many([work.call(a_megabyte) for _ in range(34)])
        assert not (await app.snapshot()).counts
        assert await (await work.submit(a_megabyte)).wait() == 500_000


async def test_output_names_of_a_refused_submission_are_free_again(
    app: Fairlane, tmp_path: Path
) -> None:
    @app.task(outputs=["{path}"])
    async def write(ctx: Context, path: str) -> str:
        return ctx.outputs[0].name

    path = str(tmp_path / "a.txt")
    async with running(app):
        with pytest.raises(BadSetting):
            await app.submit_many([write.call(path), write.options(lane="\x00").call(path)])
        with pytest.raises(BadSetting):
            await write.options(meta={"not": {1, 2, object()}}).submit(path)
        assert await (await write.submit(path)).wait() == "a.txt"
