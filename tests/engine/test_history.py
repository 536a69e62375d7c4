"""Ended jobs: listing them, running them again as new jobs, and retrying them."""

from datetime import UTC, datetime

import pytest

from fairlane import (
    BadSetting,
    Duplicate,
    Fairlane,
    IllegalTransition,
    JobFailed,
    LaneBusy,
    NotFound,
)
from fairlane.testing import running
from tests.support.apps import Doors, states


async def test_history_is_filtered_by_state_task_queue_lane_and_time(app: Fairlane) -> None:
    app.queue("other")

    @app.task(lane="{name}")
    async def good(name: str) -> None: ...

    @app.task(queue="other")
    async def bad() -> None:
        raise ValueError("no")

    async with running(app) as world:
        begin = datetime.fromtimestamp(world.clock.now(), UTC)
        a = await good.submit("a")
        await world.idle()
        await world.advance(60)
        middle = datetime.fromtimestamp(world.clock.now(), UTC)
        b = await good.submit("b")
        await world.idle()
        c = await bad.submit()
        await world.idle()

        async def found(**query: object) -> list[str]:
            return [view.id for view in (await app.jobs.history(**query)).items]  # type: ignore[arg-type]

        assert await found() == [c.id, b.id, a.id]
        assert await found(states=["failed"]) == [c.id]
        assert await found(states=["completed", "failed"]) == [c.id, b.id, a.id]
        assert await found(states=["cancelled"]) == []
        assert await found(task="good") == [b.id, a.id]
        assert await found(queue="other") == [c.id]
        assert await found(lane="a") == [a.id]
        assert await found(since=middle) == [c.id, b.id]
        assert await found(since=begin, until=middle) == [a.id]


async def test_pages_of_history_contain_each_job_once(app: Fairlane) -> None:
    @app.task
    async def work(number: int) -> None: ...

    async with running(app) as world:
        await app.submit_many([work.call(number) for number in range(7)])
        await world.idle()
        sizes: list[int] = []
        found: list[str] = []
        cursor: str | None = None
        while True:
            page = await app.jobs.history(limit=3, cursor=cursor)
            sizes.append(len(page.items))
            found += [view.id for view in page.items]
            cursor = page.next
            if cursor is None:
                break

        assert sizes == [3, 3, 1]
        assert len(set(found)) == 7


@pytest.mark.parametrize("cursor", ["9" * 30, "-1", str(2**63), "x", "1_0", "9" * 900])
async def test_a_cursor_that_no_page_returned_is_refused(app: Fairlane, cursor: str) -> None:
    async with running(app):
        with pytest.raises(BadSetting, match="is not a cursor"):
            await app.jobs.history(cursor=cursor)
        with pytest.raises(BadSetting, match="is not a cursor"):
            await app.jobs.list(cursor=f"ended:{cursor}")


async def test_a_rerun_submits_a_new_job_with_the_original_parameters(app: Fairlane) -> None:
    @app.task
    async def work(number: int) -> int:
        return number

    async with running(app):
        job = await work.options(meta={"by": "ann"}).submit(5)
        await job.wait()
        again = await job.rerun()

        assert again.id != job.id
        assert await again.wait() == 5
        assert (await again.show()).meta == {"by": "ann"}
        assert (await job.show()).state == "completed"


async def test_an_unknown_job_cannot_be_rerun(app: Fairlane) -> None:
    async with running(app):
        with pytest.raises(NotFound):
            await app.jobs.rerun("nobody")


async def test_a_retry_by_hand_runs_the_same_job_again(app: Fairlane) -> None:
    tries: list[int] = []

    @app.task
    async def work() -> str:
        tries.append(1)
        if len(tries) == 1:
            raise ValueError("no")
        return "done"

    async with running(app):
        job = await work.submit()
        with pytest.raises(JobFailed, match="no"):
            await job.wait()
        await job.retry()

        assert await job.wait() == "done"
        view = await job.show()
        assert (view.attempt, view.error) == (2, None)
        assert [v.id for v in (await app.jobs.history()).items] == [job.id]


async def test_a_retry_by_hand_goes_to_the_head_or_to_the_tail(app: Fairlane) -> None:
    order: list[str] = []

    @app.task
    async def work(name: str) -> None:
        order.append(name)

    app.queue("default", max_concurrent=1)
    async with running(app) as world:
        await app.queues.pause("default")
        head = await work.submit("head")
        tail = await work.submit("tail")
        await work.submit("middle")
        await head.cancel()
        await tail.cancel()
        await head.retry()
        await tail.retry(place="tail")
        await app.queues.resume("default")
        await world.idle()

    assert order == ["head", "middle", "tail"]


async def test_a_retry_or_rerun_is_refused_by_a_busy_lane_or_a_duplicate(
    app: Fairlane, doors: Doors
) -> None:
    app.queue("archive", on_conflict="reject")

    @app.task(queue="archive", lane="{name}")
    async def in_lane(name: str, waits: bool) -> None:
        if waits:
            await doors.wait("lane")
        raise ValueError("no")

    @app.task(dedupe="{name}")
    async def deduped(name: str, waits: bool) -> None:
        if waits:
            await doors.wait("dedupe")
        raise ValueError("no")

    async with running(app) as world:
        failed = [await in_lane.submit("x", waits=False), await deduped.submit("x", waits=False)]
        await world.idle()
        active = [await in_lane.submit("x", waits=True), await deduped.submit("x", waits=True)]
        await doors.reached("lane", "dedupe")
        for repeat in ("retry", "rerun"):
            with pytest.raises(LaneBusy) as busy:
                await getattr(failed[0], repeat)()
            with pytest.raises(Duplicate) as duplicate:
                await getattr(failed[1], repeat)()
            assert [busy.value.active_job, duplicate.value.active_job] == [j.id for j in active]

        assert await states(failed) == ["failed", "failed"]


async def test_a_completed_job_cannot_be_retried(app: Fairlane) -> None:
    @app.task
    async def work() -> None: ...

    async with running(app):
        job = await work.submit()
        await job.wait()
        with pytest.raises(IllegalTransition, match="legal next states: none"):
            await job.retry()
