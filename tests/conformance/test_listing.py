"""Live jobs are listed like ended jobs, and both can be searched by text."""

import pytest

from fairlane.core.lifecycle import State
from fairlane.store.protocol import Store
from fairlane.store.views import Query
from tests.support.stores import NOW, a_job, admitted, ended


@pytest.fixture
async def store_with_present(store: Store) -> Store:
    """Eight live jobs, `00` the oldest: two run, six wait; they are spread over three queues."""
    jobs = [
        a_job(
            f"{n:02}",
            task=f"task{n % 2}",
            queue=f"queue{n % 3}",
            lane=f"lane{n}" if n < 4 else None,
            state=State.RUNNING if n < 2 else State.QUEUED,
            created_at=NOW + n,
        )
        for n in range(8)
    ]
    await store.commit(admitted(*jobs), NOW)
    return store


@pytest.mark.parametrize(
    ("query", "numbers"),
    [
        (Query(), range(8)),
        (Query(states=("running",)), [0, 1]),
        (Query(states=("running", "queued")), range(8)),
        (Query(states=("blocked",)), []),
        (Query(task="task1"), [1, 3, 5, 7]),
        (Query(queue="queue2"), [2, 5]),
        (Query(lane="lane3"), [3]),
        (Query(since=NOW + 6), [6, 7]),
        (Query(until=NOW + 2), [0, 1]),
        (Query(states=("queued",), task="task0", queue="queue0"), [6]),
        (Query(text="LANE2"), [2]),
        (Query(text="task1", queue="queue1"), [1, 7]),
        (Query(text="' OR 1 = 1 --"), []),
        (Query(text="%"), []),
    ],
)
async def test_live_jobs_are_listed_newest_first(
    store_with_present: Store, query: Query, numbers: list[int]
) -> None:
    page = await store_with_present.live_jobs(query)
    assert [job.id for job in page.items] == [f"{n:02}" for n in reversed(numbers)]
    assert page.next is None


async def test_pages_of_live_jobs_have_no_gaps_when_a_job_is_added(
    store_with_present: Store,
) -> None:
    first = await store_with_present.live_jobs(Query(limit=3))
    assert [job.id for job in first.items] == ["07", "06", "05"]
    await store_with_present.commit(admitted(a_job("08")), NOW)
    second = await store_with_present.live_jobs(Query(limit=3, cursor=first.next))
    third = await store_with_present.live_jobs(Query(limit=3, cursor=second.next))
    assert [job.id for job in second.items + third.items] == ["04", "03", "02", "01", "00"]
    assert third.next is None


@pytest.mark.parametrize("is_live", [True, False])
@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Grüße", True),
        ("grÜSSE", False),
        ('said "yes"', True),
        ("C:\\temp", True),
        ("two\nlines", True),
        ("by ANN", True),
        ("by bob", False),
        ("{", True),
    ],
)
async def test_a_search_finds_text_in_parameters_and_meta(
    store: Store, *, is_live: bool, text: str, found: bool
) -> None:
    job = a_job("one")
    params = '{"a":"Grüße, she said \\"yes\\" in C:\\\\temp","b":"two\\nlines"}'
    await store.commit(admitted(job, params=params, meta='{"note":"by ann"}'), NOW)
    if not is_live:
        await store.commit(ended(job), NOW)
    page = await (store.live_jobs if is_live else store.history)(Query(text=text))
    assert [view.id for view in page.items] == (["one"] if found else [])


@pytest.mark.parametrize("is_live", [True, False])
async def test_a_search_does_not_find_secret_parameters(store: Store, *, is_live: bool) -> None:
    job = a_job("one")
    params = '{"token":"hunter2","name":"nasa \\"x\\"","list":["esa"],"more":null}'
    options = '{"secrets":["token","more"]}'
    await store.commit(admitted(job, params=params, options=options), NOW)
    if not is_live:
        await store.commit(ended(job), NOW)
    look = store.live_jobs if is_live else store.history
    for text, found in {
        "hunter": False, "token": False, "ONE": True, "Nasa": True, 'nasa "X"': True, "esa": True,
    }.items():  # fmt: skip
        items = (await look(Query(text=text))).items
        assert [view.id for view in items] == (["one"] if found else []), text


async def test_a_search_works_with_nan_in_the_parameters(store: Store) -> None:
    job = a_job("one")
    params = '{"token":"hunter2","ratio":NaN}'
    await store.commit(admitted(job, params=params, options='{"secrets":["token"]}'), NOW)
    assert (await store.live_jobs(Query(text="hunter"))).items == []
    assert [view.id for view in (await store.live_jobs(Query(text="one"))).items] == ["one"]


@pytest.mark.parametrize("is_live", [True, False])
async def test_a_search_reads_a_limited_number_of_jobs_per_page(
    store: Store, *, is_live: bool
) -> None:
    jobs = [a_job(f"{n:02}", task="wanted" if n in (2, 9) else "other") for n in range(12)]
    await store.commit(admitted(*jobs), NOW)
    if not is_live:
        await store.commit(ended(*jobs), NOW)
    look = store.live_jobs if is_live else store.history
    pages: list[list[str]] = []
    cursor = None
    while True:
        page = await look(Query(text="wanted", look_through=3, cursor=cursor))
        pages.append([view.id for view in page.items])
        cursor = page.next
        if cursor is None:
            break
    assert pages == [["09"], [], [], ["02"], []]
    assert [view.id for view in (await look(Query(text="wanted", limit=1))).items] == ["09"]


async def test_a_search_finds_an_ended_job_by_its_error(store: Store) -> None:
    job = a_job("one")
    await store.commit(admitted(job), NOW)
    error = {"code": "x", "message": "The Disk is full", "retryable": False}
    await store.commit(ended(job, state=State.FAILED, error=error), NOW)
    assert [view.id for view in (await store.history(Query(text="the disk"))).items] == ["one"]


@pytest.mark.parametrize("text", [None, "one"])
async def test_a_page_with_limit_zero_is_empty(store: Store, text: str | None) -> None:
    live, gone = a_job("one"), a_job("one more")
    await store.commit(admitted(live, gone), NOW)
    await store.commit(ended(gone), NOW)
    for look in (store.live_jobs, store.history):
        assert (await look(Query(limit=0, text=text))).items == []
