"""A commit is atomic, fenced and in an order that the unique indexes accept."""

import pytest

from fairlane.core.decisions import Changes, Event, Firing
from fairlane.core.lifecycle import Priority, State
from fairlane.core.live_job import JobId, LiveJob, Reason, Terms
from fairlane.core.retry import Retry
from fairlane.errors import FairlaneError, NotLeading
from fairlane.store.protocol import Store
from tests.support.stores import NOW, Place, a_job, admitted, ended, events, started, submission_of


async def jobs_of(store: Store) -> list[LiveJob]:
    return list((await store.load()).jobs)


async def refused(store: Store, changes: Changes) -> None:
    """Assert that a commit fails with an error of the driver, not of an unavailable database."""
    with pytest.raises(Exception, match=r".") as caught:
        await store.commit(changes, NOW)
    assert not isinstance(caught.value, FairlaneError)


async def test_committed_jobs_are_loaded_with_all_their_fields(store: Store) -> None:
    plain = a_job("a", 1)
    rich = a_job(
        "b",
        0,
        lane="alice/ü",
        priority=Priority.HIGH,
        state=State.BLOCKED,
        terms=Terms(limits=("host",), uses=(("gpu", 2),), retry=Retry(times=1), recover=0),
        dedupe="alice:sync",
        exclusive=True,
        digest="d",
        bucket="alice",
        attempt=3,
        failures=2,
        crashes=1,
        fence=7,
        holds_lane=True,
        due_at=NOW + 0.000001,
        reason=Reason("disk", 'only "3" GB\x00 free'),
        started_at=NOW + 1 / 3,
    )
    await store.commit(admitted(plain, rich), NOW)
    assert await jobs_of(store) == [rich, plain]


async def test_a_changed_job_is_loaded_with_its_changes(store: Store) -> None:
    job = a_job("a")
    await store.commit(admitted(job), NOW)
    changes = started(job)
    job.cancel_outputs = "keep"
    await store.commit(changes, NOW)
    assert await jobs_of(store) == [job]


async def test_a_stored_job_is_independent_of_later_changes_to_the_object(store: Store) -> None:
    job = a_job("a")
    await store.commit(admitted(job), NOW)
    job.attempt = 9
    assert (await jobs_of(store))[0].attempt == 0


async def test_a_job_that_violates_a_constraint_fails_the_whole_commit(store: Store) -> None:
    first = a_job("a", lane="x")
    await store.commit(admitted(first), NOW)
    await store.commit(started(first), NOW)
    await store.append("key", "{}", NOW)
    changes = admitted(a_job("b"), a_job("c", lane="x", state=State.RUNNING))
    changes.reports = {JobId("a"): "{}"}
    changes.records = {("queue", "default"): "{}"}
    changes.events = events(1, 2)
    changes.answers = {"key": "yes"}
    changes.consumed = [1]
    changes.rate_starts = [("host", NOW, JobId("b"))]
    await refused(store, changes)
    image = await store.load()
    assert list(image.jobs) == [first]
    assert (image.records, image.rate_starts, image.seq) == ({}, [], 0)
    assert await store.answers(["key"]) == {}
    assert [row.key for row in await store.read_inbox(10)] == ["key"]
    assert await store.jobs([JobId("b"), JobId("c")]) == {}


async def test_a_lane_never_has_two_running_jobs(store: Store) -> None:
    jobs = [a_job("a", lane="x"), a_job("b", lane="x")]
    await store.commit(admitted(*jobs), NOW)
    await store.commit(started(jobs[0]), NOW)
    await refused(store, started(jobs[1]))


async def test_jobs_without_a_lane_run_concurrently(store: Store) -> None:
    jobs = [a_job("a"), a_job("b")]
    await store.commit(admitted(*jobs), NOW)
    await store.commit(started(*jobs), NOW)
    assert [job.state for job in await jobs_of(store)] == [State.RUNNING, State.RUNNING]


async def test_lanes_with_the_same_name_in_two_queues_are_two_lanes(store: Store) -> None:
    jobs = [a_job("a", lane="x", queue="one"), a_job("b", lane="x", queue="two")]
    await store.commit(admitted(*jobs), NOW)
    await store.commit(started(*jobs), NOW)


async def test_an_exclusive_lane_never_has_two_jobs(store: Store) -> None:
    await store.commit(admitted(a_job("a", lane="x", exclusive=True)), NOW)
    await refused(store, admitted(a_job("b", lane="x", exclusive=True)))
    await store.commit(admitted(a_job("c", lane="x")), NOW)


async def test_a_dedupe_key_is_live_once(store: Store) -> None:
    first = a_job("a", dedupe="k")
    await store.commit(admitted(first), NOW)
    await refused(store, admitted(a_job("b", dedupe="k")))
    await store.commit(ended(first), NOW)
    await store.commit(admitted(a_job("c", dedupe="k")), NOW)


