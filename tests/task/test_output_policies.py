"""Two jobs with one output path: the policy decides at submission, and again at the start."""

import asyncio
from pathlib import Path

import pytest

from fairlane import BadSetting, Context, Fairlane, JobSkipped, Retry, Retryable, Task
from fairlane.testing import running
from tests.support.apps import Doors, reaches
from tests.support.eventually import eventually


def writing(app: Fairlane, policy: str, doors: Doors | None = None) -> Task[..., list[str]]:
    """Declare a task that writes its text to its declared output, as it was reserved."""

    async def write(ctx: Context, path: str, text: str) -> list[str]:
        async with ctx.output(ctx.outputs[0]) as temporary:
            temporary.write_text(text)
            if doors is not None:
                await doors.wait(text)
        return [output.name for output in ctx.outputs]

    return app.task(outputs=["{path}"], on_output=policy)(write)


async def test_rename_finds_a_free_name_when_the_job_is_submitted(
    app: Fairlane, tmp_path: Path
) -> None:
    path = tmp_path / "clip.mp4"
    path.write_text("old")
    write = writing(app, "rename")
    async with running(app):
        jobs = await app.submit_many([write.call(str(path), "a"), write.call(str(path), "b")])
        names = [await job.wait() for job in jobs]

    assert names == [["clip-1.mp4"], ["clip-2.mp4"]]
    assert [p.read_text() for p in sorted(tmp_path.glob("clip*"))] == ["a", "b", "old"]


