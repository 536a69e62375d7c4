"""Queues: order, changes of the limit, pauses, and draining."""

import asyncio

import pytest

from fairlane import Fairlane, Priority, UnknownName
from fairlane.client.drain import is_drained
from fairlane.testing import running
from tests.support.apps import Doors, states


async def test_a_job_that_can_run_starts_when_it_is_accepted(app: Fairlane, doors: Doors) -> None:
    @app.task
    async def work() -> None:
        await doors.wait("work")

    async with running(app):
        job = await work.submit()

        assert (await job.show()).state == "running"


async def test_jobs_of_one_priority_run_in_the_order_of_their_acceptance(app: Fairlane) -> None:
    order: list[str] = []
    app.queue("default", max_concurrent=1)

    @app.task
    async def work(name: str) -> None:
        order.append(name)

    async with running(app) as world:
        await app.queues.pause("default")
        for name, priority in (("l", Priority.LOW), ("n1", Priority.NORMAL), ("h", Priority.HIGH),
                               ("n2", Priority.NORMAL)):  # fmt: skip
            await work.options(priority=priority).submit(name)
        await app.queues.resume("default")
        await world.idle()

    assert order == ["h", "n1", "n2", "l"]


async def test_moving_jobs_and_setting_priorities_change_the_order(app: Fairlane) -> None:
    order: list[str] = []
    app.queue("default", max_concurrent=1)

    @app.task
    async def work(name: str) -> None:
        order.append(name)

    async with running(app) as world:
        await app.queues.pause("default")
        a, b, c, d = await app.submit_many([work.call(name) for name in "abcd"])
        await d.move(to="head")
        await a.move(after=b)
        await c.set_priority(Priority.HIGH)
        await app.queues.resume("default")
        await world.idle()

    assert order == ["c", "d", "b", "a"]


async def test_a_job_of_a_free_lane_starts_before_an_earlier_job_of_a_busy_lane(
    app: Fairlane, doors: Doors
) -> None:
    @app.task(lane="{lane}")
    async def work(lane: str, name: str) -> None:
        await doors.wait(name)

    async with running(app):
        jobs = [
            await work.submit(lane, name) for lane, name in (("x", "1"), ("x", "2"), ("y", "3"))
        ]

        assert await states(jobs) == ["running", "queued", "running"]
        doors.open("1")
        await doors.reached("2")


async def test_no_job_of_a_strict_queue_starts_before_its_head(app: Fairlane, doors: Doors) -> None:
    app.queue("default", order="strict")

    @app.task(lane="{lane}")
    async def work(lane: str, name: str) -> None:
        await doors.wait(name)

    async with running(app):
        jobs = [
            await work.submit(lane, name) for lane, name in (("x", "1"), ("x", "2"), ("y", "3"))
        ]

        assert await states(jobs) == ["running", "queued", "queued"]


async def test_a_strict_queue_is_listed_in_the_order_in_which_its_jobs_run(app: Fairlane) -> None:
    ran: list[str] = []
    app.queue("default", order="strict", max_concurrent=1)

    @app.task
    async def work(name: str) -> None:
        ran.append(name)

    async with running(app) as world:
        await app.queues.pause("default")
        for name, priority in (("a", Priority.NORMAL), ("b", Priority.HIGH), ("c", Priority.LOW)):
            await work.options(priority=priority).submit(name)
        first = await app.queues.line("default", limit=1)
        rest = await app.queues.line("default", cursor=first.next)
        listed = (await app.snapshot()).waiting["default"]
        await app.queues.resume("default")
        await world.idle()

    assert [job.params["name"] for job in first.items + rest.items] == ran == ["a", "b", "c"]
    assert [job.params["name"] for job in listed] == ran


async def test_the_buckets_of_a_round_robin_queue_take_turns(app: Fairlane) -> None:
    order: list[str] = []
    app.queue("default", order="round_robin", max_concurrent=1)

    @app.task(bucket="{owner}")
    async def work(owner: str) -> None:
        order.append(owner)

    async with running(app) as world:
        await app.queues.pause("default")
        await app.submit_many([work.call(owner) for owner in "aaabbc"])
        await app.queues.resume("default")
        await world.idle()

    assert order == ["a", "b", "c", "a", "b", "a"]


async def test_a_raised_limit_fills_free_slots_at_once(app: Fairlane, doors: Doors) -> None:
    app.queue("default", max_concurrent=1)

    @app.task
    async def work(name: str) -> None:
        await doors.wait(name)

    async with running(app):
        jobs = await app.submit_many([work.call(name) for name in "abcd"])
        assert await states(jobs) == ["running", "queued", "queued", "queued"]
        await app.queues.set("default", max_concurrent=3)

        assert await states(jobs) == ["running", "running", "running", "queued"]


async def test_a_lowered_limit_stops_no_job_and_starts_none_until_the_count_is_below_it(
    app: Fairlane, doors: Doors
) -> None:
    app.queue("default", max_concurrent=3)

    @app.task
    async def work(name: str) -> None:
        await doors.wait(name)

    async with running(app):
        jobs = await app.submit_many([work.call(name) for name in "abcde"])
        await app.queues.set("default", max_concurrent=2)
        assert (await states(jobs)).count("running") == 3
        doors.open("a")
        await jobs[0].wait()
        assert await states(jobs) == ["completed", "running", "running", "queued", "queued"]
        doors.open("b")
        await jobs[1].wait()

        assert await states(jobs) == ["completed", "completed", "running", "running", "queued"]