async def test_a_job_id_is_used_once(store: Store) -> None:
    await store.commit(admitted(a_job("a")), NOW)
    await refused(store, admitted(a_job("a")))


async def test_a_schedule_fires_once_at_each_time(store: Store) -> None:
    firing = Firing("nightly", NOW, JobId("a"), 1, None)
    await store.commit(Changes(firings=[firing]), NOW)
    await refused(store, Changes(firings=[firing]))
    await store.commit(Changes(firings=[Firing("nightly", NOW + 1, None, 3, "late")]), NOW)
    shown = await store.firings("nightly", limit=5)
    assert [(one.job, one.count, one.reason) for one in shown] == [
        (None, 3, "late"),
        ("a", 1, None),
    ]


@pytest.mark.parametrize("state", [State.COMPLETED, State.FAILED])
async def test_a_live_row_never_has_a_final_state(store: Store, state: State) -> None:
    await refused(store, admitted(a_job("a", state=state)))


async def test_an_ended_row_never_has_a_live_state(store: Store) -> None:
    job = a_job("a")
    await store.commit(admitted(job), NOW)
    await refused(store, ended(job, state=State.RUNNING))


async def test_a_lane_passes_from_a_job_that_ends_to_the_next_in_one_commit(store: Store) -> None:
    first, second = a_job("a", 0, lane="x", dedupe="k"), a_job("b", 1, lane="x")
    await store.commit(admitted(first, second), NOW)
    await store.commit(started(first), NOW)
    changes = started(second)
    changes.left, changes.ended = (over := ended(first)).left, over.ended
    third = a_job("c", 2, dedupe="k")
    changes.submitted, changes.entered = [submission_of(third)], {third.id: third}
    await store.commit(changes, NOW)
    assert await jobs_of(store) == [second, third]


async def test_a_lane_passes_from_a_job_that_waits_again_to_another_in_one_commit(
    store: Store,
) -> None:
    first, second = a_job("a", 0, lane="x"), a_job("b", 1, lane="x")
    await store.commit(admitted(first, second), NOW)
    await store.commit(started(second), NOW)
    changes = started(first)  # listed before the job that frees the lane
    second.state = State.RETRYING
    changes.changed[second.id] = second
    await store.commit(changes, NOW)
    assert [job.state for job in await jobs_of(store)] == [State.RUNNING, State.RETRYING]


async def test_a_new_job_may_start_in_the_lane_that_another_job_leaves_in_the_same_commit(
    store: Store,
) -> None:
    first = a_job("a", lane="x", exclusive=True)
    await store.commit(admitted(first), NOW)
    await store.commit(started(first), NOW)
    changes = admitted(a_job("b", lane="x", exclusive=True, state=State.RUNNING))
    changes.left, changes.ended = (over := ended(first)).left, over.ended
    await store.commit(changes, NOW)
    assert [job.id for job in await jobs_of(store)] == ["b"]


async def test_a_job_can_be_submitted_and_ended_without_ever_being_live(store: Store) -> None:
    job = a_job("a", state=State.SKIPPED, reason=Reason("duplicate", "b is active"))
    changes = ended(job, state=State.SKIPPED)
    changes.left = []
    changes.submitted = [submission_of(job)]
    await store.commit(changes, NOW)
    assert await jobs_of(store) == []
    assert (await store.jobs([job.id]))[job.id].state == "skipped"


async def test_a_job_that_entered_and_left_in_one_commit_does_not_stay(store: Store) -> None:
    job = a_job("a")
    changes = admitted(job)
    over = ended(job, state=State.CANCELLED)
    changes.left, changes.ended = over.left, over.ended
    await store.commit(changes, NOW)
    assert await jobs_of(store) == []
    assert (await store.jobs([job.id]))[job.id].state == "cancelled"


async def test_a_commit_of_a_deposed_leader_is_refused(store: Store, place: Place) -> None:
    await store.commit(admitted(a_job("a")), NOW)
    place.raise_epoch()
    with pytest.raises(NotLeading):
        await store.commit(admitted(a_job("b")), NOW)
    assert [job.id for job in await jobs_of(store)] == ["a"]


async def test_a_leader_that_resigned_cannot_commit(store: Store) -> None:
    await store.resign()
    with pytest.raises(NotLeading):
        await store.commit(Changes(), NOW)


async def test_an_empty_commit_succeeds(store: Store) -> None:
    await store.commit(Changes(), NOW)


async def test_ten_thousand_jobs_are_admitted_in_one_commit_in_their_order(store: Store) -> None:
    jobs = [a_job(f"{number:05}", number) for number in range(10_000)]
    changes = admitted(*jobs, params='{"text": "' + "x" * 100 + '"}')
    changes.events = [
        Event(number + 1, NOW, "job_state_changed", job.id, job.queue, {"state": "queued"})
        for number, job in enumerate(jobs)
    ]
    await store.commit(changes, NOW)
    image = await store.load()
    assert list(image.jobs) == jobs
    assert image.seq == 10_000


