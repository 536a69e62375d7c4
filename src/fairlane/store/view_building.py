"""From what a store holds to what a reader sees, the same for every store."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from itertools import chain, islice
from statistics import median
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct

from fairlane.core.inputs import Submission, Submit
from fairlane.core.lifecycle import Priority, State
from fairlane.core.live_job import JobId, Reason, WorkerId, carrier_of, device_of
from fairlane.errors import BadSetting
from fairlane.store.views import (
    ErrorView,
    JobView,
    LaneView,
    Query,
    ReportBody,
    instant,
)

T = TypeVar("T")
LaneKey = tuple[str, str]  # queue and lane

MASK: Final = "**********"
LATELY: Final = 2_000  # how many of the newest ended jobs tell how long a task takes


class StoredJob(Struct, array_like=True):
    """One job as it is stored, live or ended; the texts are JSON."""

    id: JobId
    task: str
    queue: str
    lane: str | None
    kind: str
    state: State
    priority: Priority
    position: str | None
    attempt: int
    crashes: int
    worker: str | None
    due_at: float | None
    reason: str | None
    cancel_outputs: str | None
    created_at: float
    started_at: float | None
    ended_at: float | None
    error: str | None
    result: str | None
    params: str
    meta: str
    report: str | None
    options: str


class StoredLane(Struct, array_like=True):
    queue: str
    lane: str
    status: str | None
    last_job: JobId | None
    checkpoint: str | None
    params: str | None


class ActiveJob(Struct, array_like=True):
    """The job that stands for its lane: the one that runs or holds it, else the next."""

    queue: str
    lane: str
    job: JobId
    state: State


class WorkerName(Struct):
    """What a reader needs of a worker's record."""

    name: str


class Hidden(Struct):
    """What a reader needs of a job's options: the names of its secret parameters."""

    secrets: list[str] = []


_object = msgspec.json.Decoder(dict[str, Any])
_hidden = msgspec.json.Decoder(Hidden)
_report = msgspec.json.Decoder(ReportBody)
_reason = msgspec.json.Decoder(Reason)
_error: msgspec.json.Decoder[ErrorView | None] = msgspec.json.Decoder(ErrorView | None)
_anything: msgspec.json.Decoder[Any] = msgspec.json.Decoder(Any)
_worker = msgspec.json.Decoder(WorkerName)
_submit = msgspec.json.Decoder(Submit)


def _read(decoder: msgspec.json.Decoder[T], text: str | None, otherwise: T) -> T:
    """Read a text that a task had a hand in: one that is odd must not hide all the others."""
    try:
        return decoder.decode(text) if text else otherwise
    except (msgspec.DecodeError, ValueError):
        return otherwise


def worker_names(records: Mapping[str, str]) -> dict[str, WorkerName]:
    """Read the records of kind `worker`, by the worker's id."""
    return {id: _worker.decode(body) for id, body in records.items()}


def without_secrets(params: dict[str, Any], options: str) -> dict[str, Any]:
    """Hide the parameters that the task marked as secret; only a worker sees them."""
    if options in ("", "{}"):
        return params
    hidden = _hidden.decode(options).secrets
    return {
        name: MASK if name in hidden and value is not None else value
        for name, value in params.items()
    }


def job_view(facts: StoredJob, workers: Mapping[str, WorkerName]) -> JobView:
    report = _read(_report, facts.report, ReportBody())
    ran_by = WorkerId(facts.worker) if facts.worker else None
    carrier = None if ran_by is None else carrier_of(ran_by)
    worker = None if carrier is None else workers.get(carrier)
    return JobView(
        id=facts.id,
        task=facts.task,
        queue=facts.queue,
        lane=facts.lane,
        kind=facts.kind,
        state=facts.state.value,
        priority=facts.priority.name.lower(),
        position=facts.position or None,
        params=without_secrets(_read(_object, facts.params, {}), facts.options),
        progress=report.progress,
        stages=report.stages,
        statistics=report.statistics,
        attempt=facts.attempt,
        crashes=facts.crashes,
        stopping=facts.cancel_outputs is not None,
        waiting_for=_waiting_for(facts),
        error=_read(_error, facts.error, None),
        result=_read(_anything, facts.result, None),
        meta=_read(_object, facts.meta, {}),
        artifacts=report.artifacts,
        worker=worker.name if worker else carrier,
        device=None if ran_by is None else device_of(ran_by),
        due_at=instant(facts.due_at),
        created_at=datetime.fromtimestamp(facts.created_at, UTC),
        started_at=instant(facts.started_at),
        ended_at=instant(facts.ended_at),
    )


