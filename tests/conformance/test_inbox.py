"""A row of another process stays in the inbox until a commit consumes it."""

from fairlane.core.decisions import Changes
from fairlane.core.live_job import JobId
from fairlane.store.protocol import Store
from tests.conformance.conftest import OpenStore
from tests.support.stores import NOW, a_job, submission_of, submit_body


async def test_inbox_rows_are_read_in_the_order_of_their_appends(
    store: Store, open_store: OpenStore
) -> None:
    other = await open_store()
    await other.append("one", '{"a":1}', NOW)
    await store.append("two", '{"a":2}', NOW + 1)
    rows = await store.read_inbox(10)
    assert [(row.key, row.body, row.at) for row in rows] == [
        ("one", '{"a":1}', NOW),
        ("two", '{"a":2}', NOW + 1),
    ]
    assert [row.key for row in await store.read_inbox(1)] == ["one"]


async def test_two_appends_with_the_same_key_are_one_row(store: Store) -> None:
    await store.append("k", "first", NOW)
    await store.append("k", "second", NOW)
    assert [row.body for row in await store.read_inbox(10)] == ["first"]


async def test_a_row_stays_until_a_commit_consumes_it(store: Store) -> None:
    await store.append("one", "{}", NOW)
    await store.append("two", "{}", NOW)
    first = (await store.read_inbox(1))[0]
    assert len(await store.read_inbox(10)) == 2
    await store.commit(Changes(consumed=[first.id], answers={"one": '"done"'}), NOW)
    assert [row.key for row in await store.read_inbox(10)] == ["two"]
    assert await store.answers(["one"]) == {"one": '"done"'}
    assert await store.answers(["two"]) == {}


async def test_a_row_with_an_answered_key_is_not_read_again(store: Store) -> None:
    await store.append("k", "{}", NOW)
    row = (await store.read_inbox(1))[0]
    await store.commit(Changes(consumed=[row.id], answers={"k": "1"}), NOW)
    await store.append("k", "{}", NOW)  # the sender did not receive the answer
    await store.append("next", "{}", NOW)
    assert [row.key for row in await store.read_inbox(1)] == ["next"]


async def test_the_number_of_a_consumed_row_is_not_reused(store: Store) -> None:
    await store.append("one", "{}", NOW)
    row = (await store.read_inbox(1))[0]
    await store.commit(Changes(consumed=[row.id]), NOW)
    await store.append("two", "{}", NOW)
    await store.commit(Changes(consumed=[row.id]), NOW)
    assert [row.key for row in await store.read_inbox(10)] == ["two"]


async def test_a_submission_in_the_inbox_is_shown_as_created(store: Store) -> None:
    job = a_job("a", queue="mail", lane="x")
    body = submit_body(submission_of(job, params='{"n":1}', meta='{"by":"me"}'))
    await store.append("k", body, NOW)
    await store.append("other", '{"type":"cancel","key":"other","job":"a"}', NOW)
    shown = (await store.jobs([JobId("a"), JobId("unknown")]))[JobId("a")]
    assert (shown.state, shown.queue, shown.lane, shown.position) == ("created", "mail", "x", None)
    assert (shown.params, shown.meta) == ({"n": 1}, {"by": "me"})
    assert shown.created_at.timestamp() == NOW


async def test_a_dead_letter_is_stored_and_its_row_is_consumed(store: Store) -> None:
    await store.append("k", "bad", NOW)
    row = (await store.read_inbox(1))[0]
    await store.commit(Changes(consumed=[row.id], dead_letters=[("bad", "boom", NOW)]), NOW)
    assert await store.read_inbox(1) == []
