"""The views of jobs, lanes and queues."""

from datetime import UTC, datetime

import msgspec
import pytest

from fairlane.core.decisions import Changes, LaneChange
from fairlane.core.inputs import WorkerJoined
from fairlane.core.lifecycle import Priority, State
from fairlane.core.live_job import JobId, Reason, WorkerId
from fairlane.store.protocol import Store
from fairlane.store.views import FRONT, Place
from tests.conformance.conftest import OpenStore
from tests.support.stores import NOW, a_job, admitted, ended, events, started, submission_of

REPORT = (
    '{"progress":{"percent":40.0,"message":"page 2"},"stages":[{"name":"listing","status":"done"}],'
    '"statistics":{"saved":3},"artifacts":[{"path":"a.jpg","bytes":7}],"checkpoint":{"cursor":"c9"}}'
)


def joined(id: str, name: str, *, device: bool) -> str:
    record = WorkerJoined(id=WorkerId(id), name=name, slots=1, device=device)
    return msgspec.json.encode(record).decode()


async def test_a_live_job_is_shown_with_its_report_and_worker(store: Store) -> None:
    job = a_job("a", lane="x", priority=Priority.HIGH)
    await store.commit(admitted(job, params='{"url":"u"}', meta='{"k":[1]}'), NOW)
    changes = started(job, worker="w1/phone")
    job.cancel_outputs = "keep"
    changes.reports = {job.id: REPORT}
    changes.records = {
        ("worker", "w1"): joined("w1", "host:7", device=False),
        ("worker", "w1/phone"): joined("w1/phone", "phone", device=True),
    }
    await store.commit(changes, NOW)
    shown = (await store.jobs([job.id]))[job.id]
    assert (shown.state, shown.priority, shown.lane) == ("running", "high", "x")
    assert (shown.params, shown.meta) == ({"url": "u"}, {"k": [1]})
    assert (shown.progress.percent, shown.progress.message) == (40.0, "page 2")
    assert shown.stages[0].name == "listing"
    assert shown.statistics == {"saved": 3}
    assert shown.artifacts[0].bytes == 7
    assert (shown.worker, shown.device, shown.attempt) == ("host:7", "phone", 1)
    assert shown.stopping is True
    assert shown.started_at == datetime.fromtimestamp(NOW + 1, UTC)
    assert (shown.error, shown.result, shown.ended_at) == (None, None, None)


async def test_a_worker_that_is_no_device_is_shown_with_its_name_only(store: Store) -> None:
    known, unknown = a_job("a"), a_job("b")
    await store.commit(admitted(known, unknown), NOW)
    await store.commit(started(known, worker="w1"), NOW)
    changes = started(unknown, worker="w2")
    changes.records = {("worker", "w1"): joined("w1", "desk", device=False)}
    await store.commit(changes, NOW)
    shown = await store.jobs([known.id, unknown.id])
    assert (shown[known.id].worker, shown[known.id].device) == ("desk", None)
    assert (shown[unknown.id].worker, shown[unknown.id].device) == ("w2", None)


async def test_an_ended_job_is_shown_with_its_result_and_error(store: Store) -> None:
    good, bad = a_job("a"), a_job("b")
    await store.commit(admitted(good, bad), NOW)
    await store.commit(started(good, bad), NOW)
    await store.commit(ended(good, result='{"saved":3}', report=REPORT), NOW)
    error = {"code": "timeout", "message": "too slow", "retryable": True, "traceback": "…"}
    await store.commit(ended(bad, state=State.FAILED, error=error), NOW)
    shown = await store.jobs([good.id, bad.id])
    assert (shown[good.id].state, shown[good.id].result) == ("completed", {"saved": 3})
    assert shown[good.id].progress.percent == 40.0
    assert shown[good.id].ended_at == datetime.fromtimestamp(NOW + 2, UTC)
    failure = shown[bad.id].error
    assert failure is not None
    assert (failure.code, failure.retryable, failure.traceback) == ("timeout", True, "…")
    assert shown[bad.id].waiting_for == []


@pytest.mark.parametrize(
    ("state", "code", "message"),
    [
        (State.BLOCKED, "disk", "3 GB free"),
        (State.INTERRUPTED, "disk", "3 GB free"),
        (State.SCHEDULED, "due", "until 2025-10-09T09:00:00Z"),
        (State.RETRYING, "due", "until 2025-10-09T09:00:00Z"),
    ],
)
async def test_a_waiting_job_is_shown_with_its_reason(
    store: Store, state: State, code: str, message: str
) -> None:
    due_at = datetime(2025, 10, 9, 9, tzinfo=UTC).timestamp()
    job = a_job("a", state=state, reason=Reason("disk", "3 GB free"), due_at=due_at)
    await store.commit(admitted(job), NOW)
    assert (await store.jobs([job.id]))[job.id].waiting_for == [Reason(code, message)]


