"""A small world around the scheduler: a clock that only the test moves, a store made of dicts.

Every `apply` commits to the naive store, which has the unique indexes of a database (no two
running jobs in a lane, no two live jobs with one dedupe key). So each test checks those as well.
"""

import copy
from collections.abc import Iterable
from typing import Any

import msgspec

from fairlane.core.decisions import Changes, Decisions, Ended, Firing, Orders, Start
from fairlane.core.inputs import (
    Cancel,
    ChangeSetting,
    EnterStage,
    Explain,
    Failure,
    Input,
    LeaveStage,
    Outcome,
    RetryJob,
    StartConfirmed,
    Submission,
    Submit,
    WorkerGone,
    WorkerJoined,
)
from fairlane.core.lifecycle import Priority, State
from fairlane.core.live_job import JobId, LiveJob, Reason, Terms, WorkerId
from fairlane.core.retry import Retry
from fairlane.core.scheduler import Scheduler, unknown_job_ids
from fairlane.errors import FairlaneError

HIGH, NORMAL, LOW = Priority.HIGH, Priority.NORMAL, Priority.LOW


class NaiveStore:
    """The plainest store: it applies changes to dicts and lists."""

    def __init__(self) -> None:
        self.jobs: dict[JobId, LiveJob] = {}
        self.ended: dict[JobId, Ended] = {}
        self.dependencies: list[tuple[JobId, JobId]] = []
        self.records: dict[tuple[str, str], str] = {}
        self.rate_starts: list[tuple[str, float, JobId]] = []
        self.grants: list[tuple[JobId, str, str]] = []
        self.lanes: dict[tuple[str, str], str] = {}
        self.adopted: list[JobId] = []
        self.firings: list[Firing] = []
        self.seq = 0

    def commit(self, changes: Changes) -> None:
        for id in changes.left:
            del self.jobs[id]
        for id, job in changes.changed.items():
            assert id in self.jobs, f"{id} is changed but has no row"
            self.jobs[id] = copy.copy(job)
        for id in changes.revived:
            del self.ended[id]
        for id, job in changes.entered.items():
            assert id not in self.jobs, f"{id} enters twice"
            self.jobs[id] = copy.copy(job)
        for id, ended in changes.ended.items():
            assert id not in self.ended, f"{id} ends twice"
            assert id not in self.jobs, f"{id} has ended and is still live"
            self.ended[id] = copy.copy(ended)
            self.ended[id].job = copy.copy(ended.job)
        self.dependencies += changes.dependencies
        settled = set(changes.settled)
        self.dependencies = [
            pair
            for pair in self.dependencies
            if pair[0] not in settled and pair not in changes.met_dependencies
        ]
        self.rate_starts += changes.rate_starts
        for start in changes.returned_rate_starts:
            self.rate_starts.remove(start)
        self.grants += changes.grants
        released = set(changes.releases)
        self.grants = [grant for grant in self.grants if (grant[0], grant[1]) not in released]
        for key, body in changes.records.items():
            if body is None:
                self.records.pop(key, None)
            else:
                self.records[key] = body
        for lane, change in changes.lanes.items():
            if isinstance(change.status, str):
                self.lanes[lane] = change.status
            if isinstance(change.adopt, str):
                self.adopted.append(change.adopt)
        self.firings += changes.firings
        for event in changes.events:
            assert event.seq == self.seq + 1, "the feed has a gap"
            self.seq = event.seq
        self._check_indexes()

    def _check_indexes(self) -> None:
        live = list(self.jobs.values())
        unique([(j.queue, j.lane) for j in live if j.lane and j.state is State.RUNNING])
        unique([(j.queue, j.lane) for j in live if j.lane and j.exclusive])
        unique([j.dedupe for j in live if j.dedupe])
        assert all(not job.is_final for job in live)

    def load(self, scheduler: Scheduler, now: float) -> None:
        jobs = sorted(self.jobs.values(), key=lambda job: job.position)
        scheduler.load(
            jobs=[copy.copy(job) for job in jobs],
            dependencies=self.dependencies,
            records=self.records,
            rate_starts=self.rate_starts,
            grants=self.grants,
            seq=self.seq,
            now=now,
        )


