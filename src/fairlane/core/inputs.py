"""Everything that can happen to the scheduler, as plain data.

The same structs travel through the in-memory inbox and, as JSON, through the inbox table of other
processes. A `key` names who waits for the answer; it is empty where nobody does.
"""

from typing import Any, Literal

from msgspec import Struct

from fairlane.core.lifecycle import Priority
from fairlane.core.live_job import JobId, Terms, WorkerId

Text = str  # JSON, already encoded: the core never looks inside


class Submission(Struct, kw_only=True, gc=False):
    """One job as its submitter wants it. `params`, `meta` and `options` are for the worker.

    A firing `by_hand` has no `fire_at`: whoever decides it says when that is.
    """

    id: JobId
    task: str
    queue: str = "default"
    lane: str | None = None
    kind: str = "start"
    priority: Priority = Priority.NORMAL
    run_at: float | None = None
    dedupe: str | None = None
    digest: str | None = None
    bucket: str | None = None
    depends_on: tuple[JobId, ...] = ()
    terms: Terms = Terms()
    params: Text = "{}"
    meta: Text = "{}"
    options: Text = "{}"
    schedule: str | None = None
    fire_at: float | None = None
    by_hand: bool = False
    skip_reason: str | None = None


class Submit(Struct, tag="submit"):
    """Admit all of these in this order, or none. `sent_before` says that an id may be known.

    `binding` ones were committed by their submitter's own transaction, which could not wait for an
    answer: what is refused then is still a job, and ends as skipped.
    """

    key: str
    jobs: list[Submission]
    sent_before: bool = False
    binding: bool = False


class Cancel(Struct, tag="cancel"):
    """End a job; `outputs` says what becomes of finished files, `force` kills what does not
    stop."""

    key: str
    job: JobId
    outputs: Literal["keep", "delete"] = "keep"
    force: bool = False


class RetryJob(Struct, tag="retry"):
    key: str
    job: JobId
    place: Literal["head", "tail"] = "head"


class Skip(Struct, tag="skip"):
    key: str
    job: JobId


class Move(Struct, tag="move"):
    """Put a waiting job elsewhere in its band: to an end, or beside another job (in its band)."""

    key: str
    job: JobId
    to: Literal["head", "tail"] | None = None
    before: JobId | None = None
    after: JobId | None = None


class Prioritize(Struct, tag="priority"):
    key: str
    job: JobId
    priority: Priority


class Pause(Struct, tag="pause"):
    key: str
    queue: str
    after_current: bool = False


class Resume(Struct, tag="resume"):
    key: str
    queue: str


class ChangeSetting(Struct, tag="change_setting"):
    """Change what a queue, rate or resource is set to.

    `by` tells the code's own declaration from an operator's choice, which outlives it; an
    operator's None clears that choice.
    """

    key: str
    kind: Literal["queue", "rate", "resource"]
    name: str
    by: Literal["code", "operator"]
    values: dict[str, Any]


class SaveRecord(Struct, tag="save_record"):
    """Keep a document that the core does not decide by (a schedule, a task's schema).

    With `instead_of` it is kept only if that is what is there now: whoever changes a document has
    read it first, and somebody else may have been faster. With `if_absent` it gives way to what is
    there, such as a declaration that comes late to what somebody has changed since.
    """

    key: str
    kind: str
    name: str
    body: Text | None
    instead_of: Text | None = None
    if_absent: bool = False


class EditLane(Struct, tag="edit_lane"):
    """Save a lane's parameters, unless it has an active job; None forgets them."""

    key: str
    queue: str
    lane: str
    params: Text | None


class Explain(Struct, tag="explain"):
    key: str
    job: JobId


class QueryState(Struct, tag="query_state"):
    """Ask that a question about lanes and dedupe keys be answered from memory."""

    key: str
    queued: str | None = None
    lane: tuple[str, str] | None = None


