"""The stream that all connections are told from: shared, bounded, and honest about what is lost."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import pytest

from fairlane import EventView, Fairlane
from fairlane.api import event_follower, event_stream, event_window
from fairlane.api.event_batch import Portion
from fairlane.api.event_follower import Follower
from fairlane.api.event_stream import Stream
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
    """Everything up to a number that is known to come."""
    events: list[dict[str, Any]] = []
    while not events or events[-1]["seq"] < last:
        events += map(json.loads, (await told(one)).texts())
    return events


async def told(one: Follower) -> Portion:
    portion = await asyncio.wait_for(one.next(), 20)
    assert portion is not None
    return portion


async def test_followers_are_told_the_very_same_bytes(app: Fairlane) -> None:
    source = Stream(app)
    async with source.following(None) as one, source.following(None) as other:
        await happen(app)
        first, second = await told(one), await told(other)

    assert first.sse() is second.sse()
    assert first.sse().startswith(b"event: queue_changed\nid: ")


async def test_all_events_arrive_in_order_each_with_the_one_before(app: Fairlane) -> None:
    source, begin = Stream(app), await app.events.newest()
    async with source.following(begin) as one:
        end = await happen(app, 20)
        events = await heard(one, end)

    assert [event["seq"] for event in events] == list(range(begin + 1, end + 1))
    assert [event["prev"] for event in events] == list(range(begin, end))


async def test_who_comes_back_hears_what_it_missed(app: Fairlane) -> None:
    source, begin = Stream(app), await app.events.newest()
    end = await happen(app, 10)
    async with source.following(None) as early:
        async with source.following(begin + 3) as one:
            events = await heard(one, end)
        async with source.following(begin + 7) as again:
            fewer = await heard(again, end)
        later = await happen(app)
        news = await heard(early, later)

    assert [event["seq"] for event in events] == list(range(begin + 4, end + 1))
    assert [event["seq"] for event in fewer] == list(range(begin + 8, end + 1))
    assert news[0]["seq"] == end + 1


async def test_a_narrowed_stream_names_the_event_before_on_this_stream(app: Fairlane) -> None:
    source, begin = Stream(app), await app.events.newest()
    async with AsyncExitStack() as stack:
        of_queue = await stack.enter_async_context(source.following(begin, queue="other"))
        await happen(app, queue="other")
        job = await app.tasks["work"].submit()
        of_job = await stack.enter_async_context(source.following(begin, job=job.id))
        of_both = await stack.enter_async_context(
            source.following(begin, job=job.id, queue="other")
        )
        await job.wait()
        last = await happen(app, queue="other")
        everything = await app.events.stored(after=begin)
        assert everything is not None
        streams = [await heard(of_queue, last), await heard(of_job, last_of(everything, job.id))]
        assert of_both._taken(begin) is None

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
    source, now = Stream(app), await app.events.newest()
    async with source.following(now + ahead) as one:
        [resync] = await heard(one, now)
        later = await happen(app)
        events = await heard(one, later)

    assert (resync["type"], resync["seq"], resync["prev"]) == ("resync", now, now + ahead)
    assert events[0]["prev"] == now


async def test_who_is_too_far_behind_takes_the_state_again(
    app: Fairlane, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_stream, "MOST_EVENTS", 10)
    source, begin = Stream(app), await app.events.newest()
    end = await happen(app, 6)
    async with source.following(begin) as far, source.following(end - 10) as near:
        [resync] = await heard(far, end)
        events = await heard(near, end)

    assert (resync["type"], resync["seq"]) == ("resync", end)
    assert [event["seq"] for event in events] == list(range(end - 9, end + 1))


async def test_who_takes_nothing_falls_behind_alone_and_goes_on_from_the_present(
    app: Fairlane, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_window, "MOST_EVENTS", 10)
    source, begin = Stream(app), await app.events.newest()
    async with source.following(begin) as quick, source.following(begin) as slow:
        for _ in range(8):
            seen = await heard(quick, await happen(app, 2))
        assert source.window.last - source.window.first < 20
        [resync] = await heard(slow, 0)
        last = await happen(app)
        events = await heard(slow, last)

    assert seen[-1]["type"] == "queue_changed"
    assert (resync["type"], resync["prev"]) == ("resync", begin)
    assert [event["seq"] for event in events] == list(range(resync["seq"] + 1, last + 1))


async def test_when_more_happens_than_can_be_told_everybody_is_sent_for_the_state(
    app: Fairlane, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_stream, "ROUND", 4)
    monkeypatch.setattr(event_stream, "MOST_EVENTS", 8)
    monkeypatch.setattr(event_stream, "OVERRUN_SECONDS", 0.01)
    source = Stream(app)
    async with source.following(None) as one, source.following(None) as other:
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
    source = Stream(app)
    async with AsyncExitStack() as stack:
        async with app:
            one = await stack.enter_async_context(source.following(None))
            last = await happen(app)
            await heard(one, last)
        assert await asyncio.wait_for(drained(one), 20)


async def drained(one: Follower) -> bool:
    while await one.next() is not None:
        pass
    return True


async def test_nothing_is_read_any_more_when_the_last_has_left(app: Fairlane) -> None:
    source = Stream(app)
    async with source.following(None):
        await eventually(lambda: app._engine.feed.has_followers)
        assert source.followers == 1
    assert source.followers == 0
    assert not app._engine.feed.has_followers


async def test_a_quiet_stream_says_now_and_then_that_it_is_there(
    app: Fairlane, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_follower, "HEARTBEAT_SECONDS", 0.02)
    monkeypatch.setattr(event_stream, "LOOK_SECONDS", 0.01)
    async with Stream(app).following(None) as one:
        portions = [await told(one), await told(one)]

    assert [portion.sse() for portion in portions] == [b":\n\n"] * 2
    assert [portion.texts() for portion in portions] == [[], []]


async def test_who_takes_nothing_for_too_long_is_let_go(
    app: Fairlane, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_follower, "PATIENCE_SECONDS", 0.02)
    monkeypatch.setattr(event_stream, "LOOK_SECONDS", 0.01)
    source = Stream(app)
    async with source.following(None) as one:
        await happen(app)
        await told(one)
        await asyncio.Event().wait()  # as a connection does whose other end does not read
    assert one.is_let_go
    assert source.followers == 0
