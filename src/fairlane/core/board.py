"""The board: all the data that the scheduler decides on, and the batch that is being decided.

Rules:

- The board holds live jobs only. A job that ends leaves it in the same batch.
- A live job is in exactly one place, and its state says which:
  - `queued`: in the line of its lane, and if it is a head of that lane also in a demand; without a
    lane, in a demand at once (see `queues`). In a strict queue, in the one line of the queue.
  - `scheduled`, `retrying`: in the heap of sleepers, until `due_at`. A strict queue keeps a
    retrying job in its line as well.
  - `blocked`: in its line, but in no demand, until the worker that watches the precondition reports
    that it holds, or another job releases the output that it waits for (see `output_lines`). With
    unfinished dependencies, in no line at all.
    A job that waits between two attempts and has a deadline is in the heap of deadlines as well.
  - `running`: counted by its queue, by its worker and by the resources it holds; it holds its lane.
- Only `state_changes.transition` changes the state of a job on the board.

`Board` is plain data with lookups. The modules that work on it, in the order of their imports:
`waiting` (the lines and demands of waiting jobs), `capacity` (rates, resources and worker slots,
and the jobs that wait for them), `state_changes`, then `picking`, `admission`,
`commands` and `worker_reports`. Each is a set of functions whose first argument is the board, so
the imports of a module show which parts of scheduling it uses.
"""

from typing import Any, Final

from fairlane.core.decisions import Changes, Decisions, Event
from fairlane.core.inputs import EnterStage
from fairlane.core.lanes import Lane
from fairlane.core.limits import Rate, Resource, WorkerSlots
from fairlane.core.live_job import NO_WORKERS, JobId, LiveJob, WorkerId
from fairlane.core.queues import Queue, settings_from
from fairlane.core.workers import KnownWorkers
from fairlane.errors import UnknownName

DOCUMENTS: Final = ("schedule", "device")  # record kinds that a change compares first
MOST_IDLE_RATES: Final = 1_000  # rate windows in memory before idle ones are dropped


class OutputLine:
    """A declared output path: the job that holds it, and the jobs that wait for it."""

    def __init__(self) -> None:
        self.holder: JobId | None = None
        self.waiting: dict[JobId, None] = {}


class Board:
    def __init__(self, *, jitter: bool = True) -> None:
        self.begin_batch(now=0.0, ended={})
        self.jitter = jitter  # tests switch it off
        self.seq = 0
        self.jobs: dict[JobId, LiveJob] = {}
        self.queues: dict[str, Queue] = {}
        self.lanes: dict[tuple[str, str], Lane] = {}
        self.dedupe: dict[str, JobId] = {}
        self.rates: dict[str, Rate] = {}
        self._most_rates = MOST_IDLE_RATES
        self.resources: dict[str, Resource] = {}
        self.declared: dict[tuple[str, str], dict[str, dict[str, Any]]] = {}
        self.worker_slots: dict[
            tuple[str, str, tuple[str, ...], frozenset[WorkerId]], WorkerSlots
        ] = {}
        self.workers = KnownWorkers()
        self.refused_by: dict[JobId, frozenset[WorkerId]] = {}  # processes without its secrets_key
        self.waits_on: dict[JobId, set[JobId]] = {}
        self.dependents: dict[JobId, list[JobId]] = {}
        self.due_jobs: list[tuple[float, JobId]] = []
        self.deadlines: list[tuple[float, JobId]] = []  # of jobs that wait between two attempts
        self.rate_alarms: list[tuple[float, str]] = []  # when a rate has room again
        self.grants: dict[JobId, dict[str, EnterStage]] = {}
        self.waiting_stages: dict[str, EnterStage] = {}
        self.output_lines: dict[str, OutputLine] = {}
        self.writers: dict[str, list[LiveJob]] = {}  # live jobs by declared path, oldest first
        self.outputs_to_check: dict[str, None] = {}  # paths whose waiting jobs may be queued again
        self.released_outputs: set[tuple[JobId, str]] = set()  # jobs of lines that may start now
        self.fired_at: dict[str, float] = {}
        self.fired_by_hand_at: dict[str, float] = {}
        self.documents: dict[tuple[str, str], str | None] = {}  # their stored bodies
        self.queues_to_check: dict[str, None] = {}  # queues where a job may be able to start
        self.start_count = 0  # a counter, so that queues take turns

    def begin_batch(self, now: float, ended: dict[JobId, LiveJob]) -> None:
        """Start a new batch: decisions are collected in a fresh `out`.

        `ended` holds the final jobs that inputs may name; jobs that end in this batch are added.
        """
        self.now = now
        self.decisions = Decisions()
        self.changes: Changes = self.decisions.changes
        self.ended = ended

    def queue(self, name: str) -> Queue:
        if name not in self.queues:
            raise UnknownName("queue", name, self.queues)
        return self.queues[name]

    def rate(self, key: str) -> Rate:
        """Return the rate window of a key; `host:a` and `host:b` use the setting of `host`."""
        rate = self.rates.get(key)
        if rate is None:
            values = self.effective_setting("rate", key) or self.effective_setting(
                "rate", key.split(":", 1)[0]
            )
            if values is None:
                raise UnknownName("limit", key, [n for kind, n in self.declared if kind == "rate"])
            if len(self.rates) >= self._most_rates:
                self._forget_rates()
            rate = self.rates[key] = Rate(key, values["starts"], values["per_seconds"])
        return rate

    def _forget_rates(self) -> None:
        """Drop windows without recent starts and without waiters: `host:…` has endless keys."""
        for key, rate in list(self.rates.items()):
            used = rate.has_recent_starts(self.now) or rate.alarm_at is not None or not rate.is_idle
            if not used and ("rate", key) not in self.declared:
                del self.rates[key]
        self._most_rates = max(MOST_IDLE_RATES, 2 * len(self.rates))

    def resource(self, name: str) -> Resource:
        if name not in self.resources:
            raise UnknownName("resource", name, self.resources)
        return self.resources[name]

    def effective_setting(self, kind: str, name: str) -> dict[str, Any] | None:
        """Return the setting in force: the operator's values override the code's."""
        stored = self.declared.get((kind, name))
        return None if stored is None else {**stored["code"], **stored["operator"]}

    def jobs_in_queue(self, queue: Queue) -> list[LiveJob]:
        """Return the live jobs of a queue. It reads every job: there is no index by queue."""
        return [job for job in self.jobs.values() if job.queue == queue.name]

    def refusals_of(self, job: LiveJob) -> frozenset[WorkerId]:
        """Return the processes that could not decrypt the secrets of a job."""
        return self.refused_by.get(job.id, NO_WORKERS) if self.refused_by else NO_WORKERS

    def lane_of(self, job: LiveJob) -> Lane | None:
        return None if job.lane is None else self.lanes[job.queue, job.lane]

    def add_event(
        self, type: str, job: LiveJob | None, queue: str | None, data: dict[str, Any]
    ) -> None:
        self.seq += 1
        self.changes.events.append(
            Event(self.seq, self.now, type, job.id if job else None, queue, data)
        )

    def mark_changed(self, job: LiveJob) -> None:
        job.updated_at = self.now
        if job.id not in self.changes.entered:
            self.changes.changed[job.id] = job

    def apply_queue_settings(self, queue: Queue) -> None:
        queue.settings = settings_from(queue.name, {**queue.code, **queue.operator})
        self.queues_to_check[queue.name] = None
