"""Schedules: the trigger gives the instants, this module gives the submissions.

Each due instant becomes a submission with the key (schedule, instant). The core admits it, and the
store writes both in one transaction, unique. A firing that is late by no more than the grace still
happens, by default once for all that are due; later ones are recorded as skipped, with their count.
"""

import logging
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Literal, TypedDict, get_args

import msgspec
from msgspec import Struct

from fairlane.core.inputs import Cancel, Input, SaveRecord, SkipFiring, Submission, Submit
from fairlane.core.validation import AT_MOST, check_option_names, is_seconds, shown
from fairlane.errors import BadSetting, FairlaneError
from fairlane.ids import firing_id, new_id
from fairlane.leader.fire_times import Trigger

log = logging.getLogger("fairlane.schedules")

GRACE_SECONDS = 300.0


Overlap = Literal["skip", "queue", "cancel"]


class Rules(TypedDict, total=False):
    """When a schedule fires: by cron expression, interval or a single instant.

    A firing that is late by no more than the grace happens; with `coalesce` once for all that are
    due. `overlap` decides what happens while the job of the previous firing is still live.
    """

    cron: str | None
    every_seconds: float | None
    at: datetime | None
    timezone: str
    grace_seconds: float
    coalesce: bool
    overlap: Overlap


class Schedule(Struct, kw_only=True, omit_defaults=True):
    """A stored schedule. No instant before `since` is due.

    `since` is None on the way to the leader, which sets it to its own time (`stamp_since`). A
    change or deletion by an operator outlives the declaration in the code.
    """

    name: str
    trigger: Trigger
    submission: Submission
    grace_seconds: float = GRACE_SECONDS
    coalesce: bool = True
    overlap: Overlap = "skip"
    paused: bool = False
    since: float | None = 0.0
    declared: bool = False  # by the code
    changed: bool = False  # by an operator, after the declaration
    deleted: bool = False

    def text(self) -> str:
        return msgspec.json.encode(self).decode()

    def declared_after(self, before: "Schedule | None") -> "Schedule":
        """Return the schedule to store, given this declaration and the stored schedule."""
        if before is not None and (before.changed or before.deleted):
            return msgspec.structs.replace(before, declared=True)
        same = before is not None and before.trigger == self.trigger
        return msgspec.structs.replace(
            self,
            since=before.since if before is not None and same else None,
            paused=before.paused if before is not None else False,
            declared=True,
        )

    def changed_to(self, rules: Rules, submission: Submission | None) -> "Schedule":
        """Return this schedule with some rules changed; a new trigger starts now."""
        was = self.trigger
        whole: Rules = {
            "timezone": was.timezone, "grace_seconds": self.grace_seconds,
            "coalesce": self.coalesce, "overlap": self.overlap,
        }  # fmt: skip
        if not {"cron", "every_seconds", "at"} & rules.keys():
            whole["cron"], whole["every_seconds"] = was.cron, was.every_seconds
            whole["at"] = None if was.at is None else datetime.fromtimestamp(was.at, UTC)
        fresh = make_schedule(self.name, submission or self.submission, {**whole, **rules})
        same = fresh.trigger == was
        return msgspec.structs.replace(
            fresh, since=self.since if same else None, paused=self.paused, declared=self.declared,
            changed=True,
        )  # fmt: skip


