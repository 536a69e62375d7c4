"""The window of the newest events: bounded, without a gap, and found by number."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from fairlane.api.event_stream.batch import MOST_BYTES as MOUTHFUL
from fairlane.api.event_stream.batch import EventBatch, split_into_batches
from fairlane.api.event_stream.window import MOST_BYTES, MOST_EVENTS, EventWindow
from fairlane.store.views import EventView


def event(seq: int, *, size: int = 0) -> EventView:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    data = {"message": "x" * size}
    return EventView(seq=seq, type="job_log", at=at, job=None, queue="default", data=data)


def batch(first: int, amount: int, *, size: int = 0) -> EventBatch:
    [one] = split_into_batches([event(first + index, size=size) for index in range(amount)])
    return one


def seqs(window: EventWindow, cursor: int) -> list[int]:
    found = [message.seq for batch in window.batches_after(cursor) for message in batch.messages]
    return [seq for seq in found if seq > cursor]


@given(st.lists(st.integers(1, 40), max_size=30), st.integers(0, 5), st.data())
def test_whatever_is_put_in_every_number_above_a_cursor_is_found_once(
    amounts: list[int], older: int, data: st.DataObject
) -> None:
    begin = 100
    window = EventWindow(begin)
    for amount in amounts:
        window.append(batch(window.last + 1, amount))
    if older:
        window.prepend([batch(window.first - older, older)])
    end = begin + sum(amounts)
    assert (window.first, window.last) == (begin - older + 1, end)
    cursor = data.draw(st.integers(window.first - 1, end + 1))
    assert seqs(window, cursor) == list(range(cursor + 1, end + 1))


def test_what_would_leave_a_gap_is_not_put_in_front() -> None:
    window = EventWindow(10)
    window.prepend([batch(5, 3)])
    assert (window.first, window.last) == (11, 10)


def test_it_holds_no_more_events_than_it_should() -> None:
    window = EventWindow(0)
    for _ in range(100):
        window.append(batch(window.last + 1, 300))
        kept = window.last - window.first + 1
        assert kept < MOST_EVENTS + 300
    assert kept >= MOST_EVENTS
    assert seqs(window, window.first - 1) == list(range(window.first, window.last + 1))


def test_it_holds_no_more_bytes_than_it_should() -> None:
    window = EventWindow(0)
    for _ in range(100):
        window.append(batch(window.last + 1, 10, size=20_000))
    held = sum(batch.bytes for batch in window.batches_after(window.first - 1))
    assert MOST_BYTES / 2 < held <= MOST_BYTES
    window.prepend([batch(window.first - 40, 10, size=20_000)])
    assert sum(batch.bytes for batch in window.batches_after(0)) == held


def test_many_or_large_events_are_cut_into_mouthfuls() -> None:
    batches = list(split_into_batches([event(seq, size=10_000) for seq in range(1, 101)]))
    assert len(batches) > 3
    assert all(batch.bytes <= MOUTHFUL for batch in batches)
    assert [m.seq for batch in batches for m in batch.messages] == list(range(1, 101))
