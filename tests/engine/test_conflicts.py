"""Conflicts between submissions: busy lanes, dedupe keys, and submissions of many jobs."""

import pytest

from fairlane import BadParameters, Duplicate, Fairlane, LaneBusy, UnknownName
from fairlane.testing import running
from tests.support.apps import Doors


async def test_reject_answers_with_a_conflict_that_names_the_active_job(
    app: Fairlane, doors: Doors
) -> None:
    app.queue("archive", on_conflict="reject")

    @app.task(queue="archive", lane="{handle}")
    async def archive(handle: str) -> None:
        await doors.wait(handle)

    async with running(app):
        job = await archive.submit("nasa")
        with pytest.raises(LaneBusy, match=job.id) as refused:
            await archive.submit("nasa")
        other = await archive.submit("esa")

        assert refused.value.active_job == job.id
        assert (await other.show()).state == "running"
        assert (await app.snapshot()).counts == {"archive": {"running": 2}}


async def test_on_conflict_queue_runs_the_second_job_after_the_first(
    app: Fairlane, doors: Doors
) -> None:
    @app.task(lane="x")
    async def work(name: str) -> None:
        await doors.wait(name)

    async with running(app):
        await work.submit("a")
        second = await work.submit("b")
        assert (await second.show()).state == "queued"
        doors.open("a", "b")
        await second.wait()

    assert doors.arrived == ["a", "b"]
    assert doors.most_inside == 1


async def test_merge_returns_the_same_job_for_equal_parameters_and_refuses_other_parameters(
    app: Fairlane, doors: Doors
) -> None:
    app.queue("compress", on_conflict="merge")

    @app.task(queue="compress", lane="{path}")
    async def compress(path: str, quality: int = 5) -> int:
        await doors.wait(path)
        return quality

    async with running(app):
        job = await compress.submit("clip")
        same = await compress.submit("clip", quality=5)
        with pytest.raises(LaneBusy):
            await compress.submit("clip", quality=6)
        doors.open("clip")

        assert (job.merged, same.merged, same.id) == (False, True, job.id)
        assert await same.wait() == 5


async def test_submissions_with_the_same_output_path_are_merged_into_one_job(
    app: Fairlane, doors: Doors, tmp_path: object
) -> None:
    app.queue("compress", on_conflict="merge")

    @app.task(queue="compress", lane="{path}", outputs=["{path}"])
    async def compress(path: str) -> None:
        await doors.wait("a")

    async with running(app):
        job = await compress.submit(f"{tmp_path}/clip.mp4")
        same = await compress.submit(f"{tmp_path}/clip.mp4")

        assert (same.merged, same.id) == (True, job.id)


async def test_a_running_lane_refuses_every_job_and_a_queued_lane_only_duplicates(
    app: Fairlane, doors: Doors
) -> None:
    app.queue("devices", on_conflict="reject_running")

    @app.task(queue="devices", lane="{account}", dedupe="{account}:sign_in")
    async def sign_in(account: str) -> None:
        await doors.wait(account)

    @app.task(queue="devices", lane="{account}", dedupe="{account}:collect")
    async def collect(account: str) -> None: ...

    async with running(app):
        await app.queues.pause("devices")
        await sign_in.submit("ann")
        with pytest.raises(Duplicate):
            await sign_in.submit("ann")
        queued = await collect.submit("ann")
        await queued.cancel()
        await app.queues.resume("devices")
        await doors.reached("ann")
        with pytest.raises(LaneBusy):
            await collect.submit("ann")