async def test_a_queued_job_is_shown_without_a_reason(store: Store) -> None:
    job = a_job("a", reason=Reason("old", "no longer true"))
    await store.commit(admitted(job), NOW)
    assert (await store.jobs([job.id]))[job.id].waiting_for == []


async def test_a_snapshot_has_the_first_waiting_jobs_of_each_queue_in_order(store: Store) -> None:
    jobs = [
        a_job("low", 0, priority=Priority.LOW),
        a_job("second", 2),
        a_job("first", 1, state=State.BLOCKED),
        a_job("third", 3, state=State.SCHEDULED),
        a_job("high", 9, priority=Priority.HIGH),
        a_job("placeless", state=State.BLOCKED, position="", priority=Priority.HIGH),
        a_job("elsewhere", 4, queue="mail"),
        a_job("runs", 5),
    ]
    await store.commit(admitted(*jobs), NOW)
    changes = started(jobs[-1])
    changes.events = events(5, 6)
    changes.records = {("queue", "mail"): "{}"}
    await store.commit(changes, NOW)
    picture = await store.read_snapshot(waiting=6)
    assert picture.seq == 6
    assert picture.counts == {
        "default": {"queued": 3, "blocked": 2, "scheduled": 1, "running": 1},
        "mail": {"queued": 1},
    }
    assert [job.id for job in picture.running] == ["runs"]
    order = ["high", "first", "second", "third", "low", "placeless"]
    assert [job.id for job in picture.waiting["default"]] == order
    assert [job.id for job in picture.waiting["mail"]] == ["elsewhere"]
    assert picture.records == {("queue", "mail"): "{}"}
    shorter = await store.read_snapshot(waiting=2)
    assert [job.id for job in shorter.waiting["default"]] == order[:2]
    first = await store.jobs_behind("default", after=FRONT, limit=2)
    rest = await store.jobs_behind("default", after=Place.of(first[-1]), limit=9)
    assert [job.id for job in first + rest] == order[:-1]  # `placeless` has no position


@pytest.mark.parametrize(
    ("record", "order"),
    [
        ('{"code":{"order":"strict"},"operator":{},"paused":null}', "abcd"),
        ('{"code":{},"operator":{"order":"strict"},"paused":null}', "abcd"),
        ('{"code":{"order":"strict"},"operator":{"order":"fifo"},"paused":null}', "bacd"),
        ('{"code":{"max_concurrent":1},"operator":{},"paused":null}', "bacd"),
    ],
)
async def test_a_strict_queue_is_listed_by_position_only(
    store: Store, record: str, order: str
) -> None:
    jobs = [
        a_job("a", 1, lane="x"),
        a_job("b", 2, lane="x", priority=Priority.HIGH),
        a_job("c", 3, lane="x", priority=Priority.LOW),
        a_job("d", state=State.BLOCKED, position="", priority=Priority.HIGH),
        a_job("e", 0, queue="mail", priority=Priority.LOW),
        a_job("f", 1, queue="mail", priority=Priority.HIGH),
    ]
    changes = admitted(*jobs)
    changes.records = {("queue", "default"): record}
    changes.lanes = {("default", "x"): LaneChange(status="queued")}
    await store.commit(changes, NOW)
    picture = await store.read_snapshot(waiting=4)
    assert "".join(job.id for job in picture.waiting["default"]) == order
    assert "".join(job.id for job in picture.waiting["mail"]) == "fe"
    assert [lane.active_job for lane in picture.lanes] == [order[0]]
    assert [lane.active_job for lane in await store.lanes("default")] == [order[0]]
    for limit in (1, 2, 3):
        part = await store.read_snapshot(waiting=limit)
        assert "".join(job.id for job in part.waiting["default"]) == order[:limit]
        image = await store.read_image(queue="default", limit=limit)
        assert {job.id for job in image.jobs} == set(order[:limit])
    after, listed = FRONT, ""
    while page := await store.jobs_behind("default", after=after, limit=1):
        after, listed = Place.of(page[0]), listed + page[0].id
    assert listed == order[:3]  # `d` has no position