async def test_a_setting_of_an_operator_is_cleared_by_none(app: Fairlane) -> None:
    app.queue("default", max_concurrent=3)
    async with running(app):
        await app.queues.set("default", max_concurrent=6)
        raised = (await app.snapshot()).queues["default"]
        await app.queues.set("default", max_concurrent=None)
        cleared = (await app.snapshot()).queues["default"]

    assert (raised.settings.max_concurrent, raised.changed_by_operator) == (6, ["max_concurrent"])
    assert (cleared.settings.max_concurrent, cleared.changed_by_operator) == (3, [])


async def test_a_paused_queue_starts_no_job_and_running_jobs_continue(
    app: Fairlane, doors: Doors
) -> None:
    @app.task
    async def work(name: str) -> str:
        await doors.wait(name)
        return name

    async with running(app):
        first = await work.submit("a")
        await app.queues.pause("default")
        second = await work.submit("b")
        doors.open("a", "b")
        assert await first.wait() == "a"
        assert (await second.show()).state == "queued"
        assert (await app.snapshot()).queues["default"].paused == "paused"
        await app.queues.resume("default")

        assert await second.wait() == "b"


async def test_drain_returns_after_the_running_jobs_when_a_queue_stops_after_current(
    app: Fairlane, doors: Doors
) -> None:
    @app.task
    async def work(name: str) -> None:
        await doors.wait(name)

    async with running(app):
        current = await work.submit("a")
        await app.queues.stop_after_current("default")
        waiting = await work.submit("b")
        draining = asyncio.create_task(app.drain("default"))
        await doors.reached("a")
        assert (await app.snapshot()).queues["default"].paused == "after_current"
        assert not draining.done()
        doors.open("a")
        await draining

        assert await states([current, waiting]) == ["completed", "queued"]
        assert (await app.snapshot()).queues["default"].paused == "paused"


async def test_a_plain_pause_does_not_end_drain(app: Fairlane) -> None:
    @app.task
    async def work() -> None: ...

    async with running(app):
        await app.queues.pause("default")
        job = await work.submit()
        assert not await is_drained(app._commands, "default")
        draining = asyncio.create_task(app.drain("default"))
        await app.queues.resume("default")
        await draining
        assert (await job.show()).state == "completed"


async def test_a_queue_that_has_stopped_after_current_ends_drain_until_it_is_resumed(
    app: Fairlane,
) -> None:
    @app.task
    async def work() -> None: ...

    async with running(app):
        await app.queues.stop_after_current("default")
        await work.submit()
        await app.drain("default")
        await app.queues.pause("default")
        assert not await is_drained(app._commands, "default")


async def test_drain_returns_when_all_jobs_have_ended(app: Fairlane) -> None:
    @app.task
    async def work() -> None: ...

    async with running(app):
        jobs = await app.submit_many([work.call() for _ in range(20)])
        await app.drain()

        assert await states(jobs) == ["completed"] * 20


async def test_one_call_shows_every_queue_with_its_waiting_jobs_in_order(
    app: Fairlane, doors: Doors
) -> None:
    app.queue("phones", max_concurrent=1, order="strict")
    app.queue("mail")

    @app.task(queue="phones", lane="{account}")
    async def post(account: str) -> None:
        await doors.wait(account)

    async with running(app) as world:
        await app.queues.pause("mail")
        first = await post.submit("ann")
        await doors.reached("ann")
        world.clock.advance(10)
        waiting = [await post.submit(account) for account in ("ben", "cy", "dee")]
        info = await app.queues.info(limit=2)
        all_jobs = (await app.queues.info())["phones"].waiting
        doors.open("ann", "ben", "cy", "dee")

    assert set(info) == {"default", "mail", "phones"}
    phones, mail = info["phones"], info["mail"]
    assert (mail.paused, mail.running, mail.waiting, mail.counts) == ("paused", [], [], {})
    assert (phones.settings.max_concurrent, phones.settings.order) == (1, "strict")
    assert phones.counts == {"running": 1, "queued": 3}
    assert [job.id for job in phones.running] == [first.id]
    assert [(job.id, job.task, job.lane) for job in phones.waiting] == [
        (waiting[0].id, "post", "ben"),
        (waiting[1].id, "post", "cy"),
    ]
    assert phones.waiting[0].created_at > phones.running[0].created_at
    assert [job.id for job in all_jobs] == [job.id for job in waiting]


async def test_one_call_shows_every_running_job_with_its_worker_the_oldest_first(
    app: Fairlane, doors: Doors
) -> None:
    app.queue("mail")

    @app.task
    async def work(name: str) -> None:
        await doors.wait(name)

    async with running(app) as world:
        jobs = []
        for name, queue in (("a", "mail"), ("b", "default"), ("c", "mail")):
            jobs.append(await work.options(queue=queue).submit(name))
            world.clock.advance(1)
        await doors.crowd(3)
        views = await app.jobs.running()
        mail = await app.jobs.running(queue="mail")
        doors.open("a", "b", "c")

    assert [view.id for view in views] == [job.id for job in jobs]
    assert all(view.worker and view.started_at for view in views)
    assert [view.id for view in mail] == [jobs[0].id, jobs[2].id]


async def test_information_about_an_unknown_queue_is_an_error(app: Fairlane) -> None:
    async with running(app):
        with pytest.raises(UnknownName, match='queue "mial" is not known'):
            await app.jobs.running(queue="mial")