def unique(keys: Iterable[Any]) -> None:
    found = list(keys)
    assert len(found) == len(set(found)), f"not unique: {found}"


def orders(decisions: Decisions) -> Orders:
    """Return the orders of all workers as one."""
    merged = Orders()
    for one in decisions.orders.values():
        for name in merged.__struct_fields__:
            getattr(merged, name).extend(getattr(one, name))
    return merged


class World:
    """A scheduler, its store and a fake now. Jobs are named by short texts: `world.submit("a")`."""

    def __init__(self, *, slots: int = 100, **settings: Any) -> None:
        self.now = 1000.0
        self.scheduler = Scheduler()
        self.store = NaiveStore()
        self.last = Decisions()
        self.starts: list[Start] = []
        self.workers: dict[str, WorkerJoined] = {}
        self.queue("q", **settings)
        if slots:
            self.join("w", slots=slots)

    # inputs

    def apply(self, *inputs: Input) -> Decisions:
        known = self.scheduler.board.jobs
        named = unknown_job_ids(inputs, known, resent=True)
        ended = {id: copy.copy(self.store.ended[id].job) for id in named if id in self.store.ended}
        self.last = self.scheduler.apply(list(inputs), self.now, ended)
        self.store.commit(self.last.changes)
        self.starts += self.last.starts
        return self.last

    def send(self, command: Any) -> Any:
        """Send one command and return its answer; raise an answer that is an error."""
        command.key = "?"
        self.apply(command)
        [(_, answer)] = self.last.answers
        if isinstance(answer, FairlaneError):
            raise answer
        return answer

    def wait(self, seconds: float) -> Decisions:
        self.now += seconds
        return self.apply()

    # settings and workers

    def queue(self, name: str, **settings: Any) -> Any:
        return self.send(ChangeSetting("", "queue", name, "code", settings))

    def operate(self, name: str = "q", **settings: Any) -> Any:
        """Set a queue as an operator does."""
        return self.send(ChangeSetting("", "queue", name, "operator", settings))

    def limit(self, name: str, starts: int, per_seconds: float = 60.0) -> Any:
        values = {"starts": starts, "per_seconds": per_seconds}
        return self.send(ChangeSetting("", "rate", name, "code", values))

    def resource(self, name: str, amount: int) -> Any:
        return self.send(ChangeSetting("", "resource", name, "code", {"amount": amount}))

    def join(self, id: str, *, slots: int = 1, **about: Any) -> Decisions:
        joined = WorkerJoined(WorkerId(id), id, slots, **about)
        self.workers[id] = joined
        return self.apply(copy.copy(joined))

    def gone(self, *ids: str) -> Decisions:
        for id in ids:
            self.workers.pop(id, None)
        return self.apply(*(WorkerGone(WorkerId(id)) for id in ids))

    # jobs

    def submit(self, id: str, **about: Any) -> Any:
        return self.send(Submit("", [job(id, **about)]))[0]

    def submit_all(self, *jobs: Submission) -> Any:
        return self.send(Submit("", list(jobs)))

    def cancel(self, id: str, **about: Any) -> Any:
        return self.send(Cancel("", JobId(id), **about))

    def retry(self, id: str, **about: Any) -> Any:
        return self.send(RetryJob("", JobId(id), **about))

    def explain(self, id: str) -> Any:
        return self.send(Explain("", JobId(id)))

    def reasons(self, id: str) -> list[str]:
        return [reason["code"] for reason in self.explain(id)["reasons"]]

    # reports of workers

    def outcome(self, id: str, result: Any, **about: Any) -> Outcome:
        running = self.scheduler.board.jobs[JobId(id)]
        assert running.worker is not None
        return Outcome(JobId(id), running.worker, running.fence, result, **about)

    def finish(self, *ids: str) -> Decisions:
        return self.apply(*(self.outcome(id, "completed", value="null") for id in ids))

    def fail(self, id: str, *, code: str = "timeout", retryable: bool = True) -> Decisions:
        failure = Failure(code, "it went wrong", retryable)
        return self.apply(self.outcome(id, "failed", failure=failure))

    def refuse(self, id: str, blocked: Reason | None = None) -> Decisions:
        return self.apply(self.outcome(id, "refused", blocked=blocked))

    def confirm(self, id: str) -> Decisions:
        running = self.scheduler.board.jobs[JobId(id)]
        assert running.worker is not None
        return self.apply(StartConfirmed(running.id, running.worker, running.fence, f"sure:{id}"))

    def enter(
        self,
        id: str,
        token: str,
        *,
        limits: tuple[str, ...] = (),
        leftovers: dict[str, int] | None = None,
        **uses: int,
    ) -> Decisions:
        running = self.scheduler.board.jobs[JobId(id)]
        assert running.worker is not None
        entry = EnterStage(
            running.id, running.worker, running.fence, token, limits, pairs(uses), "asr"
        )
        if leftovers is not None:
            entry.leftovers = pairs(leftovers)
        return self.apply(entry)

    def leave(self, id: str, token: str) -> Decisions:
        running = self.scheduler.board.jobs[JobId(id)]
        assert running.worker is not None
        return self.apply(LeaveStage(running.id, running.worker, running.fence, token))

    # views

    def job(self, id: str) -> LiveJob:
        found = self.scheduler.board.jobs.get(JobId(id))
        return found if found is not None else self.store.ended[JobId(id)].job

    def state(self, id: str) -> str:
        return self.job(id).state.value

    def error(self, id: str) -> dict[str, Any]:
        error = self.store.ended[JobId(id)].error
        assert error is not None
        return error

    @property
    def started(self) -> list[str]:
        """Every start so far, in order."""
        return [start.job for start in self.starts]

    @property
    def running(self) -> set[str]:
        jobs = self.scheduler.board.jobs.values()
        return {job.id for job in jobs if job.state is State.RUNNING}

    def drained(self) -> list[str]:
        """Complete running jobs until none is left; return the starts since now, in order."""
        before = len(self.starts)
        while self.running:
            self.finish(*sorted(self.running))
        return self.started[before:]

    def reloaded(self) -> "World":
        """Return a world whose scheduler was rebuilt from this one's store, workers present."""
        other = World.__new__(World)
        other.now = self.now
        other.store = copy.deepcopy(self.store)
        other.scheduler = Scheduler()
        other.last = Decisions()
        other.starts = []
        other.workers = dict(self.workers)
        other.store.load(other.scheduler, other.now)
        other.apply(*(copy.copy(joined) for joined in other.workers.values()))
        return other

    def image(self) -> Any:
        """Return all stored tables except the events, for comparing."""
        store = self.store
        return copy.deepcopy(
            (
                store.jobs,
                store.ended,
                store.dependencies,
                store.records,
                store.rate_starts,
                store.grants,
            )
        )


