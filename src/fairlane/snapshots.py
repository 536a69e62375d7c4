"""The present as one value: what a page or a terminal shows before it follows the events."""

from typing import Any

import msgspec
from msgspec import Struct

from fairlane.core.queues import QueueSettings, settings_from
from fairlane.engine.schedules import Schedule
from fairlane.store.viewing import MASK, without_secrets
from fairlane.store.views import JobView, LaneView, Picture


class QueueView(Struct):
    name: str
    settings: QueueSettings
    paused: str | None  # "paused" or "after_current"
    changed_by_operator: list[str]


class Snapshot(Struct, kw_only=True):
    """Everything at `seq`. `waiting` holds the first jobs of each queue, in order."""

    seq: int
    counts: dict[str, dict[str, int]]
    queues: dict[str, QueueView]
    running: list[JobView]
    waiting: dict[str, list[JobView]]
    ended: list[JobView]
    lanes: list[LaneView]
    workers: list[dict[str, Any]]
    schedules: list[dict[str, Any]]


def lane_without_secrets(lane: LaneView) -> LaneView:
    """Hide what the task of a lane's saved parameters marked as secret."""
    saved = lane.params
    if not saved or "secrets" not in saved:
        return lane
    shown = {n: MASK if n in saved["secrets"] else v for n, v in saved["params"].items()}
    return msgspec.structs.replace(lane, params={"task": saved["task"], "params": shown})


def schedule_without_secrets(schedule: Schedule) -> Schedule:
    submission = schedule.submission
    shown = without_secrets(msgspec.json.decode(submission.params), submission.options)
    params = msgspec.json.encode(shown).decode()
    return msgspec.structs.replace(
        schedule, submission=msgspec.structs.replace(submission, params=params)
    )


def snapshot_from(picture: Picture) -> Snapshot:
    queues: dict[str, QueueView] = {}
    workers, schedules = [], []
    for (kind, name), body in picture.records.items():
        if kind == "queue":
            stored = msgspec.json.decode(body)
            settings = settings_from(name, {**stored["code"], **stored["operator"]})
            queues[name] = QueueView(name, settings, stored["paused"], sorted(stored["operator"]))
        elif kind == "worker":
            workers.append(msgspec.json.decode(body))
        elif kind == "schedule":
            schedule = msgspec.json.decode(body, type=Schedule)
            if not schedule.deleted:
                schedules.append(msgspec.to_builtins(schedule_without_secrets(schedule)))
    for name in picture.counts:
        queues.setdefault(name, QueueView(name, QueueSettings(), None, []))
    return Snapshot(
        seq=picture.seq, counts=picture.counts, queues=queues, running=picture.running,
        waiting=picture.waiting, ended=picture.ended,
        lanes=[lane_without_secrets(lane) for lane in picture.lanes], workers=workers,
        schedules=schedules,
    )  # fmt: skip