async def test_dependencies_rate_starts_grants_and_records_are_loaded(store: Store) -> None:
    job = a_job("a")
    changes = admitted(job, a_job("b"))
    changes.dependencies = [(JobId("b"), JobId("a")), (JobId("b"), JobId("c"))]
    changes.rate_starts = [("host", NOW + 1 / 3, job.id), ("host", NOW + 2 / 3, job.id)]
    changes.grants = [(job.id, "t1", '[["gpu",1]]'), (job.id, "t2", "[]")]
    changes.records = {("queue", "default"): '{"paused":true}', ("worker", "w"): '{"name":"w"}'}
    changes.events = events(41, 42)
    await store.commit(changes, NOW)
    image = await store.load()
    assert sorted(image.dependencies) == changes.dependencies
    assert image.rate_starts == changes.rate_starts
    assert sorted(image.grants) == changes.grants
    assert image.records == changes.records
    assert image.seq == 42


async def test_returned_rate_starts_met_dependencies_and_deleted_records_are_gone(
    store: Store,
) -> None:
    job = a_job("a")
    changes = admitted(job)
    changes.dependencies = [
        (JobId("b"), JobId("a")), (JobId("c"), JobId("a")),
        (JobId("d"), JobId("a")), (JobId("d"), JobId("e")),
    ]  # fmt: skip
    changes.rate_starts = [("host", NOW + 1 / 3, job.id), ("host", NOW + 2 / 3, job.id)]
    changes.grants = [(job.id, "t1", "[]"), (job.id, "t2", "[]")]
    changes.records = {("queue", "default"): "{}", ("queue", "other"): "{}"}
    await store.commit(changes, NOW)
    undone = Changes(
        settled=[JobId("b")],
        met_dependencies=[(JobId("d"), JobId("a"))],
        returned_rate_starts=[("host", NOW + 1 / 3, job.id)],
        releases=[(job.id, "t1")],
        records={("queue", "other"): None, ("queue", "unknown"): None},
    )
    await store.commit(undone, NOW)
    image = await store.load()
    assert image.dependencies == [("c", "a"), ("d", "e")]
    assert image.rate_starts == [("host", NOW + 2 / 3, "a")]
    assert image.grants == [("a", "t2", "[]")]
    assert image.records == {("queue", "default"): "{}"}


@pytest.mark.parametrize("how", ["ends", "waits"])
async def test_a_job_that_stops_running_loses_its_grants(store: Store, how: str) -> None:
    job = a_job("a")
    await store.commit(admitted(job), NOW)
    changes = started(job)
    changes.grants = [(job.id, "t1", "[]")]
    await store.commit(changes, NOW)
    assert (await store.load()).grants == [("a", "t1", "[]")]
    if how == "ends":
        await store.commit(ended(job), NOW)
    else:
        job.state = State.RETRYING
        await store.commit(Changes(changed={job.id: job}), NOW)
    assert (await store.load()).grants == []


async def test_a_rate_start_that_is_returned_and_stored_in_one_commit_counts_once(
    store: Store,
) -> None:
    job = a_job("a", 0)
    changes = admitted(job)
    changes.rate_starts = [("host", NOW, job.id)]
    await store.commit(changes, NOW)
    again = Changes(
        rate_starts=[("host", NOW, job.id)], returned_rate_starts=[("host", NOW, job.id)]
    )
    await store.commit(again, NOW)
    assert (await store.load()).rate_starts == [("host", NOW, "a")]


async def test_old_rate_starts_and_answers_are_deleted(store: Store) -> None:
    day = 24 * 3600.0
    changes = Changes(rate_starts=[("host", NOW, JobId("a"))], answers={"k": "{}"})
    await store.commit(changes, NOW)
    await store.commit(Changes(rate_starts=[("host", NOW + day, JobId("b"))]), NOW + day + 1)
    assert (await store.load()).rate_starts == [("host", NOW + day, "b")]
    assert await store.answers(["k"]) == {}


async def test_a_rate_start_is_stored_for_the_window_of_its_rate(store: Store) -> None:
    day = 24 * 3600.0
    rate = '{"code": {"starts": 2, "per_seconds": 604800}, "operator": {"per_seconds": null}}'
    changes = Changes(rate_starts=[("host", NOW, JobId("a"))], records={("rate", "host"): rate})
    await store.commit(changes, NOW)
    await store.commit(Changes(answers={"k": "{}"}), NOW + 2 * day)
    assert (await store.load()).rate_starts == [("host", NOW, "a")]
    await store.commit(Changes(answers={"l": "{}"}), NOW + 9 * day)
    assert (await store.load()).rate_starts == []
