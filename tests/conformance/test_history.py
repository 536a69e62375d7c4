"""Ended jobs can be listed, filtered and paged through."""

import pytest

from fairlane.core.lifecycle import State
from fairlane.errors import BadSetting
from fairlane.store.protocol import Store
from fairlane.store.views import Query
from tests.support.stores import NOW, a_job, admitted, ended

ENDINGS = [State.COMPLETED, State.FAILED, State.CANCELLED, State.SKIPPED]


@pytest.fixture
async def store_with_past(store: Store) -> Store:
    """Twelve jobs, `00` ended first; every fourth in each state, every third in each queue."""
    jobs = [
        a_job(
            f"{n:02}",
            task=f"task{n % 2}",
            queue=f"queue{n % 3}",
            lane="x" if n < 6 else None,
        )
        for n in range(12)
    ]
    await store.commit(admitted(*jobs, params='{"n":1}'), NOW)
    for n, job in enumerate(jobs):
        await store.commit(ended(job, state=ENDINGS[n % 4], at=NOW + n), NOW)
    return store


@pytest.mark.parametrize(
    ("query", "numbers"),
    [
        (Query(), range(12)),
        (Query(states=("completed",)), [0, 4, 8]),
        (Query(states=("failed",)), [1, 5, 9]),
        (Query(states=("failed", "cancelled")), [1, 2, 5, 6, 9, 10]),
        (Query(states=("completed", "skipped")), [0, 3, 4, 7, 8, 11]),
        (Query(states=("running",)), []),
        (Query(task="task1"), [1, 3, 5, 7, 9, 11]),
        (Query(queue="queue2"), [2, 5, 8, 11]),
        (Query(lane="x"), range(6)),
        (Query(since=NOW + 9), [9, 10, 11]),
        (Query(until=NOW + 2), [0, 1]),
        (Query(states=("failed",), task="task1", queue="queue2", since=NOW + 5), [5]),
        (Query(task="'; DROP TABLE ended; --"), []),
    ],
)
async def test_filtered_history_is_listed_newest_first(
    store_with_past: Store, query: Query, numbers: list[int]
) -> None:
    page = await store_with_past.history(query)
    assert [job.id for job in page.items] == [f"{n:02}" for n in reversed(numbers)]
    assert page.next is None


@pytest.mark.parametrize("states", [(), ("failed", "cancelled", "skipped"), ("failed",)])
async def test_pages_follow_each_other_without_gap_or_repetition(
    store_with_past: Store, states: tuple[str, ...]
) -> None:
    whole = await store_with_past.history(Query(states=states))
    seen = []
    cursor = None
    while True:
        page = await store_with_past.history(Query(states=states, limit=2, cursor=cursor))
        assert len(page.items) <= 2
        seen += page.items
        cursor = page.next
        if cursor is None:
            break
    assert seen == whole.items


async def test_a_job_that_ends_between_two_pages_does_not_shift_the_second_page(
    store_with_past: Store,
) -> None:
    first = await store_with_past.history(Query(limit=2))
    job = a_job("new")
    await store_with_past.commit(admitted(job), NOW)
    await store_with_past.commit(ended(job), NOW)
    second = await store_with_past.history(Query(limit=2, cursor=first.next))
    assert [job.id for job in second.items] == ["09", "08"]


async def test_an_invalid_cursor_is_refused(store_with_past: Store) -> None:
    with pytest.raises(BadSetting, match='"here" is not a cursor'):
        await store_with_past.history(Query(cursor="here"))
