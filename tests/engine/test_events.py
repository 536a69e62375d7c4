"""Events: in order and without gaps, on streams of all jobs or of one, and with the snapshot."""

import asyncio
from contextlib import aclosing
from typing import Any

from fairlane import Context, EventView, Fairlane, Snapshot
from fairlane.core.decisions import Changes, Event
from fairlane.engine.event_feed import EventFeed
from fairlane.testing import running
from tests.support.apps import Doors
from tests.support.eventually import eventually
from tests.support.stores import MemoryPlace, a_job, admitted


async def until(app: Fairlane, last: int, **wanted: Any) -> list[EventView]:
    """Return the events of a stream up to the number `last`."""
    seen: list[EventView] = []
    async with aclosing(app.events.follow(**wanted)) as events:
        async for event in events:
            seen.append(event)
            if event.seq >= last:
                break
    return seen


async def test_every_event_has_the_next_number_and_names_the_previous_event(
    app: Fairlane, doors: Doors
) -> None:
    register(app, doors)
    async with running(app) as world:
        begin = (await app.snapshot()).seq
        await happen(app, doors)
        await world.app._engine.settled()
        end = (await app.snapshot()).seq
        seen = await until(app, end, after=begin)

    assert [event.seq for event in seen] == list(range(begin + 1, end + 1))
    assert [event.prev for event in seen] == list(range(begin, end))


async def test_events_of_a_filtered_stream_name_the_previous_event_of_that_stream(
    app: Fairlane, doors: Doors
) -> None:
    register(app, doors)
    async with running(app) as world:
        begin = (await app.snapshot()).seq
        await happen(app, doors)
        await world.app._engine.settled()
        end = (await app.snapshot()).seq
        everything = await until(app, end, after=begin)
        job = everything[0].job
        of_queue = [event for event in everything if event.queue == "other"]
        of_job = [event for event in everything if event.job == job]
        streams = [
            await until(app, of_queue[-1].seq, after=begin, queue="other"),
            await until(app, of_job[-1].seq, after=begin, job=job),
        ]

    for stream, expected in zip(streams, [of_queue, of_job], strict=True):
        assert [event.seq for event in stream] == [event.seq for event in expected]
        assert [event.prev for event in stream] == [begin, *(e.seq for e in expected[:-1])]


def register(app: Fairlane, doors: Doors) -> None:
    app.queue("other", max_concurrent=1)

    @app.task(name="work", lane="{name}")
    async def work(ctx: Context, name: str) -> str:
        ctx.report(downloaded=1)
        ctx.log(name)
        if name == "bad":
            raise ValueError(name)
        if name == "held":
            await doors.wait(name)
        return name


async def happen(app: Fairlane, doors: Doors) -> None:
    """Run jobs that complete and fail in two queues; one job is left running."""
    work = app.tasks["work"]
    jobs = [await work.submit(name) for name in ("a", "b", "bad")]
    jobs += [await work.options(queue="other").submit(name) for name in "cde"]
    await work.submit("held")
    await doors.reached("held")
    for job in jobs:
        await app.jobs.wait(job.id)


def follow(states: dict[str, str], event: EventView) -> None:
    if event.type == "job_state_changed" and event.job is not None:
        states[event.job] = event.data["state"]


def shown(snapshot: Snapshot) -> dict[str, str]:
    waiting = [view for line in snapshot.waiting.values() for view in line]
    return {view.id: view.state for view in (*snapshot.running, *waiting, *snapshot.ended)}


async def test_a_snapshot_and_the_events_after_it_give_the_next_snapshot(
    app: Fairlane, doors: Doors
) -> None:
    register(app, doors)
    async with running(app) as world:
        await app.queues.pause("other")
        first = await app.snapshot()
        await happen_in_part(app, doors)
        middle = await app.snapshot()
        await app.queues.resume("other")
        doors.open("held")
        await world.idle()
        last = await app.snapshot()
        for begin in (first, middle):
            states = shown(begin)
            for event in await until(app, last.seq, after=begin.seq):
                follow(states, event)
            assert states == shown(last)


async def happen_in_part(app: Fairlane, doors: Doors) -> None:
    work = app.tasks["work"]
    for name in ("a", "bad"):
        await app.jobs.wait((await work.submit(name)).id)
    await work.submit("held")
    for name in "cd":
        await work.options(queue="other").submit(name)


async def test_a_stream_without_a_start_number_begins_with_the_next_event(app: Fairlane) -> None:
    @app.task
    async def work() -> None: ...

    async with running(app):
        await (await work.submit()).wait()
        events = app.events.follow()
        following = asyncio.ensure_future(anext(events))
        await eventually(lambda: app._engine.feed.has_followers)
        now = (await app.snapshot()).seq
        await app.queues.pause("default")
        event = await following
        await events.aclose()

    assert (event.type, event.queue) == ("queue_changed", "default")
    assert event.seq > event.prev >= now - 1


async def test_early_and_late_followers_receive_the_same_events(
    app: Fairlane, doors: Doors
) -> None:
    register(app, doors)
    async with running(app) as world:
        begin = (await app.snapshot()).seq
        early = asyncio.create_task(until(app, begin + 40, after=begin))
        await happen(app, doors)
        doors.open("held")
        for _ in range(5):
            await app.queues.pause("default")
            await app.queues.resume("default")
        await world.idle()
        late = await until(app, begin + 40, after=begin)

        assert [e.seq for e in await early] == [e.seq for e in late]


async def test_a_follower_after_a_future_number_receives_a_resync_event(app: Fairlane) -> None:
    async with running(app):
        now = (await app.snapshot()).seq
        seen = [event async for event in app.events.follow(after=now + 1000)]

    assert [event.type for event in seen] == ["resync"]


async def test_a_follower_after_a_deleted_event_receives_a_resync_event() -> None:
    store = MemoryPlace().handle(keep_events=10)
    await store.open()
    await store.lead()
    await store.commit(admitted(a_job("a")), 0.0)
    for seq in range(1, 41):
        await store.commit(
            Changes(events=[Event(seq, 0.0, "job_log", None, "default", {})]), float(seq)
        )
    feed = EventFeed(store)
    old = [event async for event in feed.follow(1)]
    recent = await anext(aiter(feed.follow(39)))

    assert [(event.type, event.seq) for event in old] == [("resync", 40)]
    assert (recent.seq, recent.prev) == (40, 39)
