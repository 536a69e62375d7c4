"""The event stream that all connections share: bounded, and with a resync after lost events."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import pytest

from fairlane import EventView, Fairlane
from fairlane.api.event_stream import follower as event_follower
from fairlane.api.event_stream import stream as event_stream
from fairlane.api.event_stream import window as event_window
from fairlane.api.event_stream.batch import Delivery
from fairlane.api.event_stream.follower import Follower
from fairlane.api.event_stream.stream import EventStream
from tests.support.eventually import eventually


@pytest.fixture
async def app() -> AsyncIterator[Fairlane]:
    app = Fairlane("memory://", stop_grace_seconds=0)
    app.queue("other")

    @app.task(name="work")
    async def work() -> None: ...

    async with app:
        yield app


async def happen(app: Fairlane, times: int = 1, *, queue: str = "default") -> int:
    """Let so many pairs of events happen, and return the number of the last."""
    for _ in range(times):
        await app.queues.pause(queue)
        await app.queues.resume(queue)
    return await app.events.newest()


async def heard(one: Follower, last: int) -> list[dict[str, Any]]:
    """Return the events up to and including a number."""
    events: list[dict[str, Any]] = []
    while not events or events[-1]["seq"] < last:
        events += map(json.loads, (await told(one)).texts())
    return events


async def told(one: Follower) -> Delivery:
    delivery = await asyncio.wait_for(one.next_delivery(), 20)
    assert delivery is not None
    return delivery


async def test_followers_are_told_the_very_same_bytes(app: Fairlane) -> None:
    stream = EventStream(app)
    async with stream.follow(None) as one, stream.follow(None) as other:
        await happen(app)
        first, second = await told(one), await told(other)

    assert first.sse() is second.sse()
    assert first.sse().startswith(b"event: queue_changed\nid: ")


async def test_all_events_arrive_in_order_each_with_the_one_before(app: Fairlane) -> None:
    stream, begin = EventStream(app), await app.events.newest()
    async with stream.follow(begin) as one:
        end = await happen(app, 20)
        events = await heard(one, end)

    assert [event["seq"] for event in events] == list(range(begin + 1, end + 1))
    assert [event["prev"] for event in events] == list(range(begin, end))


async def test_who_comes_back_hears_what_it_missed(app: Fairlane) -> None:
    stream, begin = EventStream(app), await app.events.newest()
    end = await happen(app, 10)
    async with stream.follow(None) as early:
        async with stream.follow(begin + 3) as one:
            events = await heard(one, end)
        async with stream.follow(begin + 7) as again:
            fewer = await heard(again, end)
        later = await happen(app)
        news = await heard(early, later)

    assert [event["seq"] for event in events] == list(range(begin + 4, end + 1))
    assert [event["seq"] for event in fewer] == list(range(begin + 8, end + 1))
    assert news[0]["seq"] == end + 1


async def test_a_narrowed_stream_names_the_event_before_on_this_stream(app: Fairlane) -> None:
    stream, begin = EventStream(app), await app.events.newest()
    async with AsyncExitStack() as stack:
        of_queue = await stack.enter_async_context(stream.follow(begin, queue="other"))
        await happen(app, queue="other")
        job = await app.tasks["work"].submit()
        of_job = await stack.enter_async_context(stream.follow(begin, job=job.id))
        of_both = await stack.enter_async_context(stream.follow(begin, job=job.id, queue="other"))
        await job.wait()
        last = await happen(app, queue="other")
        everything = await app.events.stored(after=begin)
        assert everything is not None
        streams = [await heard(of_queue, last), await heard(of_job, last_of(everything, job.id))]
        assert of_both._new_messages(begin) is None

    expected = [
        [event.seq for event in everything if event.queue == "other"],
        [event.seq for event in everything if event.job == job.id],
    ]
    for events, seqs in zip(streams, expected, strict=True):
        assert [event["seq"] for event in events] == seqs
        assert [event["prev"] for event in events] == [begin, *seqs[:-1]]


def last_of(events: list[EventView], job: str) -> int:
    return max(event.seq for event in events if event.job == job)


@pytest.mark.parametrize("ahead", [1, 10**12])
async def test_who_asks_for_what_never_was_takes_the_state_again(app: Fairlane, ahead: int) -> None:
    stream, now = EventStream(app), await app.events.newest()
    async with stream.follow(now + ahead) as one:
        [resync] = await heard(one, now)
        later = await happen(app)
        events = await heard(one, later)

    assert (resync["type"], resync["seq"], resync["prev"]) == ("resync", now, now + ahead)
    assert events[0]["prev"] == now


async def test_who_is_too_far_behind_takes_the_state_again(
    app: Fairlane, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_stream, "MOST_EVENTS", 10)
    stream, begin = EventStream(app), await app.events.newest()
    end = await happen(app, 6)
    async with stream.follow(begin) as far, stream.follow(end - 10) as near:
        [resync] = await heard(far, end)
        events = await heard(near, end)

    assert (resync["type"], resync["seq"]) == ("resync", end)
    assert [event["seq"] for event in events] == list(range(end - 9, end + 1))


async def test_who_takes_nothing_falls_behind_alone_and_goes_on_from_the_present(
    app: Fairlane, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_window, "MOST_EVENTS", 10)
    stream, begin = EventStream(app), await app.events.newest()
    async with stream.follow(begin) as quick, stream.follow(begin) as slow:
        for _ in range(8):
            seen = await heard(quick, await happen(app, 2))
        assert stream.window.last - stream.window.first < 20
        [resync] = await heard(slow, 0)
        last = await happen(app)
        events = await heard(slow, last)

    assert seen[-1]["type"] == "queue_changed"
    assert (resync["type"], resync["prev"]) == ("resync", begin)
    assert [event["seq"] for event in events] == list(range(resync["seq"] + 1, last + 1))


async def test_when_more_happens_than_can_be_told_everybody_is_sent_for_the_state(
    app: Fairlane, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_stream, "ROUND_EVENTS", 4)
    monkeypatch.setattr(event_stream, "MOST_EVENTS", 8)
    monkeypatch.setattr(event_stream, "OVERRUN_SECONDS", 0.01)
    stream = EventStream(app)
    async with stream.follow(None) as one, stream.follow(None) as other:
        work = app.tasks["work"]
        await app.submit_many([work.call() for _ in range(200)])
        await app.drain()
        end = await app.events.newest()
        streams = [await heard(one, end), await heard(other, end)]

    for events in streams:
        assert "resync" in [event["type"] for event in events]
        assert [event["prev"] for event in events[1:]] == [event["seq"] for event in events[:-1]]


async def test_every_stream_ends_when_the_engine_stops() -> None:
    app = Fairlane("memory://", stop_grace_seconds=0)
    stream = EventStream(app)
    async with AsyncExitStack() as stack:
        async with app:
            one = await stack.enter_async_context(stream.follow(None))
            last = await happen(app)
            await heard(one, last)
        assert await asyncio.wait_for(drained(one), 20)


async def drained(one: Follower) -> bool:
    while await one.next_delivery() is not None:
        pass
    return True


async def test_nothing_is_read_any_more_when_the_last_has_left(app: Fairlane) -> None:
    stream = EventStream(app)
    async with stream.follow(None):
        await eventually(lambda: app._engine.feed.has_followers)
        assert stream.followers == 1
    assert stream.followers == 0
    assert not app._engine.feed.has_followers


async def test_a_quiet_stream_says_now_and_then_that_it_is_there(
    app: Fairlane, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_follower, "HEARTBEAT_SECONDS", 0.02)
    monkeypatch.setattr(event_stream, "CHECK_SECONDS", 0.01)
    async with EventStream(app).follow(None) as one:
        deliveries = [await told(one), await told(one)]

    assert [delivery.sse() for delivery in deliveries] == [b":\n\n"] * 2
    assert [delivery.texts() for delivery in deliveries] == [[], []]


async def test_who_takes_nothing_for_too_long_is_let_go(
    app: Fairlane, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_follower, "STALLED_SECONDS", 0.02)
    monkeypatch.setattr(event_stream, "CHECK_SECONDS", 0.01)
    stream = EventStream(app)
    async with stream.follow(None) as one:
        await happen(app)
        await told(one)
        await asyncio.Event().wait()  # as a connection whose client does not read
    assert one.was_dropped
    assert stream.followers == 0
