"""The rows of an ended job, and the values that a retry by hand restores."""

import pytest

from fairlane.core.decisions import Changes, LaneChange, Start
from fairlane.core.lifecycle import Priority, State
from fairlane.core.live_job import JobId, LiveJob, Reason, Terms, WorkerId
from fairlane.store.protocol import Store
from fairlane.store.views import Payload
from tests.support.stores import NOW, a_job, admitted, ended, started


def start_of(job: LiveJob, *, kind: str = "start") -> Start:
    return Start(
        job=job.id,
        task=job.task,
        worker=WorkerId("w"),
        fence=job.fence,
        attempt=1,
        first=True,
        kind=kind,
        queue=job.queue,
        lane=job.lane,
    )


async def payload_of(store: Store, job: LiveJob, *, kind: str = "start") -> Payload:
    return (await store.payloads([start_of(job, kind=kind)]))[job.id]


async def revive(store: Store, job: LiveJob) -> LiveJob:
    again = (await store.ended_jobs([job.id]))[job.id]
    again.state, again.position = State.QUEUED, "800000000000"
    await store.commit(Changes(revived=[job.id], entered={job.id: again}), NOW)
    return again


async def test_a_payload_has_the_parameters_meta_and_options_of_the_submission(
    store: Store,
) -> None:
    job = a_job("a")
    await store.commit(admitted(job, params='{"n":1}', meta='{"m":2}', options='{"o":3}'), NOW)
    assert await payload_of(store, job) == Payload('{"n":1}', '{"m":2}', '{"o":3}', None, None, {})


async def test_a_payload_has_the_stored_values_and_the_report_of_earlier_attempts(
    store: Store,
) -> None:
    job = a_job("a")
    await store.commit(admitted(job), NOW)
    changes = Changes(
        reports={job.id: '{"statistics":{"n":1}}'},
        stored_values=[
            (job.id, "stage:one", "1"),
            (job.id, "stage:two", '"zwei"'),
            (job.id, "gone", "0"),
        ],
    )
    await store.commit(changes, NOW)
    changes = Changes(
        reports={job.id: '{"statistics":{"n":2}}'},
        stored_values=[(job.id, "stage:one", "2"), (job.id, "gone", None)],
    )
    await store.commit(changes, NOW)
    payload = await payload_of(store, job)
    assert payload.report == '{"statistics":{"n":2}}'
    assert payload.stored_values == {"stage:one": "2", "stage:two": '"zwei"'}


async def test_only_a_job_of_the_kind_continue_gets_the_checkpoint_of_its_lane(
    store: Store,
) -> None:
    job = a_job("a", lane="x")
    await store.commit(admitted(job), NOW)
    changes = ended(job, report='{"checkpoint":{"cursor":"c1"}}')
    changes.lanes = {("default", "x"): LaneChange(status="done", job=job.id, adopt=job.id)}
    await store.commit(changes, NOW)
    again = a_job("b", lane="x")
    await store.commit(admitted(again), NOW)
    assert (await payload_of(store, again)).checkpoint is None
    assert (await payload_of(store, again, kind="continue")).checkpoint == '{"cursor":"c1"}'


async def test_a_lane_adopts_the_last_report_of_a_job_that_ends_without_one(store: Store) -> None:
    job = a_job("a", lane="x")
    await store.commit(admitted(job), NOW)
    await store.commit(Changes(reports={job.id: '{"checkpoint":{"cursor":"c2"}}'}), NOW)
    changes = ended(job, state=State.FAILED)
    changes.lanes = {("default", "x"): LaneChange(adopt=job.id)}
    await store.commit(changes, NOW)
    assert (await store.lanes())[0].checkpoint == {"cursor": "c2"}


@pytest.mark.parametrize(("kind", "left"), [("continue", {"cursor": "c1"}), ("start", None)])
async def test_a_job_that_never_reported_leaves_the_checkpoint_it_started_with(
    store: Store, kind: str, left: object
) -> None:
    key = ("default", "x")
    first, second = a_job("a", lane="x"), a_job("b", lane="x", kind=kind)
    await store.commit(admitted(first, second), NOW)
    changes = ended(first, report='{"checkpoint":{"cursor":"c1"}}')
    changes.lanes = {key: LaneChange(adopt=first.id)}
    await store.commit(changes, NOW)
    changes = ended(second, state=State.FAILED)
    changes.lanes = {key: LaneChange(adopt=second.id)}
    await store.commit(changes, NOW)
    assert (await store.lanes())[0].checkpoint == left


