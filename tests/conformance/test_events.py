"""Readers resume from a stored event, or get `None` if that event is not available."""

from fairlane.core.decisions import Changes, Event
from fairlane.core.live_job import JobId
from fairlane.store.protocol import Store
from tests.conformance.conftest import OpenStore
from tests.support.stores import NOW, events


async def test_events_are_read_as_they_were_stored(store: Store) -> None:
    event = Event(1, NOW, "job_progress", JobId("a"), "mail", {"percent": 40.5, "text": 'ü"'})
    await store.commit(Changes(events=[event]), NOW)
    shown = await store.events(0, 10)
    assert shown is not None
    assert [(e.seq, e.type, e.job, e.queue, e.data) for e in shown] == [
        (1, "job_progress", "a", "mail", {"percent": 40.5, "text": 'ü"'})
    ]
    assert shown[0].at.timestamp() == NOW


async def test_a_read_of_events_starts_after_a_number_and_obeys_the_limit(store: Store) -> None:
    await store.commit(Changes(events=events(1, 2, 3, 4, 5)), NOW)
    shown = await store.events(2, 2)
    assert shown is not None
    assert [event.seq for event in shown] == [3, 4]
    assert await store.events(5, 10) == []


async def test_many_events_of_one_commit_can_be_read_in_pieces(store: Store) -> None:
    await store.commit(Changes(events=events(1, 2)), NOW)
    await store.commit(Changes(events=events(*range(3, 1301))), NOW)
    read: list[int] = []
    while piece := await store.events(read[-1] if read else 1, 333):
        assert len(piece) <= 333
        read += [event.seq for event in piece]
    assert read == list(range(2, 1301))


async def test_a_read_after_a_future_event_number_is_refused(store: Store) -> None:
    assert await store.events(0, 10) == []
    assert await store.events(1, 10) is None
    await store.commit(Changes(events=events(1, 2)), NOW)
    assert await store.events(3, 10) is None


async def test_a_read_from_before_the_oldest_stored_event_is_refused(store: Store) -> None:
    await store.commit(Changes(events=events(10, 11)), NOW)
    assert await store.events(8, 10) is None
    shown = await store.events(9, 10)
    assert shown is not None
    assert [event.seq for event in shown] == [10, 11]


async def test_old_events_are_deleted_and_the_newest_stay(open_store: OpenStore) -> None:
    store = await open_store(keep_events=10)
    await store.lead()
    for seq in range(1, 101):
        await store.commit(Changes(events=events(seq)), NOW)
    assert await store.events(1, 1000) is None
    newest = await store.events(90, 1000)
    assert newest is not None
    assert [event.seq for event in newest] == list(range(91, 101))
    assert (await store.load()).seq == 100