def make_schedule(name: str, submission: Submission, rules: Rules) -> Schedule:
    """Return a schedule with these rules, or raise a BadSetting that names the wrong rule."""
    check_option_names("schedule", rules, list(Rules.__annotations__))
    at, grace = rules.get("at"), rules.get("grace_seconds", GRACE_SECONDS)
    where = f'schedule "{name}"'
    if at is not None and not isinstance(at, datetime):
        raise BadSetting(f"at of {where} is {at!r}; it must be a datetime")
    if not is_seconds(grace, zero=True):
        raise BadSetting(
            f"grace_seconds of {where} is {shown(grace)}; it must be 0 or more, a number, {AT_MOST}"
        )
    overlap = rules.get("overlap", "skip")
    if overlap not in get_args(Overlap):
        choices = ", ".join(get_args(Overlap))
        raise BadSetting(f"overlap of {where} is {overlap!r}; choose one of {choices}")
    timezone = rules.get("timezone", "UTC")
    if at is not None:
        trigger = Trigger.once(at, timezone=timezone)
    else:
        trigger = Trigger(
            cron=rules.get("cron"), every_seconds=rules.get("every_seconds"), timezone=timezone
        )
    return Schedule(
        name=name, trigger=trigger, submission=submission, grace_seconds=grace,
        coalesce=rules.get("coalesce", True), overlap=overlap,
    )  # fmt: skip


def decode_schedule(text: str) -> Schedule | None:
    """Return a stored schedule, or None if it cannot be read; the other schedules fire."""
    try:
        return msgspec.json.decode(text, type=Schedule)
    except (msgspec.DecodeError, FairlaneError) as error:
        log.warning("a stored schedule cannot be read and does not fire: %s", error)
        return None


def stamp_since(inputs: Iterable[Input], now: float) -> None:
    """Set `since` of new, changed and resumed schedules to the time of the leader."""
    for input in inputs:
        if type(input) is SaveRecord and input.kind == "schedule" and input.body is not None:
            schedule = decode_schedule(input.body)
            if schedule is not None and schedule.since is None:
                schedule.since = now
                input.body = schedule.text()


def firing_of(schedule: Schedule, fire_at: float | None) -> Submission:
    """Return the job of a firing; without an instant it is a firing by hand.

    The dedupe key or the lane of the job is the lock of the schedule.
    """
    template = schedule.submission
    lock = f"schedule:{schedule.name}"
    id = new_id() if fire_at is None else firing_id(schedule.name, fire_at)
    return msgspec.structs.replace(
        template,
        id=id,
        dedupe=template.dedupe or (lock if schedule.overlap == "skip" else f"{lock}:{id}"),
        lane=template.lane or (lock if schedule.overlap != "skip" else None),
        schedule=schedule.name,
        fire_at=fire_at,
        by_hand=fire_at is None,
    )


class DueSchedules:
    """All schedules of the leader: the due firings, and the instant of the next one."""

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
        self.follow({key: body for key, body in records.items() if key[0] == "schedule"}, now)

    def follow(self, records: Mapping[tuple[str, str], str | None], now: float) -> None:
        """Apply the changed records of a commit to the schedules in memory."""
        for (kind, name), body in records.items():
            if kind != "schedule":
                continue
            self._schedules.pop(name, None)
            self._next.pop(name, None)
            if body is not None:
                schedule = decode_schedule(body)
                if schedule is not None and not schedule.deleted:
                    self._schedules[name] = schedule
                    self._plan(schedule, min(now, self._last(schedule)))

    def _last(self, schedule: Schedule) -> float:
        return max(schedule.since or 0.0, self._fired.get(schedule.name, float("-inf")))

    def _plan(self, schedule: Schedule, after: float) -> None:
        next_at = None if schedule.paused else schedule.trigger.next_after(after)
        if next_at is None:
            self._next.pop(schedule.name, None)
        else:
            self._next[schedule.name] = next_at

    def due(self, now: float) -> list[Input]:
        """Return the submissions of all due firings, and plan the next instants."""
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
            inputs.append(SkipFiring("", schedule.name, stale[-1], missed, why))
        for at in fresh[-1:] if schedule.coalesce else fresh:
            previous = self._fired.get(schedule.name)
            if schedule.overlap == "cancel" and previous is not None:
                inputs.append(Cancel("", firing_id(schedule.name, previous)))
            inputs.append(Submit("", [firing_of(schedule, at)]))
            self._fired[schedule.name] = at
        self._fired[schedule.name] = due.times[-1] if due.times else now
        self._plan(schedule, self._fired[schedule.name])
        return inputs