async def test_a_report_without_a_checkpoint_empties_the_checkpoint_of_the_lane(
    store: Store,
) -> None:
    key = ("default", "x")
    first, second = a_job("a", lane="x"), a_job("b", lane="x")
    await store.commit(admitted(first, second), NOW)
    for job, report in ((first, '{"checkpoint":{"cursor":"c1"}}'), (second, "{}")):
        changes = ended(job, report=report)
        changes.lanes = {key: LaneChange(adopt=job.id)}
        await store.commit(changes, NOW)
    assert (await store.lanes())[0].checkpoint == {}


async def test_an_ended_job_is_read_back_as_a_live_job(store: Store) -> None:
    job = a_job(
        "a",
        lane="x",
        priority=Priority.LOW,
        terms=Terms(limits=("host",), recover=3),
        dedupe="k",
        exclusive=True,
        digest="d",
        bucket="b",
        failures=2,
        crashes=1,
    )
    await store.commit(admitted(job), NOW)
    await store.commit(started(job), NOW)
    changes = ended(job, state=State.FAILED)
    job.reason = Reason("crash_loop", "it crashed twice")
    await store.commit(changes, NOW)
    rebuilt = await store.ended_jobs([job.id, JobId("unknown")])
    job.exclusive, job.holds_lane, job.position = False, False, ""
    assert rebuilt == {job.id: job}


async def test_a_live_job_is_not_among_the_ended_jobs(store: Store) -> None:
    job = a_job("a")
    await store.commit(admitted(job), NOW)
    assert await store.ended_jobs([job.id]) == {}


async def test_a_revived_job_gets_back_its_report_and_stored_values(store: Store) -> None:
    job = a_job("a")
    await store.commit(admitted(job), NOW)
    changes = started(job)
    changes.reports = {job.id: '{"statistics":{"n":1}}'}
    changes.stored_values = [(job.id, "stage:one", "1")]
    await store.commit(changes, NOW)
    await store.commit(ended(job, state=State.FAILED), NOW)
    shown = (await store.jobs([job.id]))[job.id]
    assert (shown.state, shown.statistics) == ("failed", {"n": 1})
    again = await revive(store, job)
    assert list((await store.load()).jobs) == [again]
    assert await store.ended_jobs([job.id]) == {}
    payload = await payload_of(store, again)
    assert (payload.report, payload.stored_values) == ('{"statistics":{"n":1}}', {"stage:one": "1"})


async def test_the_stored_values_of_a_completed_job_are_deleted(store: Store) -> None:
    job = a_job("a")
    await store.commit(admitted(job), NOW)
    await store.commit(Changes(stored_values=[(job.id, "stage:one", "1")]), NOW)
    changes = ended(job)
    changes.stored_values = [(job.id, "stage:two", "2")]
    await store.commit(changes, NOW)
    again = await revive(store, job)
    assert (await payload_of(store, again)).stored_values == {}


async def test_the_report_of_the_end_replaces_an_earlier_report_in_the_same_commit(
    store: Store,
) -> None:
    job = a_job("a")
    await store.commit(admitted(job), NOW)
    changes = ended(job, state=State.FAILED, report='{"statistics":{"n":2}}')
    changes.reports = {job.id: '{"statistics":{"n":1}}'}
    await store.commit(changes, NOW)
    assert (await store.jobs([job.id]))[job.id].statistics == {"n": 2}
    again = await revive(store, job)
    assert (await payload_of(store, again)).report == '{"statistics":{"n":2}}'


async def test_a_report_in_the_commit_of_the_end_is_stored(store: Store) -> None:
    job = a_job("a")
    await store.commit(admitted(job), NOW)
    changes = ended(job)
    changes.reports = {job.id: '{"statistics":{"n":1}}'}
    await store.commit(changes, NOW)
    assert (await store.jobs([job.id]))[job.id].statistics == {"n": 1}


async def test_a_job_may_be_revived_and_end_again_in_one_commit(store: Store) -> None:
    job = a_job("a")
    await store.commit(admitted(job), NOW)
    await store.commit(ended(job, state=State.FAILED, report='{"statistics":{"n":1}}'), NOW)
    changes = ended(job, state=State.CANCELLED)
    changes.left, changes.revived = [], [job.id]
    await store.commit(changes, NOW)
    shown = (await store.jobs([job.id]))[job.id]
    assert (shown.state, shown.statistics) == ("cancelled", {"n": 1})
    assert list((await store.load()).jobs) == []
