"""The log of the queues, in the process that leads, after each durable commit.

The logger `fairlane.queue` has a line at INFO for each job that a queue accepts, starts and ends,
and for each other change of its state; and for the length of a queue when it doubles or halves.
Every value of a line is also a field of its record, for `--log-json` and for handlers of a program.

Above `MOST_LINES` jobs in one commit, equal changes of a queue share a line with their `count`:
thousands of lines a second would cost more than the jobs. The lines are written on the loop of the
program, because a slow handler must not cost leadership.
"""

import logging
from collections.abc import Callable
from typing import Any, Final

from fairlane.core.board import Board
from fairlane.core.decisions import Changes, Decisions, Event, QueueLength
from fairlane.core.lifecycle import FINAL, State
from fairlane.core.live_job import LiveJob

log = logging.getLogger("fairlane.queue")

MOST_LINES: Final = 50  # of one commit, before equal changes share a line
_SHORTEST: Final = 10  # a shorter queue grows without a line

Fields = dict[str, Any]


def length_is_news(logged: int, length: int) -> bool:
    """Tell whether a length differs enough from the last one that was logged."""
    return length >= max(_SHORTEST, 2 * logged) or (logged > 0 and length <= logged // 2)


def measure_queues(changes: Changes, board: Board) -> dict[str, QueueLength]:
    """Return the lengths of the queues whose jobs a batch changed; none if they are not logged."""
    if not log.isEnabledFor(logging.INFO):
        return {}
    names = dict.fromkeys(event.queue for event in changes.events if event.job is not None)
    queues = [board.queues[name] for name in names if name in board.queues]
    return {
        queue.name: QueueLength(sum(queue.waiting_in.values()), len(queue.running))
        for queue in queues
    }


class QueueLog:
    """Log commits on the loop of the program."""

    def __init__(self) -> None:
        self._logged_lengths: dict[str, int] = {}

    def receive_commit(self, decisions: Decisions) -> None:
        if not decisions.lengths:
            return  # INFO was not enabled, or no job changed
        changes = decisions.changes
        events = [event for event in changes.events if event.type == "job_state_changed"]
        lines = [_fields_of(event, changes) for event in events]
        if len(lines) > MOST_LINES:
            lines = _grouped(lines)
        for fields in lines:
            length = decisions.lengths.get(fields["queue"])
            fields["waiting"] = length.waiting if length else 0
            log.info(_MESSAGES[fields["event"]](fields), extra=fields)
        for name, length in decisions.lengths.items():
            self._log_length(name, length.waiting, length.running)

    def _log_length(self, queue: str, waiting: int, running: int) -> None:
        if length_is_news(self._logged_lengths.get(queue, 0), waiting):
            self._logged_lengths[queue] = waiting
            log.info(
                'queue "%s" has %d jobs waiting and %d running', queue, waiting, running,
                extra={"event": "length", "queue": queue, "waiting": waiting, "running": running},
            )  # fmt: skip


def _fields_of(event: Event, changes: Changes) -> Fields:
    """Return the fields of a line about one job.

    The next batch may be decided already and have changed the job: only fields that never change
    are read from it, unless it has ended.
    """
    assert event.job is not None
    ended = changes.ended.get(event.job)
    job = ended.job if ended else changes.changed.get(event.job) or changes.entered.get(event.job)
    data = event.data
    fields: Fields = {"event": "changed", "queue": event.queue, "job": event.job}
    if job is not None:
        fields |= {"task": job.task, "lane": job.lane}
    state: State = data["state"]
    fields["state"] = state.value
    if state is State.RUNNING:
        names = {name: data.get(name) for name in ("attempt", "worker", "device")}
        fields |= {"event": "started", **names}
    elif state in FINAL:
        fields["event"] = "ended"
        if ended is not None:
            fields |= {"attempt": ended.job.attempt, "seconds": _run_seconds(ended.job, event.at)}
    elif data["from"] is State.CREATED:
        fields["event"] = "accepted"
    if "error" in data:
        fields["code"] = data["error"]["code"]
    return fields


def _run_seconds(job: LiveJob, ended_at: float) -> float | None:
    return None if job.started_at is None else round(max(0.0, ended_at - job.started_at), 3)


def _grouped(lines: list[Fields]) -> list[Fields]:
    """Return a line for each queue, event, state, worker and device, with the number of jobs."""
    groups: dict[tuple[Any, ...], Fields] = {}
    names = ("queue", "event", "state", "worker", "device", "code")
    for fields in lines:
        key = tuple(fields.get(name) for name in names)
        group = groups.get(key)
        if group is None:
            given = {name: fields[name] for name in names if name in fields}
            group = groups[key] = {**given, "count": 0}
        group["count"] += 1
    return list(groups.values())


def _accepted(fields: Fields) -> str:
    return f'queue "{fields["queue"]}" accepted {_jobs(fields)}'


def _started(fields: Fields) -> str:
    device, worker = fields["device"], fields["worker"]
    place = f"device {device}" if device else f"worker {worker}"
    return f'queue "{fields["queue"]}" started {_jobs(fields)} on {place}'


def _ended(fields: Fields) -> str:
    seconds = fields.get("seconds")
    after = "" if seconds is None else f" after {seconds:g} s"
    return f'queue "{fields["queue"]}" ended {_jobs(fields)}: {_state(fields)}{after}'


def _changed(fields: Fields) -> str:
    return f'queue "{fields["queue"]}" has {_jobs(fields)} now {_state(fields)}'


def _jobs(fields: Fields) -> str:
    return f"{fields['count']} jobs" if "count" in fields else f"job {fields['job']}"


def _state(fields: Fields) -> str:
    return f"{fields['state']} ({fields['code']})" if "code" in fields else str(fields["state"])


_MESSAGES: Final[dict[str, Callable[[Fields], str]]] = {
    "accepted": _accepted,
    "started": _started,
    "ended": _ended,
    "changed": _changed,
}
