"""The present as one value, and the views of queues, workers, devices and schedules in it.

A page or a terminal shows a snapshot first and then follows the events after its `seq`.
"""

from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct

from fairlane.core.inputs import WorkerJoined
from fairlane.core.queues import QueueSettings, settings_from
from fairlane.leader.schedule import Schedule
from fairlane.redaction import saved_call_without_secrets, without_secrets
from fairlane.store.views import JobView, LaneView, StoreSnapshot, instant
from fairlane.worker.device import PAUSED, DeviceRecord


class QueueView(Struct):
    name: str
    settings: QueueSettings
    paused: str | None  # "paused" or "after_current"
    changed_by_operator: list[str]


class QueueInfo(Struct, kw_only=True):
    """A queue with its jobs; `waiting` holds the first of them in order, `counts` counts all."""

    name: str
    settings: QueueSettings
    paused: str | None  # "paused" or "after_current"
    counts: dict[str, int]  # live jobs by state
    running: list[JobView]
    waiting: list[JobView]


class LimitView(Struct, kw_only=True):
    """A rate (`starts` in every `per_seconds`) or a resource (`amount`) by its name."""

    key: str
    kind: str  # "rate" or "resource"
    starts: int | None = None
    per_seconds: float | None = None
    amount: int | None = None
    changed_by_operator: list[str]


class WorkerView(Struct, kw_only=True):
    """A worker, which is a process or a device; None for `tasks` or `queues` means all of them."""

    id: str
    name: str
    slots: int
    tasks: list[str] | None = None
    queues: list[str] | None = None
    labels: list[str] = []
    device: bool = False
    accepting: bool = True
    host: str = ""
    pid: int = 0
    note: str = ""
    seen_at: datetime | None = None


class DeviceView(Struct, kw_only=True):
    """A device: `idle`, `busy` with its `job`, or `down` with a `note` that says why."""

    name: str
    queue: str
    labels: tuple[str, ...]
    settings: dict[str, Any]
    paused: bool
    state: str
    note: str
    seen_at: datetime | None
    worker: str | None
    job: str | None


class ScheduleView(Struct, kw_only=True):
    name: str
    task: str
    params: dict[str, Any]
    queue: str
    lane: str | None
    priority: str
    cron: str | None
    every_seconds: float | None
    at: datetime | None
    timezone: str
    grace_seconds: float
    coalesce: bool
    overlap: str
    paused: bool
    declared: bool  # by the code
    changed: bool  # by an operator, since then
    next_at: datetime | None  # None if it is paused or will not fire again


class Snapshot(Struct, kw_only=True):
    """The state at `seq`. `waiting` holds the first jobs of each queue, in order."""

    seq: int
    counts: dict[str, dict[str, int]]
    queues: dict[str, QueueView]
    running: list[JobView]
    waiting: dict[str, list[JobView]]
    ended: list[JobView]
    lanes: list[LaneView]
    workers: list[WorkerView]
    schedules: list[ScheduleView]


def lane_without_secrets(lane: LaneView) -> LaneView:
    params = saved_call_without_secrets(lane.params)
    return lane if params is lane.params else msgspec.structs.replace(lane, params=params)


def schedule_view(schedule: Schedule, now: float) -> ScheduleView:
    """Return the view of a schedule: its secrets masked, with the time that it fires next."""
    submission, trigger = schedule.submission, schedule.trigger
    after = max(now, schedule.since or 0.0)
    return ScheduleView(
        name=schedule.name, task=submission.task,
        params=without_secrets(msgspec.json.decode(submission.params), submission.options),
        queue=submission.queue, lane=submission.lane, priority=submission.priority.name.lower(),
        cron=trigger.cron, every_seconds=trigger.every_seconds, at=instant(trigger.at),
        timezone=trigger.timezone, grace_seconds=schedule.grace_seconds,
        coalesce=schedule.coalesce, overlap=schedule.overlap, paused=schedule.paused,
        declared=schedule.declared, changed=schedule.changed,
        next_at=None if schedule.paused else instant(trigger.next_after(after)),
    )  # fmt: skip


def queue_view(name: str, body: str) -> QueueView:
    stored = msgspec.json.decode(body)
    settings = settings_from(name, {**stored["code"], **stored["operator"]})
    return QueueView(name, settings, stored["paused"], sorted(stored["operator"]))


def queue_infos(snapshot: Snapshot) -> dict[str, QueueInfo]:
    """Return every queue of a snapshot with its jobs, by name."""
    return {
        name: QueueInfo(
            name=name, settings=queue.settings, paused=queue.paused,
            counts=snapshot.counts.get(name, {}),
            running=[job for job in snapshot.running if job.queue == name],
            waiting=snapshot.waiting.get(name, []),
        )
        for name, queue in sorted(snapshot.queues.items())
    }  # fmt: skip


def limit_view(kind: str, key: str, body: str) -> LimitView:
    stored = msgspec.json.decode(body)
    values = {**stored["code"], **stored["operator"]}
    return LimitView(key=key, kind=kind, **values, changed_by_operator=sorted(stored["operator"]))


def worker_view(body: str) -> WorkerView:
    worker = msgspec.json.decode(body, type=WorkerJoined)
    fields = {field: getattr(worker, field) for field in WorkerView.__struct_fields__}
    return WorkerView(**{**fields, "seen_at": instant(worker.seen_at)})


def device_view(
    name: str, record: DeviceRecord, worker: WorkerView | None, job: str | None
) -> DeviceView:
    """Return the view of a stored device; `worker` is the last report of the program driving it."""
    is_up = worker is not None and (worker.accepting or (record.paused and worker.note == PAUSED))
    if worker is None:
        note = f'no program with a class for queue "{record.queue}" drives it yet'
    else:
        note = worker.note or "the program that drives it is ending"
    return DeviceView(
        name=name, queue=record.queue, labels=record.labels, settings=record.settings,
        paused=record.paused, state="busy" if job else "idle" if is_up else "down",
        note="" if is_up else note, seen_at=worker.seen_at if worker else None,
        worker=f"{worker.host}:{worker.pid}" if worker else None, job=job,
    )  # fmt: skip


def snapshot_from(picture: StoreSnapshot, now: float) -> Snapshot:
    queues: dict[str, QueueView] = {}
    workers: list[WorkerView] = []
    schedules: list[ScheduleView] = []
    for (kind, name), body in picture.records.items():
        if kind == "queue":
            queues[name] = queue_view(name, body)
        elif kind == "worker":
            workers.append(worker_view(body))
        elif kind == "schedule":
            schedule = msgspec.json.decode(body, type=Schedule)
            if not schedule.deleted:
                schedules.append(schedule_view(schedule, now))
    for name in picture.counts:
        queues.setdefault(name, QueueView(name, QueueSettings(), None, []))
    return Snapshot(
        seq=picture.seq, counts=picture.counts, queues=queues, running=picture.running,
        waiting=picture.waiting, ended=picture.ended,
        lanes=[lane_without_secrets(lane) for lane in picture.lanes], workers=workers,
        schedules=schedules,
    )  # fmt: skip