def job(
    id: str,
    *,
    task: str = "noop",
    queue: str = "q",
    lane: str | None = None,
    priority: Priority = NORMAL,
    limits: Iterable[str] = (),
    uses: dict[str, int] | None = None,
    requires: Iterable[str] = (),
    retry: Retry | None = None,
    deadline_seconds: float | None = None,
    recover: int = 1,
    hold_lane: bool = True,
    run_anyway: bool = False,
    outputs: Iterable[str] = (),
    after: Iterable[str] = (),
    **about: Any,
) -> Submission:
    terms = Terms(
        limits=tuple(limits),
        uses=pairs(uses or {}),
        requires=tuple(requires),
        retry=retry,
        deadline_seconds=deadline_seconds,
        recover=recover,
        hold_lane=hold_lane,
        run_anyway=run_anyway,
        outputs=tuple(outputs),
    )
    return Submission(
        id=JobId(id),
        task=task,
        queue=queue,
        lane=lane,
        priority=priority,
        depends_on=tuple(JobId(other) for other in after),
        terms=terms,
        **about,
    )


def pairs(uses: dict[str, int]) -> tuple[tuple[str, int], ...]:
    return tuple(uses.items())


def non_empty(changes: Changes) -> dict[str, Any]:
    """Return the fields of changes that are not empty."""
    return {
        name: value for name in msgspec.structs.asdict(changes) if (value := getattr(changes, name))
    }
