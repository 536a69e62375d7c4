"""The models of request and response bodies in the OpenAPI document.

Request models validate requests. Response models only describe: responses are encoded from the
view structs, and tests compare them with these models.
"""

import re
from datetime import datetime
from typing import Annotated, Any, Final, Literal

from pydantic import (
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    StringConstraints,
)

from fairlane.core.validation import LONGEST_SECONDS

# Text that every database can store and index: of limited length, and without the NUL character.
Name = Annotated[str, StringConstraints(min_length=1, max_length=250, pattern=r"^[^\x00]*$")]
# A name that is also a segment of a URL path, so without "/".
PathName = Annotated[str, StringConstraints(min_length=1, max_length=250, pattern=r"^[^\x00/]*$")]
Key = Annotated[str, StringConstraints(max_length=250, pattern=r"^[^\x00]*$")]
Id = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z0-9_.:-]{1,100}$"),
    Field(examples=["0198f1a2-5c3e-7d41-9b6f-0a1b2c3d4e5f"]),
]
# The largest integer that JavaScript represents exactly.
LARGEST: Final = 2**53 - 1


def _whole(given: object) -> object:
    """Convert 3.0 to 3, which are equal in JSON; other types are refused later."""
    if isinstance(given, float) and given.is_integer():
        return int(given)
    return given


Count = Annotated[int, Field(ge=0, le=LARGEST, strict=True), BeforeValidator(_whole)]
CountAboveZero = Annotated[int, Field(ge=1, le=LARGEST, strict=True), BeforeValidator(_whole)]
Seconds = Annotated[float, Field(ge=0.001, le=LONGEST_SECONDS, strict=True)]
Grace = Annotated[float, Field(ge=0, le=LONGEST_SECONDS, strict=True)]
Flag = Annotated[bool, Field(strict=True)]
Limit = Annotated[int, Field(ge=1, le=1000, description="The maximum number of items on one page")]


def _refuse_numbers(given: object) -> object:
    """Refuse a time that is not text: pydantic would accept a number as seconds since 1970."""
    if not isinstance(given, str) or not _INSTANT.match(given):
        raise ValueError("expected a time such as 2030-01-31T12:00:00Z (RFC 3339)")
    return given


_INSTANT: Final = re.compile(r"\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}")
Instant = Annotated[AwareDatetime, BeforeValidator(_refuse_numbers)]

State = Literal[
    "created", "scheduled", "queued", "blocked", "running", "retrying", "interrupted",
    "completed", "failed", "cancelled", "skipped",
]  # fmt: skip
Priority = Literal["high", "normal", "low"]
Outputs = Literal["keep", "delete"]


class Request(BaseModel):
    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)


