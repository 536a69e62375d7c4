"""What the leader knows: jobs, queues, lanes, limits and workers, and the batch being decided."""

from typing import Any, Final

from fairlane.core.decisions import Changes, Decisions, Event
from fairlane.core.inputs import EnterStage
from fairlane.core.lanes import Lane
from fairlane.core.limits import Rate, Resource, WorkerSlots
from fairlane.core.live_job import JobId, LiveJob
from fairlane.core.queues import Queue, settings_from
from fairlane.core.workers import KnownWorkers
from fairlane.errors import UnknownName

DOCUMENTS: Final = ("schedule", "device")  # kinds that are read before they are changed
MOST_IDLE_RATES: Final = 1_000  # windows kept before the empty ones are looked for


class Facts:
    def __init__(self) -> None:
        self.begin(now=0.0, ended={})
        self.seq = 0
        self.jobs: dict[JobId, LiveJob] = {}
        self.queues: dict[str, Queue] = {}
        self.lanes: dict[tuple[str, str], Lane] = {}
        self.dedupe: dict[str, JobId] = {}
        self.rates: dict[str, Rate] = {}
        self._most_rates = MOST_IDLE_RATES
        self.resources: dict[str, Resource] = {}
        self.declared: dict[tuple[str, str], dict[str, dict[str, Any]]] = {}
        self.hands: dict[tuple[str, str, tuple[str, ...]], WorkerSlots] = {}
        self.workers = KnownWorkers()
        self.waits_on: dict[JobId, set[JobId]] = {}
        self.dependents: dict[JobId, list[JobId]] = {}
        self.sleepers: list[tuple[float, JobId]] = []
        self.alarms: list[tuple[float, str]] = []  # when a rate has room again
        self.grants: dict[JobId, dict[str, EnterStage]] = {}
        self.waiting_stages: dict[str, EnterStage] = {}
        self.fired: dict[str, float] = {}
        self.fired_by_hand: dict[str, float] = {}
        self.documents: dict[tuple[str, str], str | None] = {}  # as they are stored
        self.dirty: dict[str, None] = {}  # queues where something may start
        self.starts = 0  # counts them, so that queues can take turns

    def begin(self, now: float, ended: dict[JobId, LiveJob]) -> None:
        """Start a new batch: what is decided from now on is collected in a fresh `out`.

        `ended` holds the final jobs that inputs may name; those that end in this batch join them.
        """
        self.now = now
        self.out = Decisions()
        self.changes: Changes = self.out.changes
        self.ended = ended

    def queue(self, name: str) -> Queue:
        if name not in self.queues:
            raise UnknownName("queue", name, self.queues)
        return self.queues[name]

    def rate(self, key: str) -> Rate:
        """Return the window of a key; `host:a` and `host:b` follow what is set for `host`."""
        rate = self.rates.get(key)
        if rate is None:
            values = self.setting("rate", key) or self.setting("rate", key.split(":", 1)[0])
            if values is None:
                raise UnknownName("limit", key, [n for kind, n in self.declared if kind == "rate"])
            if len(self.rates) >= self._most_rates:
                self._forget_rates()
            rate = self.rates[key] = Rate(key, values["starts"], values["per_seconds"])
        return rate

    def _forget_rates(self) -> None:
        """Drop windows that are empty and nobody waits for: `host:…` can have endless keys."""
        for key, rate in list(self.rates.items()):
            used = rate.has_taken(self.now) or rate.alarm_at is not None or not rate.is_idle
            if not used and ("rate", key) not in self.declared:
                del self.rates[key]
        self._most_rates = max(MOST_IDLE_RATES, 2 * len(self.rates))

    def resource(self, name: str) -> Resource:
        if name not in self.resources:
            raise UnknownName("resource", name, self.resources)
        return self.resources[name]

    def setting(self, kind: str, name: str) -> dict[str, Any] | None:
        """Return what is in force: the operator's choice over the code's."""
        stored = self.declared.get((kind, name))
        return None if stored is None else {**stored["code"], **stored["operator"]}

    def jobs_of(self, queue: Queue) -> list[LiveJob]:
        """Return the live jobs of a queue; nobody keeps them by queue, so this looks at all."""
        return [job for job in self.jobs.values() if job.queue == queue.name]

    def lane_of(self, job: LiveJob) -> Lane | None:
        return None if job.lane is None else self.lanes[job.queue, job.lane]

    def event(
        self, type: str, job: LiveJob | None, queue: str | None, data: dict[str, Any]
    ) -> None:
        self.seq += 1
        self.changes.events.append(
            Event(self.seq, self.now, type, job.id if job else None, queue, data)
        )

    def touch(self, job: LiveJob) -> None:
        if job.id not in self.changes.entered:
            self.changes.changed[job.id] = job

    def apply_queue(self, queue: Queue) -> None:
        queue.settings = settings_from(queue.name, {**queue.code, **queue.operator})
        self.dirty[queue.name] = None
