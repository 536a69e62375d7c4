"""The workers and devices that the scheduler knows, and the jobs that each may run."""

import msgspec
from msgspec import Struct

from fairlane.core.inputs import WorkerJoined
from fairlane.core.live_job import JobId, Reason, WorkerId, carrier_of


class _DeviceRecord(Struct):
    """The fields of a stored device that scheduling depends on."""

    paused: bool = False


class KnownWorker:
    """A worker that has joined; a device is a worker with a name, labels and a single slot."""

    def __init__(self, joined: WorkerJoined) -> None:
        self.running: dict[JobId, None] = {}
        self.watching: set[JobId] = set()  # blocked jobs whose precondition it observes
        self.withheld = False  # a device that an operator paused or removed
        self.update(joined)

    def update(self, joined: WorkerJoined) -> None:
        self.id: WorkerId = joined.id
        self.joined = joined
        self.tasks = None if joined.tasks is None else frozenset(joined.tasks)
        self.labels = frozenset(joined.labels)
        self.checks = frozenset(joined.checks)
        self.accepting = joined.accepting

    @property
    def is_free(self) -> bool:
        return self.is_available and len(self.running) < self.joined.slots

    @property
    def is_available(self) -> bool:
        return self.accepting and not self.withheld

    def may_refuse(self, task: str) -> bool:
        """Whether the worker may refuse a job of this task after a check of its own."""
        return self.joined.device or task in self.checks

    def apply_record(self, body: str | None) -> None:
        """Apply the stored record of a device; None if the record was deleted."""
        self.withheld = body is None or msgspec.json.decode(body, type=_DeviceRecord).paused

    def may_run(
        self,
        queue: str,
        task: str,
        requires: tuple[str, ...],
        refused_by: frozenset[WorkerId],
        *,
        device: bool,
    ) -> bool:
        joined = self.joined
        return (
            joined.device == device
            and not (refused_by and carrier_of(self.id) in refused_by)
            and (queue in joined.queues if joined.queues is not None else not device)
            and (self.tasks is None or task in self.tasks)
            and self.labels.issuperset(requires)
        )


class KnownWorkers:
    def __init__(self) -> None:
        self.all: dict[WorkerId, KnownWorker] = {}

    def find_device(self, device: str) -> KnownWorker | None:
        """Return the device of this name, in any process."""
        found = (w for w in self.all.values() if w.joined.device and w.joined.name == device)
        return next(found, None)

    def event_data(self, worker: KnownWorker) -> dict[str, str]:
        """Return the names of worker and device for the event of a start."""
        if not worker.joined.device:
            return {"worker": worker.joined.name}
        carrier = self.all.get(carrier_of(worker.id))
        name = carrier_of(worker.id) if carrier is None else carrier.joined.name
        return {"worker": name, "device": worker.joined.name}

    def join(self, joined: WorkerJoined) -> KnownWorker:
        worker = self.all.get(joined.id)
        if worker is None:
            worker = self.all[joined.id] = KnownWorker(joined)
        else:
            worker.update(joined)
        return worker

    def move_to_back(self, worker: KnownWorker) -> None:
        """Move a worker to the end of the order, so that assignments rotate."""
        if len(self.all) > 1:
            self.all[worker.id] = self.all.pop(worker.id)

    def find_free(
        self,
        queue: str,
        task: str,
        requires: tuple[str, ...],
        refused_by: frozenset[WorkerId],
        *,
        device: bool,
    ) -> KnownWorker | None:
        for worker in self.all.values():
            if worker.is_free and worker.may_run(queue, task, requires, refused_by, device=device):
                return worker
        return None

    def has_one_for(
        self,
        queue: str,
        task: str,
        requires: tuple[str, ...],
        refused_by: frozenset[WorkerId],
        *,
        device: bool,
    ) -> bool:
        """Whether a worker, free or not, may run such a job."""
        needs = (queue, task, requires, refused_by)
        return any(worker.may_run(*needs, device=device) for worker in self.all.values())

    def explain_shortage(
        self,
        queue: str,
        task: str,
        requires: tuple[str, ...],
        refused_by: frozenset[WorkerId],
        *,
        device: bool,
    ) -> Reason:
        """Return the reason why no worker is free for such a job."""
        place = "device" if device else "worker"
        needs = (queue, task, requires, refused_by)
        able = [w for w in self.all.values() if w.may_run(*needs, device=device)]
        if not able:
            labels = f" with {', '.join(requires)}" if requires else ""
            return Reason(
                place, f'no {place}{labels} that knows task "{task}" serves queue "{queue}" now'
            )
        if not any(w.is_available for w in able):
            how = "down, paused or stopping" if device else "down or stopping"
            return Reason(place, f"every {place} that could run it is {how}")
        busy = sum(len(w.running) for w in able)
        slots = sum(w.joined.slots for w in able if w.is_available)
        return Reason(place, f"every suitable {place} is busy: {busy} of {slots} slots in use")