class Problem(BaseModel):
    """An error (RFC 9457): `code` for programs, `detail` and `hint` for people."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "type": "urn:fairlane:lane_busy",
                    "title": "Conflict",
                    "status": 409,
                    "detail": 'lane "nasa" of queue "archive" already has an active job: '
                    "0198f1a2-5c3e-7d41-9b6f-0a1b2c3d4e5f is running; wait for it to end or "
                    "cancel it",
                    "code": "lane_busy",
                    "hint": "wait for the job in `active_job` to end, or cancel it; then send "
                    "the same again",
                    "active_job": "0198f1a2-5c3e-7d41-9b6f-0a1b2c3d4e5f",
                }
            ]
        }
    )

    type: str
    title: str
    status: int
    detail: str
    code: str
    hint: str
    active_job: str | None = Field(
        default=None, description="The active job that caused a conflict"
    )
    legal: list[str] | None = Field(
        default=None, description="The actions that the job's state allows"
    )
    problems: list[dict[str, Any]] | None = Field(
        default=None, description="Each invalid field, with its error"
    )


class Undecided(BaseModel):
    """No process leads at the moment: the request is stored, and the next leader decides it."""

    id: str | None = Field(
        description="The id of the submitted job, which is `created` until then; null for others"
    )
    code: Literal["undecided"]
    detail: str


# jobs


class Progress(BaseModel):
    percent: float | None
    message: str


class Stage(BaseModel):
    name: str
    status: Literal["pending", "running", "done", "skipped", "error"]
    percent: float
    message: str
    started_at: datetime | None
    finished_at: datetime | None


class Reason(BaseModel):
    code: str
    message: str
    facts: dict[str, str | int] = Field(
        default_factory=dict,
        description="The numbers and names of the message, for a message in another language",
    )


class Failure(BaseModel):
    code: str
    message: str
    retryable: bool
    traceback: str


class Artifact(BaseModel):
    path: str
    kind: str
    bytes: int


class Job(BaseModel):
    """A job, live or ended. Parameters that its task marks as secret appear as `**********`."""

    id: str
    task: str
    queue: str
    lane: str | None
    kind: Literal["start", "continue"]
    state: State
    priority: Priority
    position: str | None = Field(description="Sort key within its priority; null once ended")
    params: dict[str, Any]
    progress: Progress
    stages: list[Stage]
    statistics: dict[str, Any]
    attempt: int
    crashes: int
    stopping: bool = Field(description="The job runs, and was requested to stop")
    waiting_for: list[Reason]
    error: Failure | None
    result: Any
    meta: dict[str, Any]
    artifacts: list[Artifact]
    worker: str | None
    device: str | None
    due_at: datetime | None
    created_at: datetime
    started_at: datetime | None
    updated_at: datetime = Field(
        description="The last change of its state, place, progress or statistics"
    )
    ended_at: datetime | None


class JobPage(BaseModel):
    items: list[Job]
    next: str | None = Field(description="The cursor of the next page; null on the last")


class Call(Request):
    """A task with its parameters."""

    task: Name
    params: dict[str, Any] = {}


class Submission(Call):
    """A job to submit. Omitted options have the values of the task."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"task": "archive", "params": {"handle": "nasa"}, "priority": "high"},
            ]
        }
    )

    queue: Name | None = None
    lane: Key | None = None
    priority: Priority = "normal"
    kind: Literal["start", "continue"] = "start"
    run_at: Instant | None = Field(default=None, description="Start the job no earlier than this")
    dedupe: Key | None = Field(
        default=None, description="While a live job has this key, another one is refused"
    )
    depends_on: list[Id] = Field(default=[], max_length=1000)
    run_anyway: Flag = Field(
        default=False, description="Run even if a job in `depends_on` did not complete"
    )
    meta: dict[str, Any] = Field(default={}, description="Stored with the job, at most 64 KiB")


class Batch(Request):
    jobs: list[Submission] = Field(min_length=1, max_length=10_000)


class Submitted(BaseModel):
    id: str
    merged: bool = Field(description="true: `id` is that of an equal job that was active")


class BatchAnswer(BaseModel):
    jobs: list[Submitted]


class Cancel(Request):
    outputs: Outputs = Field(default="keep", description="Keep or delete files it has finished")
    force: Flag = Field(default=False, description="Kill a process that does not stop")


class Retry(Request):
    place: Literal["head", "tail"] = "head"


class MoveTo(Request):
    """Move to the head or tail of its priority; the job at the head starts next."""

    to: Literal["head", "tail"]


class MoveBefore(Request):
    before: Id


class MoveAfter(Request):
    after: Id


Move = MoveTo | MoveBefore | MoveAfter


class Prioritize(Request):
    priority: Priority


class LogLine(BaseModel):
    at: datetime
    level: str
    message: str


class Uploaded(BaseModel):
    """An uploaded file; pass `path` to a job."""

    path: str
    name: str = Field(description="The name of the stored file")
    size: int = Field(description="In bytes")


class Log(BaseModel):
    items: list[LogLine]


class DedupeKey(BaseModel):
    key: str
    queued: bool = Field(description="A job with this key waits, so a second one is refused")


class Explanation(BaseModel):
    """Why a job waits: its place in the queue, and the reasons."""

    job: str
    state: State
    place: int | None = Field(description="1 is next; null if the job is not in the queue's order")
    reasons: list[Reason]


