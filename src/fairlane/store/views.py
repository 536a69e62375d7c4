"""What a reader sees of what is stored."""

import re
from datetime import UTC, datetime
from typing import Any, Final

from msgspec import Struct, field

from fairlane.core.lifecycle import Priority
from fairlane.core.live_job import JobId, Reason


def instant(seconds: float | None) -> datetime | None:
    try:
        return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError):
        return None  # beyond what a calendar has


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
    """What a running job says of itself; the `report` column holds it as JSON."""

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
    ended_at: datetime | None


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
    """Where a job stands in the order of its queue."""

    priority: int
    position: str

    @classmethod
    def of(cls, job: JobView) -> "Place":
        return cls(Priority[job.priority.upper()], job.position or "")

    @classmethod
    def read(cls, text: str) -> "Place | None":
        """Return the place that a text tells, as `str` wrote it; None if it tells none."""
        found = re.fullmatch(r"(?P<priority>[0-9])\.(?P<position>[0-9a-f]{1,1000})", text)
        return found and cls(int(found["priority"]), found["position"])

    def __str__(self) -> str:
        return f"{self.priority}.{self.position}"


FRONT: Final = Place(-1, "")  # before everybody


class Query(Struct, kw_only=True):
    """Which jobs to list, the newest first. Empty fields do not narrow.

    `since` and `until` are about the end of a job, or about its submission while it is live.
    `text` is looked for in ids, tasks, lanes, parameters, meta and errors, whatever its case. That
    takes time, so a page is made of so many jobs at most (`look_through`), and may be short or
    empty though there is a next one.
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


class Picture(Struct, kw_only=True):
    """A consistent view of the present, true at `seq`."""

    seq: int
    counts: dict[str, dict[str, int]]  # by queue, live jobs by state
    running: list[JobView]
    waiting: dict[str, list[JobView]]  # the first of each queue in order
    ended: list[JobView]
    lanes: list[LaneView]
    records: dict[tuple[str, str], str]  # queues, workers, schedules, … as the leader wrote them


class Payload(Struct):
    """What a worker needs to run an assignment."""

    params: str
    meta: str
    options: str
    report: str | None = None  # the job's own, from earlier attempts
    checkpoint: str | None = None  # the lane's, for a `continue`
    kept: dict[str, str] = field(default_factory=dict)  # stage results, outputs in the making