class SkipFiring(Struct, tag="skip_firing"):
    """Record firings that created no job, and why."""

    key: str
    schedule: str
    fire_at: float
    count: int
    reason: str


class WorkerJoined(Struct, tag="worker_joined"):
    """A worker offers its slots. `queues` narrows it; a device names its queues and has one slot.

    Of a device, `note` says why it is down and `seen_at` when it last answered.
    """

    id: WorkerId
    name: str
    slots: int
    tasks: tuple[str, ...] | None = None
    queues: tuple[str, ...] | None = None
    labels: tuple[str, ...] = ()
    device: bool = False
    accepting: bool = True
    host: str = ""
    pid: int = 0
    note: str = ""
    seen_at: float | None = None


class WorkerGone(Struct, tag="worker_gone"):
    """A worker is dead, and with it the devices it carried: what they ran is interrupted.

    One that `resigned` said so itself and runs nothing: what it was given and had not begun goes
    back to its place.
    """

    id: WorkerId
    resigned: bool = False


class Report(Struct, tag="report"):
    """The newest progress, stages, statistics, artifacts and checkpoint of a running job."""

    job: JobId
    worker: WorkerId
    fence: int
    body: Text
    stage: str | None = None


class LogLines(Struct, tag="log_lines"):
    job: JobId
    worker: WorkerId
    fence: int
    lines: list[tuple[float, str, str]]


class EnterStage(Struct, tag="enter_stage"):
    """A running job asks for the limits and resources of a stage; the grant names the token."""

    job: JobId
    worker: WorkerId
    fence: int
    token: str
    limits: tuple[str, ...] = ()
    uses: tuple[tuple[str, int], ...] = ()


class LeaveStage(Struct, tag="leave_stage"):
    job: JobId
    worker: WorkerId
    fence: int
    token: str


class StoreValue(Struct, tag="store_value"):
    """Keep something of a job durably (`stage:…`, `output:…`); the acknowledgement names the
    token."""

    job: JobId
    worker: WorkerId
    fence: int
    token: str
    name: str
    body: Text | None


class Failure(Struct):
    code: str
    message: str
    retryable: bool
    names: tuple[str, ...] = ()
    traceback: str = ""
    after_seconds: float | None = None


class Outcome(Struct, tag="outcome", gc=False):
    """How an attempt ended.

    `refused` means it never began (with `blocked` as the reason where a precondition does not
    hold); `returned` that a stopping worker hands it back; `interrupted` that its device went down;
    `skipped` that an output policy says so.
    `deleted` says of a cancelled one that nothing is left of what it made.
    """

    job: JobId
    worker: WorkerId
    fence: int
    result: Literal[
        "completed", "failed", "cancelled", "refused", "returned", "interrupted", "skipped"
    ]
    value: Text | None = None
    failure: Failure | None = None
    blocked: tuple[str, str] | None = None
    report: Text | None = None
    deleted: bool = False


class Unblocked(Struct, tag="unblocked"):
    """The worker that refused a job over a precondition sees that it holds now.

    It says so until it is told not to watch it any longer.
    """

    job: JobId
    fence: int
    worker: WorkerId = WorkerId("")


class JobStuck(Struct, tag="job_stuck"):
    """A cancelled job did not stop within its grace time."""

    job: JobId
    worker: WorkerId
    fence: int
    message: str


class ClockSetBack(Struct, tag="clock_set_back"):
    """The wall clock was set back by so many seconds: waits that are durations move with it."""

    seconds: float


Command = (
    Submit | Cancel | RetryJob | Skip | Move | Prioritize | Pause | Resume | ChangeSetting
    | SaveRecord | EditLane | Explain | QueryState | SkipFiring
)  # fmt: skip
FromWorker = (
    WorkerJoined | WorkerGone | Report | LogLines | EnterStage | LeaveStage | StoreValue | Outcome
    | Unblocked | JobStuck | ClockSetBack
)  # fmt: skip
Input = Command | FromWorker