@pytest.mark.parametrize("policy", ["rename", "overwrite", "skip"])
@pytest.mark.parametrize("leads_to", ["a file", "nothing"])
async def test_a_link_counts_as_an_existing_file_and_is_never_followed(
    app: Fairlane, tmp_path: Path, policy: str, leads_to: str
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    precious = elsewhere / "precious.mp4"
    if leads_to == "a file":
        precious.write_text("precious")
    (tmp_path / "clip.mp4").symlink_to(precious)
    write = writing(app, policy)
    async with running(app):
        job = await write.submit(str(tmp_path / "clip.mp4"), "new")
        if policy == "skip":
            with pytest.raises(JobSkipped):
                await job.wait()
        else:
            [name] = await job.wait()
            assert name == ("clip-1.mp4" if policy == "rename" else "clip.mp4")
            made = tmp_path / name
            assert (made.read_text(), made.is_symlink()) == ("new", False)
    assert [path.read_text() for path in elsewhere.iterdir()] == ["precious"] * (
        leads_to == "a file"
    )


async def test_rename_finds_another_name_when_the_file_appeared_before_the_start(
    app: Fairlane, tmp_path: Path
) -> None:
    path = tmp_path / "clip.mp4"
    write = writing(app, "rename")
    async with running(app):
        await app.queues.pause("default")
        job = await write.submit(str(path), "new")
        path.write_text("somebody else's")
        await app.queues.resume("default")

        assert await job.wait() == ["clip-1.mp4"]
        assert path.read_text() == "somebody else's"


async def test_outputs_show_the_numbered_name_when_the_name_appeared_during_the_write(
    app: Fairlane, tmp_path: Path
) -> None:
    @app.task(outputs=["{path}"])
    async def write(ctx: Context, path: str) -> str:
        async with ctx.output(ctx.outputs[0]) as temporary:
            temporary.write_text("new")
            Path(path).write_text("somebody was faster")
        return ctx.outputs[0].name

    async with running(app):
        assert await (await write.submit(str(tmp_path / "clip.mp4"))).wait() == "clip-1.mp4"
    assert (tmp_path / "clip-1.mp4").read_text() == "new"


async def test_a_refused_submission_keeps_no_name(app: Fairlane, tmp_path: Path) -> None:
    app.queue("default", on_conflict="reject")
    path = str(tmp_path / "clip.mp4")
    write = writing(app, "rename")
    async with running(app):
        await app.queues.pause("default")
        there = await write.options(lane="x").submit(str(tmp_path / "other.mp4"), "a")
        for _ in range(2):
            with pytest.raises(Exception, match="already has an active job"):
                await write.options(lane="x").submit(path, "b")
        await there.cancel()
        await app.queues.resume("default")

        assert await (await write.submit(path, "b")).wait() == ["clip.mp4"]


async def test_a_job_that_is_cancelled_before_it_ran_gives_its_name_back(
    app: Fairlane, tmp_path: Path
) -> None:
    path = str(tmp_path / "clip.mp4")
    write = writing(app, "rename")
    async with running(app):
        await app.queues.pause("default")
        gone = await write.submit(path, "a")
        await gone.cancel()
        await app.queues.resume("default")

        assert await (await write.submit(path, "b")).wait() == ["clip.mp4"]


async def test_overwrite_replaces_an_existing_file(app: Fairlane, tmp_path: Path) -> None:
    path = tmp_path / "clip.mp4"
    path.write_text("old")
    write = writing(app, "overwrite")
    async with running(app):
        assert await (await write.submit(str(path), "new")).wait() == ["clip.mp4"]

    assert path.read_text() == "new"


async def test_skip_ends_the_job_when_the_output_exists_at_submission(
    app: Fairlane, tmp_path: Path
) -> None:
    path = tmp_path / "clip.mp4"
    path.write_text("old")
    write = writing(app, "skip")
    async with running(app):
        job = await write.submit(str(path), "new")
        with pytest.raises(JobSkipped, match=r"clip\.mp4 exists already"):
            await job.wait()
        assert (await job.show()).attempt == 0

    assert path.read_text() == "old"


async def test_skip_ends_the_job_when_the_output_was_made_before_its_start(
    app: Fairlane, tmp_path: Path
) -> None:
    path = tmp_path / "clip.mp4"
    write = writing(app, "skip")
    async with running(app):
        await app.queues.pause("default")
        job = await write.submit(str(path), "new")
        path.write_text("old")
        await app.queues.resume("default")
        with pytest.raises(JobSkipped, match=r"clip\.mp4 exists already"):
            await job.wait()

    assert path.read_text() == "old"


async def test_wait_blocks_the_job_until_the_path_is_free(app: Fairlane, tmp_path: Path) -> None:
    path = tmp_path / "clip.mp4"
    path.write_text("old")
    write = writing(app, "wait")
    async with running(app):
        job = await write.submit(str(path), "new")
        await reaches(job, "blocked")
        assert "exists" in (await job.show()).waiting_for[0].message
        path.unlink()

        assert await job.wait() == ["clip.mp4"]
        assert path.read_text() == "new"


async def test_an_output_that_another_job_writes_blocks_until_it_is_done(
    app: Fairlane, tmp_path: Path, doors: Doors
) -> None:
    path = tmp_path / "clip.mp4"
    write = writing(app, "overwrite", doors)
    async with running(app):
        first = await write.submit(str(path), "first")
        await doors.reached("first")
        second = await write.submit(str(path), "second")
        await reaches(second, "blocked")
        assert first.id in (await second.show()).waiting_for[0].message
        doors.open("first", "second")
        await first.wait()
        await second.wait()

    assert path.read_text() == "second"


@pytest.mark.parametrize("policy", ["rename", "overwrite", "skip", "wait"])
async def test_a_retried_job_replaces_its_own_outputs_under_the_same_names(
    app: Fairlane, tmp_path: Path, policy: str
) -> None:
    @app.task(outputs=["{path}"], on_output=policy, retry=Retry(times=1, first_seconds=5))
    async def work(ctx: Context, path: str) -> list[str]:
        for place in (ctx.outputs[0], tmp_path / "undeclared.txt"):
            async with ctx.output(place) as temporary:
                temporary.write_text(str(ctx.attempt))
        if ctx.attempt == 1:
            raise TimeoutError
        return sorted(path.name for path in tmp_path.glob("*.txt"))

    async with running(app) as world:
        job = await work.submit(str(tmp_path / "declared.txt"))
        await world.idle()
        await world.advance(5)

        assert await job.wait() == ["declared.txt", "undeclared.txt"]
    assert [path.read_text() for path in tmp_path.glob("*.txt")] == ["2", "2"]


@pytest.mark.parametrize(
    ("policy", "name", "text"),
    [("rename", "clip-1.mp4", "new"), ("overwrite", "clip.mp4", "new"), ("skip", "", "old")],
)
async def test_each_job_may_choose_its_policy_for_existing_files(
    app: Fairlane, tmp_path: Path, policy: str, name: str, text: str
) -> None:
    @app.task(outputs=["{path}"], on_output="{policy}")
    async def write(ctx: Context, path: str, policy: str) -> str:
        async with ctx.output(ctx.outputs[0]) as temporary:
            temporary.write_text("new")
        return ctx.outputs[0].name

    path = tmp_path / "clip.mp4"
    path.write_text("old")
    async with running(app):
        view = await app.jobs.wait((await write.submit(str(path), policy)).id)

    assert (view.state, view.result) == (("completed", name) if name else ("skipped", None))
    assert (tmp_path / (name or "clip.mp4")).read_text() == text


async def test_a_job_that_chose_to_wait_is_blocked_until_the_path_is_free(
    app: Fairlane, tmp_path: Path
) -> None:
    @app.task(outputs=["{path}"], on_output="{policy}")
    async def write(ctx: Context, path: str, policy: str) -> None:
        async with ctx.output(ctx.outputs[0]) as temporary:
            temporary.write_text("new")

    path = tmp_path / "clip.mp4"
    path.write_text("old")
    async with running(app):
        job = await write.submit(str(path), "wait")
        await reaches(job, "blocked")
        path.unlink()
        await job.wait()

    assert path.read_text() == "new"


async def test_a_policy_that_does_not_exist_is_refused_with_its_submission(
    app: Fairlane, tmp_path: Path
) -> None:
    @app.task(outputs=["{path}"], on_output="{policy}")
    async def write(path: str, policy: str) -> None: ...

    async with running(app):
        with pytest.raises(BadSetting, match="which became 'replace'; choose one of rename"):
            await write.submit(str(tmp_path / "clip.mp4"), "replace")
        assert (await app.jobs.list()).items == []


async def test_an_attempt_that_writes_one_name_twice_gets_two_files(
    app: Fairlane, tmp_path: Path
) -> None:
    @app.task
    async def work(ctx: Context) -> None:
        for text in "ab":
            async with ctx.output(tmp_path / "page.txt") as temporary:
                temporary.write_text(text)

    async with running(app):
        await (await work.submit()).wait()

    assert (tmp_path / "page.txt").read_text() == "a"
    assert (tmp_path / "page-1.txt").read_text() == "b"


async def test_a_failed_job_leaves_no_half_written_file(app: Fairlane, tmp_path: Path) -> None:
    @app.task
    async def work(ctx: Context) -> None:
        async with ctx.output(tmp_path / "clip.mp4") as temporary:
            temporary.write_text("half")
            raise ValueError("no")

    async with running(app):
        view = await app.jobs.wait((await work.submit()).id)

    assert view.state == "failed"
    assert [path.name for path in tmp_path.iterdir() if "clip" in path.name] == []


async def test_each_attempt_writes_to_a_different_temporary_file(
    app: Fairlane, tmp_path: Path
) -> None:
    """An attempt that counts as dead may still write when the next begins."""
    written: list[str] = []

    @app.task(retry=Retry(times=1, first_seconds=0))
    async def write(ctx: Context) -> None:
        async with ctx.output(tmp_path / "clip.mp4") as temporary:
            temporary.write_text(str(ctx.attempt))
            written.append(temporary.name)
            if ctx.attempt == 1:
                raise Retryable("later")

    async with running(app):
        await (await write.submit()).wait()

    assert len(set(written)) == 2
    assert [path.name for path in tmp_path.glob("*clip*")] == ["clip.mp4"]


async def test_what_is_published_at_the_end_of_a_job_is_one_commit_with_it(
    app: Fairlane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two commits would delay every caller that waits for the job."""
    monkeypatch.setattr("fairlane.worker.worker.SOON_SECONDS", 60.0)
    before: list[int] = []

    @app.task
    async def write(ctx: Context) -> None:
        async with ctx.output(tmp_path / "clip.mp4") as temporary:
            temporary.write_text("whole")
            before.append(app._engine.leader.commits)

    async with running(app):
        job = await write.submit()
        await job.wait()

        assert before == [app._engine.leader.commits - 1]
        assert [artifact.path for artifact in (await job.show()).artifacts] == [
            str(tmp_path / "clip.mp4")
        ]


async def test_what_is_published_long_before_the_end_is_known_soon(
    app: Fairlane, tmp_path: Path
) -> None:
    """An attempt after a kill must not publish the same file under another name."""
    published = asyncio.Event()

    @app.task
    async def write(ctx: Context) -> None:
        async with ctx.output(tmp_path / "clip.mp4") as temporary:
            temporary.write_text("whole")
        published.set()
        await asyncio.Event().wait()

    async with running(app):
        job = await write.submit()
        await published.wait()

        def unacknowledged_inputs() -> int:
            return len(app._engine.worker.unacknowledged())

        await eventually(
            lambda: unacknowledged_inputs() == 0, what="the leader to know of the file"
        )
        await job.cancel(outputs="delete")
        await app.jobs.wait(job.id)

    assert list(tmp_path.glob("*clip*")) == []


async def test_jobs_that_overwrite_one_path_write_in_the_order_of_their_acceptance(
    app: Fairlane, tmp_path: Path
) -> None:
    @app.task(outputs=["{path}"], on_output="overwrite")
    async def write(ctx: Context, path: str, text: str) -> None:
        async with ctx.output(ctx.outputs[0]) as temporary:
            temporary.write_text(text)

    async with running(app):
        for trial in range(10):
            path = tmp_path / f"{trial}.txt"
            calls = [write.call(str(path), text) for text in ("older", "middle", "younger")]
            await app.submit_many(calls)
            await app.drain()

            assert path.read_text() == "younger"
