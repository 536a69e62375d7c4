"""A job: its stored fields, its position, its artifacts, and the transitions it refuses."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from fairlane import Context, Fairlane, IllegalTransition, NotFound, Priority
from fairlane.testing import running
from tests.support.apps import Doors


async def test_a_submitted_job_is_shown_with_all_its_fields(app: Fairlane) -> None:
    app.queue("archive")

    @app.task(queue="archive", lane="{handle}")
    async def archive(ctx: Context, handle: str, limit: int = 1000) -> dict[str, int]:
        ctx.report(downloaded=12)
        async with ctx.stage("saving"):
            pass
        return {"downloaded": 12}

    async with running(app) as world:
        job = await archive.options(priority=Priority.HIGH, meta={"by": "ann"}).submit("nasa")
        await world.advance(5)
        view = await job.show()

    assert (view.id, view.task, view.queue, view.lane) == (job.id, "archive", "archive", "nasa")
    assert (view.kind, view.state, view.priority, view.attempt) == ("start", "completed", "high", 1)
    assert view.params == {"handle": "nasa", "limit": 1000}
    assert (view.progress.percent, view.statistics) == (100, {"downloaded": 12})
    assert [(stage.name, stage.status) for stage in view.stages] == [("saving", "done")]
    assert (view.result, view.error, view.meta) == ({"downloaded": 12}, None, {"by": "ann"})
    assert view.created_at <= (view.started_at or view.created_at)
    assert view.started_at is not None
    assert view.ended_at is not None


async def test_a_waiting_job_has_a_position(app: Fairlane) -> None:
    @app.task
    async def work() -> None: ...

    async with running(app):
        await app.queues.pause("default")
        first, second = await app.submit_many([work.call(), work.call()])

        assert ((await first.show()).position or "") < ((await second.show()).position or "")


async def test_changes_to_an_object_after_its_submission_do_not_change_the_parameters(
    app: Fairlane,
) -> None:
    @app.task
    async def work(names: list[str]) -> list[str]:
        return names

    names = ["ann"]
    async with running(app):
        await app.queues.pause("default")
        job = await work.submit(names)
        names.append("bob")
        await app.queues.resume("default")

        assert await job.wait() == ["ann"]
        assert (await job.show()).params == {"names": ["ann"]}


async def test_a_job_lists_its_artifacts_with_kind_and_size(app: Fairlane, tmp_path: Path) -> None:
    @app.task
    async def work(ctx: Context) -> None:
        async with ctx.output(tmp_path / "clip.mp4", kind="video") as path:
            path.write_bytes(b"12345")
        (tmp_path / "notes.txt").write_text("abc")
        ctx.artifact(tmp_path / "notes.txt", kind="text")

    async with running(app):
        job = await work.submit()
        await job.wait()
        made = {Path(a.path).name: (a.kind, a.bytes) for a in (await job.show()).artifacts}

    assert made == {"clip.mp4": ("video", 5), "notes.txt": ("text", 3)}


async def test_the_context_of_a_task_describes_its_job(app: Fairlane) -> None:
    @app.task(lane="{name}")
    async def work(ctx: Context, name: str) -> list[str | int | None]:
        job = ctx.job
        return [job.id, job.task, job.queue, job.lane, job.kind, ctx.attempt, job.meta["by"]]

    async with running(app):
        job = await work.options(meta={"by": "ann"}, kind="continue").submit("x")

        assert await job.wait() == [job.id, "work", "default", "x", "continue", 1, "ann"]


async def test_a_scheduled_job_waits_until_it_is_due(app: Fairlane) -> None:
    @app.task
    async def work() -> float:
        return app._commands.clock.now()

    async with running(app) as world:
        due = datetime.fromtimestamp(world.clock.now() + 60, UTC)
        job = await work.options(run_at=due).submit()
        view = await job.show()
        await world.advance(59)
        assert (await job.show()).state == "scheduled"
        await world.advance(1)

        assert (view.state, view.due_at) == ("scheduled", due)
        assert await job.wait() == due.timestamp()


async def test_a_skipped_job_is_shown_as_skipped_with_the_reason(app: Fairlane) -> None:
    @app.task
    async def work() -> None: ...

    async with running(app):
        await app.queues.pause("default")
        job = await work.submit()
        await job.skip()
        view = await job.show()

        assert view.state == "skipped"
        assert [reason.message for reason in view.waiting_for] == ["taken out of the queue by hand"]


async def test_a_transition_that_is_not_allowed_is_refused_and_the_job_is_unchanged(
    app: Fairlane, doors: Doors
) -> None:
    @app.task
    async def work() -> None:
        await doors.wait("work")

    async with running(app):
        job = await work.submit()
        with pytest.raises(IllegalTransition, match="only a waiting job can be skipped"):
            await job.skip()
        with pytest.raises(IllegalTransition):
            await job.retry()
        doors.open("work")
        await job.wait()
        with pytest.raises(IllegalTransition, match="is completed and cannot become cancelled"):
            await job.cancel()

        assert (await job.show()).state == "completed"


async def test_a_job_that_does_not_exist_is_not_found(app: Fairlane) -> None:
    async with running(app):
        for asking in (
            app.jobs.show("nobody"),
            app.jobs.wait("nobody"),
            app.jobs.explain("nobody"),
        ):
            with pytest.raises(NotFound):
                await asking
