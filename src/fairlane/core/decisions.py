"""What the scheduler decided: first what must be durable, then what may happen.

`Changes` is handed to the store whole and becomes one transaction; `Decisions` adds the effects
that the engine performs once that transaction is on disk.
"""

from typing import Any

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
    """The final facts of a job; its row leaves the hot table. `report` None keeps the last one.

    With `forget` nothing of what it made or kept is left, so a retry by hand begins from nothing.
    """

    job: LiveJob
    ended_at: float
    result: str | None = None
    error: dict[str, Any] | None = None
    report: str | None = None
    forget: bool = False


class LaneChange(Struct):
    """What becomes of a lane; a field that is UNSET stays as it was."""

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
    """Everything one commit writes. Jobs are read at commit time, each once, as they then are.

    Order matters to the unique indexes: rows that leave (`left`, then `changed` to any state but
    running) are written before rows that enter.
    """

    submitted: list[Submission] = field(default_factory=list)
    entered: dict[JobId, LiveJob] = field(default_factory=dict)
    changed: dict[JobId, LiveJob] = field(default_factory=dict)
    left: list[JobId] = field(default_factory=list)
    ended: dict[JobId, Ended] = field(default_factory=dict)
    revived: list[JobId] = field(default_factory=list)
    dependencies: list[tuple[JobId, JobId]] = field(default_factory=list)
    settled: list[JobId] = field(default_factory=list)  # they wait for nobody any more
    met_dependencies: list[tuple[JobId, JobId]] = field(
        default_factory=list
    )  # they wait for others still
    reports: dict[JobId, str] = field(default_factory=dict)
    stored_values: list[tuple[JobId, str, str | None]] = field(default_factory=list)  # None forgets
    logs: list[tuple[JobId, float, str, str]] = field(default_factory=list)
    rate_starts: list[tuple[str, float, JobId]] = field(default_factory=list)
    returned_rate_starts: list[tuple[str, float, JobId]] = field(default_factory=list)
    grants: list[tuple[JobId, str, str]] = field(default_factory=list)
    releases: list[tuple[JobId, str]] = field(default_factory=list)
    lanes: dict[tuple[str, str], LaneChange] = field(default_factory=dict)
    records: dict[tuple[str, str], str | None] = field(default_factory=dict)
    firings: list[Firing] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    answers: dict[str, str] = field(default_factory=dict)  # only those for other processes
    consumed: list[int] = field(default_factory=list)  # inbox rows
    dead_letters: list[tuple[str, str, float]] = field(default_factory=list)  # input, error, at
    messages: list[tuple[WorkerId, int, str]] = field(default_factory=list)  # where many work

    def __bool__(self) -> bool:
        return any(getattr(self, name) for name in self.__struct_fields__)


class Start(Struct, gc=False, array_like=True):
    """Run this job on this worker."""

    job: JobId
    task: str
    worker: WorkerId
    fence: int
    attempt: int
    first: bool
    kind: str
    queue: str
    lane: str | None


def last_start(job: LiveJob) -> Start:
    """Return the assignment that a job had last."""
    worker = job.worker or WorkerId("")
    return Start(
        job.id, job.task, worker, job.fence, job.attempt, False, job.kind, job.queue, job.lane
    )


class Stop(Struct, array_like=True):
    job: JobId
    worker: WorkerId
    fence: int
    outputs: str
    force: bool


class Orders(Struct, omit_defaults=True):
    """What one worker is told."""

    starts: list[Start] = field(default_factory=list)
    stops: list[Stop] = field(default_factory=list)
    granted: list[str] = field(default_factory=list)  # stage tokens
    denied: list[tuple[str, dict[str, Any]]] = field(default_factory=list)  # and the problem
    durable: list[str] = field(default_factory=list)  # tokens of what is now kept
    stop_watching: list[JobId] = field(default_factory=list)  # no longer watch these preconditions
    removals: list[dict[str, str]] = field(default_factory=list)  # outputs on its host, as kept


class Decisions(Struct):
    changes: Changes = field(default_factory=Changes)
    orders: dict[WorkerId, Orders] = field(default_factory=dict)
    discards: list[Start] = field(default_factory=list)  # nobody else deletes their outputs
    answers: list[tuple[str, Any]] = field(default_factory=list)  # key and value or FairlaneError
    wake_at: float | None = None

    def orders_for(self, worker: WorkerId) -> Orders:
        """Return what a worker is told, to be added to; its carrier hears what a device is told."""
        carrier = carrier_of(worker)
        orders = self.orders.get(carrier)
        if orders is None:
            orders = self.orders[carrier] = Orders()
        return orders

    @property
    def starts(self) -> list[Start]:
        return [start for orders in self.orders.values() for start in orders.starts]
