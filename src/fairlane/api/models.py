"""The shapes of requests and answers, as the OpenAPI document shows them.

Requests are checked by these. Answers are written from our own structs and only described here; the
tests hold what is sent against the description.
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

# What every database can keep: not too long for an index, and without the character NUL.
Name = Annotated[str, StringConstraints(min_length=1, max_length=250, pattern=r"^[^\x00]*$")]
# What is to be a part of a path.
PathName = Annotated[str, StringConstraints(min_length=1, max_length=250, pattern=r"^[^\x00/]*$")]
Key = Annotated[str, StringConstraints(max_length=250, pattern=r"^[^\x00]*$")]
Id = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z0-9_.:-]{1,100}$"),
    Field(examples=["0198f1a2-5c3e-7d41-9b6f-0a1b2c3d4e5f"]),
]
# Above this, JavaScript and its like no longer tell whole numbers apart.
LARGEST: Final = 2**53 - 1


def _whole(given: object) -> object:
    """Take 3.0 as 3, as JSON does, but no other type for a number."""
    if isinstance(given, float) and given.is_integer():
        return int(given)
    return given


Count = Annotated[int, Field(ge=0, le=LARGEST, strict=True), BeforeValidator(_whole)]
CountAboveZero = Annotated[int, Field(ge=1, le=LARGEST, strict=True), BeforeValidator(_whole)]
Seconds = Annotated[float, Field(ge=0.001, le=LARGEST, strict=True)]
Flag = Annotated[bool, Field(strict=True)]
Limit = Annotated[int, Field(ge=1, le=1000, description="The most that one page holds")]


def _refuse_numbers(given: object) -> object:
    """Refuse a time that is no text: pydantic would take a number for seconds since 1970."""
    if not isinstance(given, str) or not _INSTANT.match(given):
        raise ValueError("a time is written as 2030-01-31T12:00:00Z (RFC 3339)")
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
    """What went wrong (RFC 9457): `code` for programs, `detail` and `hint` for people."""

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
        default=None, description="The job in the way, where there is one"
    )
    legal: list[str] | None = Field(
        default=None, description="What can be done with the job as it is"
    )
    problems: list[dict[str, Any]] | None = Field(
        default=None, description="Each field that does not fit"
    )


class Undecided(BaseModel):
    """Nobody leads at the moment: what was sent is kept, and decided when somebody does."""

    id: str | None = Field(description="The job, if this was a submission; it shows as `created`")
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
    """A job, live or ended. What its task marked as secret shows as `**********`."""

    id: str
    task: str
    queue: str
    lane: str | None
    kind: Literal["start", "continue"]
    state: State
    priority: Priority
    position: str | None = Field(description="Sorts the jobs of a band; null once it has ended")
    params: dict[str, Any]
    progress: Progress
    stages: list[Stage]
    statistics: dict[str, Any]
    attempt: int
    crashes: int
    stopping: bool = Field(description="It runs and was asked to stop")
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
    ended_at: datetime | None


class JobPage(BaseModel):
    items: list[Job]
    next: str | None = Field(description="The cursor of the next page; null on the last")


class Call(Request):
    """A task with its parameters."""

    task: Name
    params: dict[str, Any] = {}


class Submission(Call):
    """What is left out is as the task says."""

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
    run_at: Instant | None = Field(default=None, description="Not before this time")
    dedupe: Key | None = Field(default=None, description="No other live job may have the same")
    depends_on: list[Id] = Field(default=[], max_length=1000)
    run_anyway: Flag = Field(
        default=False, description="Run though a job it depends on did not complete"
    )
    meta: dict[str, Any] = Field(default={}, description="Kept with the job, 64 KiB at most")


class Batch(Request):
    jobs: list[Submission] = Field(min_length=1, max_length=10_000)


class Submitted(BaseModel):
    id: str
    merged: bool = Field(description="An equal job was active, and this is its id")


class BatchAnswer(BaseModel):
    jobs: list[Submitted]


class Cancel(Request):
    outputs: Outputs = Field(default="keep", description="What becomes of finished files")
    force: Flag = Field(default=False, description="Kill a process that does not stop")


class Retry(Request):
    place: Literal["head", "tail"] = "head"


class MoveTo(Request):
    """To an end of its band; `head` is "start now"."""

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
    """A file that was sent, as a job finds it."""

    path: str
    name: str = Field(description="What it is called now")
    size: int = Field(description="In bytes")


class Log(BaseModel):
    items: list[LogLine]


class DedupeKey(BaseModel):
    key: str
    queued: bool = Field(description="A job with this key waits, so another is refused")


class Explanation(BaseModel):
    """Why a job waits: its place, and everything in its way."""

    job: str
    state: State
    place: int | None = Field(description="1 is next; null if it stands in no order")
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
    """What is left out stays; null gives a setting back to the code."""

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
    params: LaneCall | None = Field(description="What was saved for it to run")
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
    """So many starts in every so many seconds; null for both gives it back to the code."""

    starts: Count | None
    per_seconds: Seconds | None


class ResourceChange(Request):
    """How much there is of it; null gives it back to the code."""

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
    note: str = Field(description="Of a device: why it is down")
    seen_at: datetime | None = Field(description="Of a device: when it last answered")


class Workers(BaseModel):
    items: list[Worker]


# devices

Labels = Annotated[list[Name], Field(max_length=100)]


class NewDevice(Request):
    """Something that jobs of a queue run on; `settings` tell its driver how to reach it."""

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
    """What is left out, or null, stays."""

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
    note: str = Field(description="Why it is down")
    seen_at: datetime | None = Field(description="When it last answered")
    worker: str | None = Field(description="The process that drives it")
    job: str | None = Field(description="What it runs now")


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
    starts_at: datetime | None = Field(description="null: nothing is known to tell it from")


class Forecast(BaseModel):
    items: list[ExpectedStart]
    waiting: int = Field(description="How many jobs wait, of which the first are listed")
    empty_at: datetime | None = Field(description="When the last of them ends; null: unknown")


# schedules


class Rules(Request):
    cron: Annotated[str, StringConstraints(max_length=200)] | None = None
    every_seconds: Annotated[float, Field(ge=1, le=316_224_000, strict=True)] | None = None
    at: Instant | None = None
    timezone: Annotated[str, StringConstraints(max_length=100)] = "UTC"
    grace_seconds: Annotated[float, Field(ge=0, le=LARGEST, strict=True)] = 300.0
    coalesce: Flag = True
    overlap: Literal["skip", "queue", "cancel"] = "skip"


class NewSchedule(Rules):
    """A job that comes by itself, by exactly one of `cron`, `every_seconds` and `at`."""

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
    """What is left out stays. Whoever changes `task` or `params` chooses queue and lane anew."""

    cron: Annotated[str, StringConstraints(max_length=200)] | None = None
    every_seconds: Annotated[float, Field(ge=1, le=316_224_000, strict=True)] | None = None
    at: Instant | None = None
    timezone: Annotated[str, StringConstraints(max_length=100)] | None = None
    grace_seconds: Annotated[float, Field(ge=0, le=LARGEST, strict=True)] | None = None
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
    declared: bool = Field(description="By the code")
    changed: bool = Field(description="By somebody, since")
    next_at: datetime | None


class Schedules(BaseModel):
    items: list[Schedule]


class Firing(BaseModel):
    schedule: str
    fire_at: datetime
    job: str | None
    count: int = Field(description="How many due times this stands for")
    reason: str | None = Field(description="Why it made no job")


class Firings(BaseModel):
    items: list[Firing]


# sessions, health


class Login(Request):
    token: Annotated[SecretStr, Field(max_length=1000)]


class Session(BaseModel):
    role: Literal["read", "operate"] | None
    token_needed: bool


class Health(BaseModel):
    status: Literal["ok"]
    led: bool = Field(description="Some process leads, so that what waits can start")