async def test_a_snapshot_has_the_newest_ended_jobs_first(store: Store) -> None:
    jobs = [a_job(name) for name in "abc"]
    await store.commit(admitted(*jobs), NOW)
    for job in (jobs[1], jobs[0], jobs[2]):
        await store.commit(ended(job), NOW)
    picture = await store.read_snapshot(ended=2)
    assert [job.id for job in picture.ended] == ["c", "a"]
    assert (picture.counts, picture.waiting, picture.running) == ({}, {}, [])


async def test_a_reader_sees_a_whole_commit_or_none_of_it(
    store: Store, open_store: OpenStore
) -> None:
    reader = await open_store()
    await store.commit(admitted(a_job("a")), NOW)
    before = await reader.read_snapshot()
    changes = admitted(a_job("b"))
    changes.events = events(1)
    await store.commit(changes, NOW)
    after = await reader.read_snapshot()
    assert (before.seq, before.counts) == (0, {"default": {"queued": 1}})
    assert (after.seq, after.counts) == (1, {"default": {"queued": 2}})


async def test_the_state_of_a_lane_follows_from_its_jobs(store: Store) -> None:
    jobs = {
        "queues": a_job("q", lane="queues", state=State.RETRYING),
        "runs": a_job("r", lane="runs"),
        "stuck": a_job("s", lane="stuck", state=State.INTERRUPTED),
    }
    next_one = a_job("n", -1, lane="runs")
    await store.commit(admitted(*jobs.values(), next_one), NOW)
    changes = started(jobs["runs"])
    changes.lanes = {
        ("default", "over"): LaneChange(status="failed", job=JobId("old")),
        ("default", "saved"): LaneChange(params='{"limit":5}'),
        ("mail", "runs"): LaneChange(status="done"),
    }
    await store.commit(changes, NOW)
    lanes = {lane.lane: lane for lane in await store.lanes("default")}
    assert {name: lane.state for name, lane in lanes.items()} == {
        "over": "failed",
        "queues": "queued",
        "runs": "running",
        "saved": "idle",
        "stuck": "running",
    }
    assert lanes["runs"].active_job == "r"
    assert (lanes["over"].last_job, lanes["over"].active_job) == ("old", None)
    assert lanes["saved"].params == {"limit": 5}
    every = [(lane.queue, lane.lane) for lane in await store.lanes()]
    assert every == sorted(every)
    assert ("mail", "runs") in every
    assert (await store.read_snapshot()).lanes == await store.lanes()


async def test_the_active_job_of_a_waiting_lane_is_its_holder_or_its_next_job(store: Store) -> None:
    jobs = [a_job("later", 2, lane="x"), a_job("sooner", 1, lane="x")]
    await store.commit(admitted(*jobs), NOW)
    assert (await store.lanes())[0].active_job == "sooner"
    jobs[0].state, jobs[0].holds_lane = State.RETRYING, True
    await store.commit(Changes(changed={jobs[0].id: jobs[0]}), NOW)
    assert (await store.lanes())[0].active_job == "later"


async def test_the_lanes_of_a_snapshot_do_not_depend_on_its_number_of_jobs(store: Store) -> None:
    jobs = [a_job(f"j{n:02}", n, lane=f"lane {n % 5}") for n in range(20)]
    free = [a_job(f"free{n}", 20 + n) for n in range(3)]
    await store.commit(admitted(*jobs, *free), NOW)
    await store.commit(started(jobs[1]), NOW)
    jobs[17].state, jobs[17].holds_lane = State.RETRYING, True
    changes = Changes(changed={jobs[17].id: jobs[17]})
    names = [*(f"lane {n}" for n in range(5)), "over"]
    changes.lanes = {("default", name): LaneChange(status="done") for name in names}
    await store.commit(changes, NOW)
    everything = await store.lanes()
    assert [lane.active_job for lane in everything] == ["j00", "j01", "j17", "j03", "j04", None]
    for waiting in (0, 1, 3, 100):
        assert (await store.read_snapshot(waiting=waiting)).lanes == everything


async def test_a_snapshot_with_a_limit_on_lanes_shows_the_lanes_of_its_jobs_first(
    store: Store,
) -> None:
    jobs = [a_job(name, number, lane=name) for number, name in enumerate("zyxw")]
    await store.commit(admitted(*jobs), NOW)
    changes = started(jobs[3])
    changes.lanes = {("default", name): LaneChange(status="done") for name in "abc"}
    await store.commit(changes, NOW)
    shown = {
        lanes: [lane.lane for lane in (await store.read_snapshot(waiting=2, lanes=lanes)).lanes]
        for lanes in (0, 1, 3, 4)
    }
    assert shown == {0: [], 1: ["w"], 3: ["w", "y", "z"], 4: ["a", "w", "y", "z"]}


