"""Preconditions: until they hold, the job is blocked and shows the reason."""

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from fairlane import Context, Fairlane, JobFailed, free_space
from fairlane.task.disk_space import free_bytes
from fairlane.testing import running
from tests.support.apps import Doors, reaches, states
from tests.support.eventually import eventually


async def test_a_job_without_room_is_blocked_with_the_reason_and_comes_back_by_itself(
    app: Fairlane, tmp_path: Path
) -> None:
    free = tmp_path / "free"
    free.write_text("10")

    def has_room(values: Mapping[str, Any]) -> str | None:
        there = int(free.read_text())
        return None if there >= values["size"] else f"needs {values['size']} free, {there} is free"

    @app.task(preconditions=[has_room])
    async def work(size: int) -> str:
        return "written"

    async with running(app):
        job = await work.submit(100)
        await reaches(job, "blocked")
        view = await job.show()
        why = await job.explain()
        free.write_text("1000")

        assert [(w.code, w.message) for w in view.waiting_for] == [
            ("precondition", "needs 100 free, 10 is free")
        ]
        assert "needs 100 free, 10 is free" in [r["message"] for r in why["reasons"]]
        assert await job.wait() == "written"
        assert (await job.show()).attempt == 1


async def test_free_space_blocks_a_job_that_needs_more_than_the_disk_has(
    app: Fairlane, tmp_path: Path
) -> None:
    @app.task(preconditions=[free_space("{folder}", at_least=lambda values: values["size"])])
    async def work(folder: str, size: int) -> str:
        return "written"

    async with running(app):
        small = await work.submit(str(tmp_path), 1)
        huge = await work.submit(str(tmp_path), free_bytes(tmp_path) * 1000)
        await reaches(huge, "blocked")
        [reason] = (await huge.show()).waiting_for

        assert await small.wait() == "written"
        assert reason.message.startswith("needs ")
        assert f"free in {tmp_path}" in reason.message
        assert reason.code == "disk_space"
        assert reason.facts["folder"] == str(tmp_path)
        assert int(reason.facts["needed_bytes"]) > int(reason.facts["free_bytes"]) > 0


async def test_a_blocked_job_takes_no_slot_and_no_resource(app: Fairlane, doors: Doors) -> None:
    app.queue("default", max_concurrent=1)
    app.resource("disk", 1)

    @app.task(preconditions=[lambda values: values["why"]], uses={"disk": 1})
    async def work(why: str | None) -> None:
        await doors.wait("work")

    async with running(app):
        blocked = await work.submit("not yet")
        await reaches(blocked, "blocked")
        free = await work.submit(None)
        await doors.reached("work")

        assert await states([blocked, free]) == ["blocked", "running"]


async def test_a_blocked_job_can_be_cancelled(app: Fairlane) -> None:
    @app.task(preconditions=[lambda values: "not yet"])
    async def work() -> None: ...

    async with running(app):
        job = await work.submit()
        await reaches(job, "blocked")
        await job.cancel()

        assert (await job.show()).state == "cancelled"


async def test_a_precondition_that_raises_fails_its_job(app: Fairlane) -> None:
    def broken(values: Mapping[str, Any]) -> str | None:
        raise KeyError("size")

    @app.task(preconditions=[broken])
    async def work() -> None: ...

    async with running(app):
        with pytest.raises(JobFailed, match="size"):
            await (await work.submit()).wait()


async def test_who_is_cancelled_while_it_is_looked_at_leaves_its_name_to_the_next(
    app: Fairlane, tmp_path: Path, doors: Doors
) -> None:
    asked, answer = threading.Event(), threading.Event()

    def looks_long(values: Mapping[str, Any]) -> str | None:
        if values["name"] == "second":
            asked.set()
            answer.wait(20)
        return None

    app.queue("line", max_concurrent=1)

    @app.task(queue="line", preconditions=[looks_long], outputs=[str(tmp_path / "clip.mp4")])
    async def work(ctx: Context, name: str) -> str:
        await doors.wait(name)
        return ctx.outputs[0].name

    async with running(app):
        first = await work.submit("first")
        await doors.reached("first")
        second = await work.submit("second")
        doors.open("first", "third")
        await first.wait()
        await eventually(asked.is_set, what="the look at the second")
        await second.cancel()
        answer.set()
        assert (await app.jobs.wait(second.id)).state == "cancelled"
        third = await work.submit("third")
        assert await third.wait() == "clip.mp4"


async def test_a_precondition_that_raises_stop_iteration_fails_only_its_job(
    app: Fairlane, doors: Doors
) -> None:
    asked, answer = threading.Event(), threading.Event()

    def finds_nothing(values: Mapping[str, Any]) -> str | None:
        if values["name"] == "second":
            asked.set()
            answer.wait(20)
            return next(iter(()))  # a future cannot hold StopIteration
        return None

    app.queue("line", max_concurrent=1)

    @app.task(queue="line", preconditions=[finds_nothing])
    async def work(name: str) -> None:
        await doors.wait(name)

    async with running(app):
        first = await work.submit("first")
        await doors.reached("first")
        second = await work.submit("second")
        doors.open("first", "third")
        await first.wait()
        await eventually(asked.is_set, what="the look at the second")
        await reaches(second, "running")  # it waits for the early check by now
        answer.set()
        assert (await app.jobs.wait(second.id)).state == "failed"
        await (await work.submit("third")).wait()


async def test_a_strict_head_whose_precondition_fails_is_not_passed(app: Fairlane) -> None:
    app.queue("strict", order="strict", max_concurrent=2)
    open_now = threading.Event()
    ran: list[str] = []

    def is_open(values: Mapping[str, Any]) -> str | None:
        return None if values["name"] != "head" or open_now.is_set() else "closed"

    @app.task(queue="strict", preconditions=[is_open])
    async def work(name: str) -> None:
        ran.append(name)

    async with running(app) as world:
        head, *others = await app.submit_many([work.call(name) for name in ("head", "b", "c")])
        await reaches(head, "blocked")
        await world.idle()
        waiting = await states(others)
        why = await others[0].explain()
        open_now.set()
        await app.drain()

    assert waiting == ["queued", "queued"]
    assert f"its head, job {head.id}, is blocked" in str(why["reasons"])
    assert ran == ["head", "b", "c"]


async def test_jobs_of_a_strict_queue_run_together_once_their_checks_have_passed(
    app: Fairlane, doors: Doors
) -> None:
    app.queue("strict", order="strict", max_concurrent=2)

    @app.task(queue="strict", preconditions=[lambda values: None])
    async def work(name: str) -> None:
        await doors.wait(name)

    async with running(app):
        first, second, third = await app.submit_many([work.call(name) for name in "abc"])
        await doors.reached("a")
        await doors.reached("b")
        together = [(await job.show()).state for job in (first, second, third)]
        starting = (await first.show()).waiting_for
        for name in "abc":
            doors.open(name)
        await app.drain()

    assert together == ["running", "running", "queued"]
    assert starting == []
