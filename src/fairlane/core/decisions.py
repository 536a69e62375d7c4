"""The output of the scheduler: first the changes to store, then the effects to perform.

The store writes `Changes` in one transaction. `Decisions` adds the effects (orders for workers,
answers for callers), which the engine performs only after that transaction is durable.
"""

from typing import Any, Final

from msgspec import UNSET, Struct, UnsetType, field

from fairlane.core.inputs import Submission
from fairlane.core.live_job import JobId, LiveJob, WorkerId, carrier_of


class Event(Struct, gc=False):
    seq: int
    at: float
    type: str
    job: JobId | None
    queue: str | None
    data: dict[str, Any]


class Ended(Struct, gc=False):
    """The end of a job: its row leaves the table of live jobs. A `report` of None keeps the last.

    With `forget` all outputs and stored values are deleted, so a retry by hand starts from scratch.
    """

    job: LiveJob
    ended_at: float
    result: str | None = None
    error: dict[str, Any] | None = None
    report: str | None = None
    forget: bool = False


class LaneChange(Struct):
    """A change of a stored lane; a field that is UNSET keeps its value."""

    status: str | UnsetType = UNSET
    job: JobId | UnsetType = UNSET
    adopt: JobId | UnsetType = UNSET  # the checkpoint in this job's last report becomes the lane's
    params: str | None | UnsetType = UNSET


class Firing(Struct):
    schedule: str
    fire_at: float
    job: JobId | None
    count: int
    reason: str | None


class Changes(Struct):
    """All rows that one commit writes. A job is read at commit time, once, in its last state.

    `entered`, `changed` and `left` are rows of the table of live jobs. Their order matters to the
    unique indexes: rows that leave (`left`, then `changed` to any state but running) are written
    before rows that enter.
    """

    submitted: list[Submission] = field(default_factory=list)
    entered: dict[JobId, LiveJob] = field(default_factory=dict)
    changed: dict[JobId, LiveJob] = field(default_factory=dict)
    left: list[JobId] = field(default_factory=list)
    ended: dict[JobId, Ended] = field(default_factory=dict)
    revived: list[JobId] = field(default_factory=list)
    dependencies: list[tuple[JobId, JobId]] = field(default_factory=list)
    settled: list[JobId] = field(default_factory=list)  # jobs without unfinished dependencies
    met_dependencies: list[tuple[JobId, JobId]] = field(
        default_factory=list
    )  # of jobs that still wait
    reports: dict[JobId, str] = field(default_factory=dict)
    stored_values: list[tuple[JobId, str, str | None]] = field(default_factory=list)  # None deletes
    logs: list[tuple[JobId, float, str, str]] = field(default_factory=list)
    rate_starts: list[tuple[str, float, JobId]] = field(default_factory=list)
    returned_rate_starts: list[tuple[str, float, JobId]] = field(default_factory=list)
    grants: list[tuple[JobId, str, str]] = field(default_factory=list)
    releases: list[tuple[JobId, str]] = field(default_factory=list)
    lanes: dict[tuple[str, str], LaneChange] = field(default_factory=dict)
    records: dict[tuple[str, str], str | None] = field(default_factory=dict)
    firings: list[Firing] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    answers: dict[str, str] = field(default_factory=dict)  # for callers in other processes
    consumed: list[int] = field(default_factory=list)  # inbox rows
    dead_letters: list[tuple[str, str, float]] = field(default_factory=list)  # input, error, at
    messages: list[tuple[WorkerId, int, str]] = field(default_factory=list)  # to other processes

    def __bool__(self) -> bool:
        return any(getattr(self, name) for name in self.__struct_fields__)


# The report of a job whose cancellation deleted its outputs: the next attempt begins without one.
EMPTY_REPORT: Final = "{}"


class Start(Struct, gc=False, array_like=True):
    """Run this job on this worker; `confirm` requests a `StartConfirmed` after its checks."""

    job: JobId
    task: str
    worker: WorkerId
    fence: int
    attempt: int
    first: bool
    kind: str
    queue: str
    lane: str | None
    confirm: bool = False
    seconds_left: float | None = None  # until the deadline of the job


def last_start(job: LiveJob) -> Start:
    """Return the last assignment of a job."""
    worker = job.worker or WorkerId("")
    return Start(
        job.id, job.task, worker, job.fence, job.attempt, False, job.kind, job.queue, job.lane,
        job.is_starting,
    )  # fmt: skip


class Stop(Struct, array_like=True):
    job: JobId
    worker: WorkerId
    fence: int
    outputs: str
    force: bool


class Orders(Struct, omit_defaults=True):
    """The orders for one worker."""

    starts: list[Start] = field(default_factory=list)
    stops: list[Stop] = field(default_factory=list)
    granted: list[str] = field(default_factory=list)  # stage tokens
    denied: list[tuple[str, dict[str, Any]]] = field(default_factory=list)  # and the problem
    durable: list[str] = field(default_factory=list)  # tokens of stored values and outcomes
    stop_watching: list[JobId] = field(default_factory=list)  # their preconditions
    removals: list[dict[str, str]] = field(default_factory=list)  # output records on its host


class QueueLength(Struct, frozen=True):
    waiting: int
    running: int


class Decisions(Struct):
    changes: Changes = field(default_factory=Changes)
    orders: dict[WorkerId, Orders] = field(default_factory=dict)
    discards: list[Start] = field(default_factory=list)  # no worker deletes the outputs of these
    answers: list[tuple[str, Any]] = field(default_factory=list)  # key and value or FairlaneError
    wake_at: float | None = None
    lengths: dict[str, QueueLength] = field(default_factory=dict)  # by queue, if they are logged

    def orders_for(self, worker: WorkerId) -> Orders:
        """Return the orders for a worker, to add to; the orders of a device go to its carrier."""
        carrier = carrier_of(worker)
        orders = self.orders.get(carrier)
        if orders is None:
            orders = self.orders[carrier] = Orders()
        return orders

    @property
    def starts(self) -> list[Start]:
        return [start for orders in self.orders.values() for start in orders.starts]
