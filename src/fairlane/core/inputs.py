"""The inputs of the scheduler as plain data: commands of clients and reports of workers.

The same structs travel through the inbox in memory and, as JSON, through the inbox table that other
processes write to. The `key` of a command names the caller that waits for the answer; it is empty
if no caller waits.
"""

from typing import Any, Literal

from msgspec import Struct

from fairlane.core.lifecycle import Priority
from fairlane.core.live_job import JobId, Reason, Terms, WorkerId

Text = str  # JSON, already encoded: the core never decodes it


class Submission(Struct, kw_only=True, gc=False):
    """One job to admit. `params`, `meta` and `options` are for the worker.

    A firing `by_hand` has no `fire_at`: the scheduler sets it when it decides the firing.
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
    skip_reason: Reason | None = None


class Submit(Struct, tag="submit"):
    """Admit all these jobs in this order, or none of them.

    With `sent_before` the ids may belong to jobs that exist already. A `binding` submission was
    committed in the submitter's transaction, which could not wait for an answer: a job that is
    refused is recorded all the same, and ends as skipped.
    """

    key: str
    jobs: list[Submission]
    sent_before: bool = False
    binding: bool = False


class Cancel(Struct, tag="cancel"):
    """Cancel a job; `outputs` keeps or deletes finished files, `force` kills the attempt."""

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
    """Move a waiting job to the head or tail of its priority, or next to another job.

    Next to another job it also gets the priority of that job.
    """

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
    """Change the settings of a queue, rate or resource.

    `by` tells a declaration in code from the choice of an operator. The operator's choice overrides
    the code and survives restarts; a value of None from the operator clears the choice.
    """

    key: str
    kind: Literal["queue", "rate", "resource"]
    name: str
    by: Literal["code", "operator"]
    values: dict[str, Any]


class SaveRecord(Struct, tag="save_record"):
    """Store a record that scheduling does not depend on (a schedule, the schema of a task).

    With `instead_of` the record is stored only if the present body equals it: a client that changes
    a record has read it first, and another client may have changed it meanwhile. With `if_absent`
    a present record stays: a late declaration does not undo the change of an operator.
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
    """Query whether the job with a dedupe key waits, or whether a lane has a running job."""

    key: str
    queued: str | None = None
    lane: tuple[str, str] | None = None


class SkipFiring(Struct, tag="skip_firing"):
    """Record firings of a schedule that created no job, with the reason."""

    key: str
    schedule: str
    fire_at: float
    count: int
    reason: str


class WorkerJoined(Struct, tag="worker_joined"):
    """A worker offers its slots, for all queues or only for `queues`.

    A device names its queues and has one slot; its `note` says why it is down and `seen_at` when it
    last answered. `checks` are the tasks whose preconditions, outputs or secrets the worker checks
    before a start: it may still refuse such a job.
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
    checks: tuple[str, ...] = ()


class WorkerGone(Struct, tag="worker_gone"):
    """A worker is dead, and with it the devices it carried: their jobs are interrupted.

    A worker that `resigned` has reported this itself and runs nothing: the jobs that were assigned
    to it and had not begun return to their positions.
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
    """A running job requests the limits and resources of a stage; the grant names the token."""

    job: JobId
    worker: WorkerId
    fence: int
    token: str
    limits: tuple[str, ...] = ()
    uses: tuple[tuple[str, int], ...] = ()
    stage: str = ""  # its name, for the reason of a wait
    # Held by functions of this attempt that still run after their time-out, until it ends.
    leftovers: tuple[tuple[str, int], ...] = ()


class LeaveStage(Struct, tag="leave_stage"):
    job: JobId
    worker: WorkerId
    fence: int
    token: str


class StoreValue(Struct, tag="store_value"):
    """Store a named value of a job (`stage:…`, `output:…`); the acknowledgement names the token.

    A body of None deletes the value.
    """

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
    """The result of an attempt.

    `refused`: the attempt never began; `blocked` is the reason if a precondition does not hold.
    `returned`: a stopping worker returns the job. `interrupted`: the device went down. `skipped`:
    the output policy skips the job. With `deleted` all outputs of a cancelled job are deleted.
    """

    job: JobId
    worker: WorkerId
    fence: int
    result: Literal[
        "completed", "failed", "cancelled", "refused", "returned", "interrupted", "skipped"
    ]
    value: Text | None = None
    failure: Failure | None = None
    blocked: Reason | None = None
    report: Text | None = None
    deleted: bool = False


class Unblocked(Struct, tag="unblocked"):
    """The precondition over which a worker refused a job holds now.

    The worker repeats this until the leader orders it to stop watching the precondition.
    """

    job: JobId
    fence: int
    worker: WorkerId = WorkerId("")


class StartConfirmed(Struct, tag="start_confirmed"):
    """The worker has checked an assignment with `confirm` and will not refuse it any more."""

    job: JobId
    worker: WorkerId
    fence: int
    token: str


class JobStuck(Struct, tag="job_stuck"):
    """A cancelled job did not stop within its grace time."""

    job: JobId
    worker: WorkerId
    fence: int
    message: str


class ClockSetBack(Struct, tag="clock_set_back"):
    """The wall clock was set back by `seconds`: waits that are durations move with it."""

    seconds: float


Command = (
    Submit | Cancel | RetryJob | Skip | Move | Prioritize | Pause | Resume | ChangeSetting
    | SaveRecord | EditLane | Explain | QueryState | SkipFiring
)  # fmt: skip
FromWorker = (
    WorkerJoined | WorkerGone | Report | LogLines | EnterStage | LeaveStage | StoreValue | Outcome
    | Unblocked | StartConfirmed | JobStuck | ClockSetBack
)  # fmt: skip
Input = Command | FromWorker