# queues


class QueueSettings(BaseModel):
    max_concurrent: int | None
    order: Literal["fifo", "strict", "round_robin"]
    on_conflict: Literal["queue", "reject", "merge", "reject_running"]
    devices: bool
    anti_starvation: bool
    starvation_picks: int
    starvation_seconds: float


class Queue(BaseModel):
    name: str
    settings: QueueSettings
    paused: Literal["paused", "after_current"] | None
    changed_by_operator: list[str]
    counts: dict[str, int] = Field(description="Live jobs by state")


class Queues(BaseModel):
    items: list[Queue]


class QueueChanges(Request):
    """Settings to change. Omitted ones stay; null restores the value in the code."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"max_concurrent": 6}]})

    max_concurrent: Count | None = None
    order: Literal["fifo", "strict", "round_robin"] | None = None
    on_conflict: Literal["queue", "reject", "merge", "reject_running"] | None = None
    devices: Flag | None = None
    anti_starvation: Flag | None = None
    starvation_picks: CountAboveZero | None = None
    starvation_seconds: Seconds | None = None


# lanes


class LaneCall(BaseModel):
    task: str
    params: dict[str, Any]


class Lane(BaseModel):
    queue: str
    lane: str
    state: Literal["idle", "queued", "running", "done", "failed", "cancelled"]
    active_job: str | None
    last_job: str | None
    params: LaneCall | None = Field(description="The saved task and parameters")
    checkpoint: dict[str, Any] | None


class LanePage(BaseModel):
    items: list[Lane]
    next: str | None


# limits


class RateOrResource(BaseModel):
    key: str
    kind: Literal["rate", "resource"]
    starts: int | None
    per_seconds: float | None
    amount: int | None
    changed_by_operator: list[str]


class Limits(BaseModel):
    items: list[RateOrResource]


class RateChange(Request):
    """At most `starts` starts per `per_seconds`; null for both restores the value in the code."""

    starts: Count | None
    per_seconds: Seconds | None


class ResourceChange(Request):
    """The total amount of a resource; null restores the value in the code."""

    amount: Count | None


# workers, tasks, forecasts


class Worker(BaseModel):
    id: str
    name: str
    slots: int
    tasks: list[str] | None = Field(description="null: every task")
    queues: list[str] | None = Field(description="null: every queue")
    labels: list[str]
    device: bool
    accepting: bool
    host: str
    pid: int
    note: str = Field(description="For a device: why it is down")
    seen_at: datetime | None = Field(description="For a device: when it last answered")


class Workers(BaseModel):
    items: list[Worker]


# devices

Labels = Annotated[list[Name], Field(max_length=100)]


class NewDevice(Request):
    """A device that jobs of a queue run on; its driver connects by `settings`."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "name": "pixel-7", "queue": "phones", "labels": ["eu"],
                    "settings": {"address": "127.0.0.1:5555"},
                }
            ]
        }
    )  # fmt: skip

    name: PathName
    queue: Name
    labels: Labels = []
    settings: dict[str, Any] = {}


class DeviceChanges(Request):
    """Fields to change. Omitted ones, and null, stay."""

    labels: Labels | None = None
    settings: dict[str, Any] | None = None
    paused: Flag | None = None


class Device(BaseModel):
    name: str
    queue: str
    labels: list[str]
    settings: dict[str, Any]
    paused: bool
    state: Literal["idle", "busy", "down"]
    note: str = Field(description="Why the device is down")
    seen_at: datetime | None = Field(description="When the device last answered")
    worker: str | None = Field(description="The process that runs its driver")
    job: str | None = Field(description="The job that runs on it")


class Devices(BaseModel):
    items: list[Device]


class Task(BaseModel):
    name: str
    text: str = Field(description="The first paragraph of its documentation")
    queue: str
    parameters: dict[str, Any] = Field(description="A JSON Schema")


class Tasks(BaseModel):
    items: list[Task]