async def test_is_queued_and_is_running_have_no_side_effects(app: Fairlane, doors: Doors) -> None:
    @app.task(lane="x", dedupe="x:work")
    async def work() -> None:
        await doors.wait("x")

    async with running(app):

        async def asked() -> tuple[bool, bool]:
            return await app.jobs.is_queued("x:work"), await app.lanes.is_running("default", "x")

        before = await asked()
        await app.queues.pause("default")
        job = await work.submit()
        queued = await asked()
        await app.queues.resume("default")
        await doors.reached("x")
        running_now = await asked()
        seq = (await app.snapshot()).seq
        await asked()
        untouched = (await app.snapshot()).seq == seq
        doors.open("x")
        await job.wait()

        assert [before, queued, running_now, await asked()] == [
            (False, False), (True, False), (False, True), (False, False),
        ]  # fmt: skip
        assert untouched


async def test_many_jobs_at_once_keep_their_order(app: Fairlane) -> None:
    order: list[int] = []
    app.queue("default", max_concurrent=1)

    @app.task
    async def work(number: int) -> None:
        order.append(number)

    async with running(app) as world:
        await app.submit_many([work.call(number) for number in range(50)])
        await world.idle()

    assert order == list(range(50))


async def test_one_conflict_refuses_all_of_a_submission_and_names_it(app: Fairlane) -> None:
    @app.task(dedupe="{name}")
    async def work(name: str) -> None: ...

    async with running(app):
        await app.queues.pause("default")
        there = await work.submit("b")
        with pytest.raises(Duplicate) as refused:
            await app.submit_many([work.call("a"), work.call("b"), work.call("c")])
        with pytest.raises(Duplicate, match="part of this submission"):
            await app.submit_many([work.call("d"), work.call("d")])
        now = await app.snapshot()

    assert refused.value.active_job == there.id
    assert now.counts == {"default": {"queued": 1}}


async def test_unknown_names_are_refused_with_a_suggestion_and_no_job_is_stored(
    app: Fairlane,
) -> None:
    app.queue("archive")

    @app.task(limits=["gpu-{name}"])
    async def limited(name: str) -> None: ...

    @app.task
    async def work(number: int) -> None: ...

    async with running(app):
        with pytest.raises(UnknownName, match=r'queue "arhive".*did you mean "archive"'):
            await work.options(queue="arhive").submit(1)
        with pytest.raises(UnknownName, match='task "wrok" is not known; did you mean "work"'):
            await app.jobs.submit_by_name("wrok", {"number": 1})
        with pytest.raises(UnknownName, match="limit"):
            await limited.submit("a")
        with pytest.raises(BadParameters, match=r"number: .*got 'x'"):
            await app.jobs.submit_by_name("work", {"number": "x"})
        now = await app.snapshot()

    assert (now.counts, now.ended) == ({}, [])


async def test_a_group_runs_when_all_its_dependencies_have_completed(
    app: Fairlane, doors: Doors
) -> None:
    @app.task
    async def part(name: str) -> None:
        await doors.wait(name)
        if name == "bad":
            raise ValueError(name)

    @app.task
    async def whole() -> str:
        return "whole"

    async with running(app):
        a, b, bad = await app.submit_many([part.call(name) for name in ("a", "b", "bad")])
        group = await whole.options(depends_on=[a, b]).submit()
        broken = await whole.options(depends_on=[a, bad]).submit()
        anyway = await whole.options(depends_on=[bad], run_anyway=True).submit()
        waiting = await group.show()
        doors.open("a", "b", "bad")

        assert (waiting.state, waiting.waiting_for[0].code) == ("blocked", "dependencies")
        assert await group.wait() == "whole"
        assert await anyway.wait() == "whole"
        view = await app.jobs.wait(broken.id)
        assert view.state == "skipped"
        assert f"depends on job {bad.id}, which ended as failed" in view.waiting_for[0].message


async def test_a_submission_sent_twice_with_its_id_is_one_job(app: Fairlane) -> None:
    @app.task
    async def work() -> None: ...

    async with running(app):
        await app.queues.pause("default")
        first = await work.options(id="01890000-0000-7000-8000-000000000001").submit()
        again = await work.options(id="01890000-0000-7000-8000-000000000001").submit()

        assert first.id == again.id
        assert (await app.snapshot()).counts == {"default": {"queued": 1}}
