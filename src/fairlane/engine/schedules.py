"""Schedules: a trigger says when, this decides what happens.

Each due time becomes a submission that carries (schedule, fire time); the core admits it and the
store keeps both in one transaction, unique. What is late by no more than the grace fires, by
default once for all that piled up; what is later is recorded as skipped, with how many there were.
"""

import logging
from collections.abc import Mapping
from typing import Literal

import msgspec
from msgspec import Struct

from fairlane.core.inputs import Cancel, Input, Skipped, Submission, Submit
from fairlane.engine.triggers import Trigger
from fairlane.errors import FairlaneError
from fairlane.ids import firing_id, new_id

log = logging.getLogger("fairlane.schedules")

GRACE_SECONDS = 300.0


class Schedule(Struct, kw_only=True, omit_defaults=True):
    """A stored schedule. `since` is when it began to count: nothing before that is due."""

    name: str
    trigger: Trigger
    submission: Submission
    grace_seconds: float = GRACE_SECONDS
    coalesce: bool = True
    overlap: Literal["skip", "queue", "cancel"] = "skip"
    paused: bool = False
    since: float = 0.0

    def text(self) -> str:
        return msgspec.json.encode(self).decode()


def schedule_from(text: str) -> Schedule | None:
    """Read a stored schedule; one that cannot be read does not fire, and all others do."""
    try:
        return msgspec.json.decode(text, type=Schedule)
    except (msgspec.DecodeError, FairlaneError) as error:
        log.warning("a stored schedule cannot be read and does not fire: %s", error)
        return None


def fire(schedule: Schedule, fire_at: float, *, by_hand: bool = False) -> Submission:
    """Return the one job of a firing. Its dedupe key or lane is the lock of the schedule."""
    template = schedule.submission
    lock = f"schedule:{schedule.name}"
    id = new_id() if by_hand else firing_id(schedule.name, fire_at)
    return msgspec.structs.replace(
        template,
        id=id,
        dedupe=template.dedupe or (lock if schedule.overlap == "skip" else f"{lock}:{id}"),
        lane=template.lane or (lock if schedule.overlap != "skip" else None),
        schedule=schedule.name,
        fire_at=fire_at,
        by_hand=by_hand,
    )


class Schedules:
    """The leader's view of all schedules: what is due, and when to look next."""

    def __init__(self) -> None:
        self._schedules: dict[str, Schedule] = {}
        self._fired: dict[str, float] = {}
        self._next: dict[str, float] = {}

    @property
    def next_at(self) -> float | None:
        return min(self._next.values(), default=None)

    def load(
        self, records: Mapping[tuple[str, str], str], fired: Mapping[str, float], now: float
    ) -> None:
        self._schedules.clear()
        self._next.clear()
        self._fired = dict(fired)
        self.committed({key: body for key, body in records.items() if key[0] == "schedule"}, now)

    def committed(self, records: Mapping[tuple[str, str], str | None], now: float) -> None:
        """Follow a change that is durable now, whoever made it."""
        for (kind, name), body in records.items():
            if kind != "schedule":
                continue
            self._schedules.pop(name, None)
            self._next.pop(name, None)
            if body is not None:
                schedule = schedule_from(body)
                if schedule is not None:
                    self._schedules[name] = schedule
                    self._plan(schedule, min(now, self._last(schedule)))

    def _last(self, schedule: Schedule) -> float:
        return max(schedule.since, self._fired.get(schedule.name, float("-inf")))

    def _plan(self, schedule: Schedule, after: float) -> None:
        next_at = None if schedule.paused else schedule.trigger.next_after(after)
        if next_at is None:
            self._next.pop(schedule.name, None)
        else:
            self._next[schedule.name] = next_at

    def due(self, now: float) -> list[Input]:
        """Return what fires now, each once, and plan the next time."""
        inputs: list[Input] = []
        for name, next_at in list(self._next.items()):
            if next_at <= now:
                inputs += self._fire(self._schedules[name], now)
        return inputs

    def _fire(self, schedule: Schedule, now: float) -> list[Input]:
        due = schedule.trigger.due(self._last(schedule), now)
        fresh = [at for at in due.times if now - at <= schedule.grace_seconds]
        stale = [at for at in due.times if now - at > schedule.grace_seconds]
        missed = due.count - len(fresh)
        inputs: list[Input] = []
        if missed and stale:
            why = f"missed by more than the grace of {schedule.grace_seconds:g} s"
            inputs.append(Skipped("", schedule.name, stale[-1], missed, why))
        for at in fresh[-1:] if schedule.coalesce else fresh:
            previous = self._fired.get(schedule.name)
            if schedule.overlap == "cancel" and previous is not None:
                inputs.append(Cancel("", firing_id(schedule.name, previous)))
            inputs.append(Submit("", [fire(schedule, at)]))
            self._fired[schedule.name] = at
        self._fired[schedule.name] = due.times[-1] if due.times else now
        self._plan(schedule, self._fired[schedule.name])
        return inputs
