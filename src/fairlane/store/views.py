"""The views that readers get, and the view of a job made from its stored columns."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct, field

from fairlane.core.lifecycle import Priority, State
from fairlane.core.live_job import JobId, Reason, WorkerId, carrier_of, device_of
from fairlane.redaction import without_secrets
from fairlane.store.columns import StoredJob

T = TypeVar("T")


def instant(seconds: float | None) -> datetime | None:
    try:
        return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError):
        return None  # outside of the calendar


class Progress(Struct):
    percent: float | None = None
    message: str = ""


class StageView(Struct):
    name: str
    status: str = "pending"  # pending running done skipped error
    percent: float = 0.0
    message: str = ""
    started_at: datetime | None = None
    finished_at: datetime | None = None


class Artifact(Struct):
    path: str
    kind: str = "file"
    bytes: int = 0


class ReportBody(Struct, omit_defaults=True):
    """The report of a running job; the `report` column holds it as JSON."""

    progress: Progress = field(default_factory=Progress)
    stages: list[StageView] = field(default_factory=list)
    statistics: dict[str, Any] = field(default_factory=dict)
    artifacts: list[Artifact] = field(default_factory=list)
    checkpoint: dict[str, Any] = field(default_factory=dict)


class ErrorView(Struct):
    code: str
    message: str
    retryable: bool = False
    traceback: str = ""


class JobView(Struct, kw_only=True):
    id: JobId
    task: str
    queue: str
    lane: str | None
    kind: str
    state: str
    priority: str
    position: str | None
    params: dict[str, Any]
    progress: Progress
    stages: list[StageView]
    statistics: dict[str, Any]
    attempt: int
    crashes: int
    stopping: bool
    waiting_for: list[Reason]
    error: ErrorView | None
    result: Any
    meta: dict[str, Any]
    artifacts: list[Artifact]
    worker: str | None
    device: str | None
    due_at: datetime | None
    created_at: datetime
    started_at: datetime | None
    updated_at: datetime
    ended_at: datetime | None


class WorkerName(Struct):
    """The field of a worker's record that a view needs."""

    name: str


_object = msgspec.json.Decoder(dict[str, Any])
_report = msgspec.json.Decoder(ReportBody)
_reason = msgspec.json.Decoder(Reason)
_error: msgspec.json.Decoder[ErrorView | None] = msgspec.json.Decoder(ErrorView | None)
_anything: msgspec.json.Decoder[Any] = msgspec.json.Decoder(Any)
_worker = msgspec.json.Decoder(WorkerName)


def _read(decoder: msgspec.json.Decoder[T], text: str | None, otherwise: T) -> T:
    """Decode a text from a task; an invalid one must not prevent the view of other jobs."""
    try:
        return decoder.decode(text) if text else otherwise
    except (msgspec.DecodeError, ValueError):
        return otherwise


def worker_names(records: Mapping[str, str]) -> dict[str, WorkerName]:
    """Decode the records of kind `worker`, by the id of the worker."""
    return {id: _worker.decode(body) for id, body in records.items()}


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
        updated_at=datetime.fromtimestamp(_updated_at(facts), UTC),
        ended_at=instant(facts.ended_at),
    )


def _updated_at(facts: StoredJob) -> float:
    """Return the time of the last change of a job's row or of its report."""
    if facts.ended_at is not None:
        return facts.ended_at
    changes = (facts.created_at, facts.updated_at, facts.reported_at)
    return max(at for at in changes if at is not None)


def _waiting_for(facts: StoredJob) -> list[Reason]:
    match facts.state:
        case State.BLOCKED | State.INTERRUPTED | State.SKIPPED if facts.reason:
            return [_reason.decode(facts.reason)]
        case State.RUNNING if facts.reason:  # it was to stop and still runs
            return [_reason.decode(facts.reason)]
        case State.SCHEDULED | State.RETRYING if facts.due_at is not None:
            due_at = instant(facts.due_at)
            until = due_at.isoformat().replace("+00:00", "Z") if due_at else "the end of time"
            return [Reason("due", f"until {until}")]
        case _:
            return []


class LaneView(Struct, kw_only=True):
    """A lane from outside: idle, queued, running, done, failed or cancelled."""

    queue: str
    lane: str
    state: str
    active_job: JobId | None
    last_job: JobId | None
    params: dict[str, Any] | None
    checkpoint: dict[str, Any] | None


class EventView(Struct, kw_only=True):
    seq: int
    type: str
    at: datetime
    job: JobId | None
    queue: str | None
    data: dict[str, Any]
    prev: int = 0


_NUMERIC_FIELDS: Final = {
    "job_state_changed": "due_at",
    "job_log": "at",
    "job_moved": "priority",
    "schedule_fired": "fire_at",
}


def readable_event_data(event: EventView) -> dict[str, Any]:
    """Return the data of an event with its time or priority as in every view; stored as numbers."""
    name = _NUMERIC_FIELDS.get(event.type)
    number = event.data.get(name) if name is not None else None
    if name is None or number is None:
        return event.data
    value = Priority(number).name.lower() if name == "priority" else instant(number)
    return {**event.data, name: value}


class LogLine(Struct):
    at: datetime
    level: str
    message: str


class FiringView(Struct):
    schedule: str
    fire_at: datetime
    job: JobId | None
    count: int
    reason: str | None


class Page(Struct):
    items: list[JobView]
    next: str | None


class Place(Struct, frozen=True):
    """The place of a job in the order of its queue."""

    priority: int
    position: str

    @classmethod
    def of(cls, job: JobView) -> "Place":
        return cls(Priority[job.priority.upper()], job.position or "")

    @classmethod
    def read(cls, text: str) -> "Place | None":
        """Parse a place as `str` wrote it; None if the text is not a place."""
        found = re.fullmatch(r"(?P<priority>[0-9])\.(?P<position>[0-9a-f]{1,1000})", text)
        return found and cls(int(found["priority"]), found["position"])

    def __str__(self) -> str:
        return f"{self.priority}.{self.position}"


FRONT: Final = Place(-1, "")  # before all jobs


class Query(Struct, kw_only=True):
    """Which jobs to list, the newest first. Empty fields do not narrow.

    `since` and `until` are about the end of a job, or about its submission while it is live.
    `text` is searched in ids, tasks, lanes, parameters, meta and errors, without regard to case.
    A search takes time, so a page is made of at most `look_through` jobs, and may be short or
    empty although there is a next one.
    """

    states: tuple[str, ...] = ()
    task: str | None = None
    queue: str | None = None
    lane: str | None = None
    since: float | None = None
    until: float | None = None
    text: str | None = None
    look_through: int = 20_000
    limit: int = 50
    cursor: str | None = None


class StoreSnapshot(Struct, kw_only=True):
    """A consistent snapshot of the database at the event `seq`."""

    seq: int
    counts: dict[str, dict[str, int]]  # by queue, live jobs by state
    running: list[JobView]
    waiting: dict[str, list[JobView]]  # the first of each queue in order
    ended: list[JobView]
    lanes: list[LaneView]
    records: dict[tuple[str, str], str]  # queues, workers, schedules, … as the leader wrote them


class Payload(Struct):
    """The parameters and stored values that a worker needs to run an assignment."""

    params: str
    meta: str
    options: str
    report: str | None = None  # of the job, from earlier attempts
    checkpoint: str | None = None  # of the lane, for a `continue`
    stored_values: dict[str, str] = field(default_factory=dict)  # stage results, output records