class ExpectedStart(BaseModel):
    job: str
    starts_at: datetime | None = Field(description="null: no run time of its task is known yet")


class Forecast(BaseModel):
    items: list[ExpectedStart]
    waiting: int = Field(description="The number of waiting jobs; `items` has the first of them")
    empty_at: datetime | None = Field(description="When the last job ends; null: unknown")


# schedules


class Rules(Request):
    cron: Annotated[str, StringConstraints(max_length=200)] | None = None
    every_seconds: Annotated[float, Field(ge=1, le=316_224_000, strict=True)] | None = None
    at: Instant | None = None
    timezone: Annotated[str, StringConstraints(max_length=100)] = "UTC"
    grace_seconds: Grace = 300.0
    coalesce: Flag = True
    overlap: Literal["skip", "queue", "cancel"] = "skip"


class NewSchedule(Rules):
    """A job to submit at set times, by exactly one of `cron`, `every_seconds` and `at`."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "name": "nightly", "task": "archive", "params": {"handle": "nasa"},
                    "cron": "0 3 * * *", "timezone": "Europe/Berlin",
                }
            ]
        }
    )  # fmt: skip

    name: PathName
    task: Name
    params: dict[str, Any] = {}
    queue: Name | None = None
    lane: Key | None = None
    priority: Priority = "normal"
    meta: dict[str, Any] = {}


class ScheduleChanges(Request):
    """Fields to change; omitted ones stay. A change of `task`, `params`, `queue`, `lane`,
    `priority` or `meta` sets the last four anew: as given here, or else as the task declares."""

    cron: Annotated[str, StringConstraints(max_length=200)] | None = None
    every_seconds: Annotated[float, Field(ge=1, le=316_224_000, strict=True)] | None = None
    at: Instant | None = None
    timezone: Annotated[str, StringConstraints(max_length=100)] | None = None
    grace_seconds: Grace | None = None
    coalesce: Flag | None = None
    overlap: Literal["skip", "queue", "cancel"] | None = None
    paused: Flag | None = None
    task: Name | None = None
    params: dict[str, Any] | None = None
    queue: Name | None = None
    lane: Key | None = None
    priority: Priority | None = None
    meta: dict[str, Any] | None = None


class Schedule(BaseModel):
    name: str
    task: str
    params: dict[str, Any]
    queue: str
    lane: str | None
    priority: Priority
    cron: str | None
    every_seconds: float | None
    at: datetime | None
    timezone: str
    grace_seconds: float
    coalesce: bool
    overlap: Literal["skip", "queue", "cancel"]
    paused: bool
    declared: bool = Field(description="The code declares this schedule")
    changed: bool = Field(description="An operator changed it since")
    next_at: datetime | None


class Schedules(BaseModel):
    items: list[Schedule]


class Firing(BaseModel):
    schedule: str
    fire_at: datetime
    job: str | None
    count: int = Field(description="The number of due times that this firing covers")
    reason: str | None = Field(description="Why this firing submitted no job")


class Firings(BaseModel):
    items: list[Firing]


# the state


class Snapshot(BaseModel):
    seq: int = Field(description="The number of the newest event in this snapshot")
    counts: dict[str, dict[str, int]] = Field(description="Live jobs by queue and state")
    queues: dict[str, Queue]
    running: list[Job]
    waiting: dict[str, list[Job]] = Field(description="By queue, the next one first")
    ended: list[Job] = Field(description="The job that ended last comes first")
    lanes: list[Lane] = Field(description="Lanes with an active job first")
    workers: list[Worker]
    schedules: list[Schedule]
    largest_upload: int | None = Field(
        description="The maximum size of an uploaded file in bytes; null: uploads are off"
    )


# sessions, health


class Login(Request):
    token: Annotated[SecretStr, Field(max_length=1000)]


class Session(BaseModel):
    role: Literal["read", "operate"] | None
    token_needed: bool


class Health(BaseModel):
    status: Literal["ok"]
    led: bool = Field(description="A process leads, so waiting jobs can start")