def _waiting_for(facts: StoredJob) -> list[Reason]:
    match facts.state:
        case State.BLOCKED | State.INTERRUPTED | State.SKIPPED if facts.reason:
            return [_reason.decode(facts.reason)]
        case State.RUNNING if facts.reason:  # it was to stop and did not
            return [_reason.decode(facts.reason)]
        case State.SCHEDULED | State.RETRYING if facts.due_at is not None:
            due_at = instant(facts.due_at)
            until = due_at.isoformat().replace("+00:00", "Z") if due_at else "the end of time"
            return [Reason("due", f"until {until}")]
        case _:
            return []


def submissions_in(body: str) -> list[Submission]:
    """Return the jobs that an inbox row submits; none if it is another command."""
    try:
        return _submit.decode(body).jobs
    except msgspec.ValidationError:
        return []


def created_view(submission: Submission, at: float) -> JobView:
    """Show a job that no leader has admitted yet."""
    facts = StoredJob(
        id=submission.id,
        task=submission.task,
        queue=submission.queue,
        lane=submission.lane,
        kind=submission.kind,
        state=State.CREATED,
        priority=submission.priority,
        position=None,
        attempt=0,
        crashes=0,
        worker=None,
        due_at=submission.run_at,
        reason=None,
        cancel_outputs=None,
        created_at=at,
        started_at=None,
        ended_at=None,
        error=None,
        result=None,
        params=submission.params,
        meta=submission.meta,
        report=None,
        options=submission.options,
    )
    return job_view(facts, {})


def lane_views(lanes: Iterable[StoredLane], active: Iterable[ActiveJob]) -> list[LaneView]:
    """Join what is kept of lanes with the jobs that are live in them, in order of name."""
    stored = {(lane.queue, lane.lane): lane for lane in lanes}
    live = {(job.queue, job.lane): job for job in active}
    return [_lane_view(key, stored.get(key), live.get(key)) for key in sorted({**stored, **live})]


def lanes_of(jobs: Iterable[JobView], stored: Iterable[LaneKey], limit: int) -> list[LaneKey]:
    """Choose which lanes a picture shows: those of its jobs, then others that are stored."""
    busy = ((job.queue, job.lane) for job in jobs if job.lane is not None)
    return list(islice(dict.fromkeys(chain(busy, stored)), limit))


def _lane_view(key: tuple[str, str], lane: StoredLane | None, active: ActiveJob | None) -> LaneView:
    if active is not None:
        holds = active.state in (State.RUNNING, State.INTERRUPTED)
        state = "running" if holds else "queued"
    else:
        state = (lane.status if lane else None) or "idle"
    return LaneView(
        queue=key[0],
        lane=key[1],
        state=state,
        active_job=active.job if active else None,
        last_job=lane.last_job if lane else None,
        params=_object.decode(lane.params) if lane and lane.params else None,
        checkpoint=_object.decode(lane.checkpoint) if lane and lane.checkpoint else None,
    )


def cursor_of(query: Query) -> int | None:
    """Read where a page begins: below the number of the last row shown."""
    if query.cursor is None:
        return None
    try:
        return int(query.cursor)
    except ValueError:
        raise BadSetting(
            f'"{query.cursor}" is not a cursor; pass what `next` of the page before said'
        ) from None


def window_of(query: Query) -> Query:
    """Ask for what is looked through for a text, and no further."""
    return msgspec.structs.replace(query, text=None, limit=query.look_through - 1)


def escaped_text(text: str) -> str:
    """Return a text as it stands inside of a stored JSON text."""
    return msgspec.json.encode(text).decode()[1:-1]


def medians(seconds: Iterable[tuple[str, float]]) -> dict[str, float]:
    """Return the median of the seconds of each task."""
    by_task: dict[str, list[float]] = {}
    for task, value in seconds:
        by_task.setdefault(task, []).append(value)
    return {task: median(values) for task, values in by_task.items()}