async def test_the_next_job_of_a_lane_is_found_by_positions_of_different_lengths(
    store: Store,
) -> None:
    first, between = a_job("zz", 1, lane="x"), a_job("aa", 1, lane="x")
    between.position += "V"
    unplaced = a_job("dependent", 0, lane="x", state=State.BLOCKED)
    unplaced.position = ""
    await store.commit(admitted(first, between, unplaced), NOW)
    assert (await store.lanes())[0].active_job == "zz"


async def test_a_lane_change_leaves_other_fields_of_the_lane_unchanged(store: Store) -> None:
    key = ("default", "x")
    job = a_job("a", lane="x")
    await store.commit(admitted(job), NOW)
    changes = ended(job, report=REPORT)
    changes.lanes = {key: LaneChange(status="done", job=job.id, adopt=job.id, params='{"n":1}')}
    await store.commit(changes, NOW)
    await store.commit(Changes(lanes={key: LaneChange(status="idle")}), NOW)
    lane = (await store.lanes())[0]
    assert (lane.state, lane.last_job, lane.params) == ("idle", "a", {"n": 1})
    assert lane.checkpoint == {"cursor": "c9"}
    await store.commit(Changes(lanes={key: LaneChange(params=None)}), NOW)
    assert (await store.lanes())[0].params is None


async def test_the_log_of_a_job_is_in_order_and_ends_with_the_newest(store: Store) -> None:
    lines = [(JobId("a"), NOW + n, "info", f"line {n}\n\x00") for n in range(5)]
    await store.commit(Changes(logs=[*lines, (JobId("b"), NOW, "error", "other")]), NOW)
    shown = await store.log(JobId("a"), limit=2)
    assert [(line.level, line.message) for line in shown] == [
        ("info", "line 3\n\x00"),
        ("info", "line 4\n\x00"),
    ]
    assert len(await store.log(JobId("a"))) == 5
    assert await store.log(JobId("unknown")) == []


async def test_records_are_listed_by_kind(store: Store) -> None:
    changes = Changes(records={("queue", "a"): "1", ("queue", "b"): "2", ("schedule", "a"): "3"})
    await store.commit(changes, NOW)
    assert await store.records("queue") == {"a": "1", "b": "2"}
    assert await store.records("nothing") == {}


async def test_durations_are_medians_of_completed_jobs(store: Store) -> None:
    jobs = [a_job(str(n), task="save") for n in range(4)]
    other = a_job("other", task="list")
    await store.commit(admitted(*jobs, other), NOW)
    await store.commit(started(*jobs), NOW)
    began = NOW + 1
    for job, seconds in zip(jobs, (1, 2, 30), strict=False):
        await store.commit(ended(job, at=began + seconds), NOW)
    await store.commit(ended(jobs[3], state=State.FAILED, at=NOW + 500), NOW)
    await store.commit(ended(other), NOW)  # the job never started
    assert await store.durations() == {"save": 2.0}


async def test_an_image_can_be_limited_to_one_queue_and_a_number_of_jobs(store: Store) -> None:
    jobs = [
        a_job("a", 0, priority=Priority.LOW),
        a_job("b", 1),
        a_job("c", 2, priority=Priority.HIGH),
        a_job("runs", 3, priority=Priority.LOW),
        a_job("mail", 4, queue="mail"),
    ]
    await store.commit(admitted(*jobs), NOW)
    await store.commit(started(jobs[3]), NOW)
    few = await store.read_image(queue="default", limit=3)
    assert [job.id for job in few.jobs] == ["b", "c", "runs"]
    whole = await store.read_image(queue="default")
    assert [job.id for job in whole.jobs] == ["a", "b", "c", "runs"]
    assert [job.id for job in (await store.read_image()).jobs] == ["a", "b", "c", "runs", "mail"]


async def test_requested_jobs_are_returned_in_the_requested_order(store: Store) -> None:
    jobs = [a_job(name) for name in "abc"]
    await store.commit(admitted(*jobs), NOW)
    await store.commit(ended(jobs[1]), NOW)
    asked = [JobId(name) for name in ("c", "b", "x", "a")]
    assert list(await store.jobs(asked)) == ["c", "b", "a"]
    assert await store.jobs([]) == {}


async def test_a_job_that_was_refused_at_submission_keeps_its_reason(store: Store) -> None:
    job = a_job("a", reason=Reason("duplicate", "b is active"))
    changes = ended(job, state=State.SKIPPED)
    changes.left, changes.submitted = [], [submission_of(job)]
    await store.commit(changes, NOW)
    assert (await store.ended_jobs([job.id]))[job.id].reason == job.reason
