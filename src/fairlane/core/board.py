"""The picture the leader decides by: every live job, filed where it will be found again.

Theory of operation. A live job is in exactly one situation, and its state says which:

- queued: in the line of its lane, or, without a lane, at once a head. A head is filed in the
  demand of its band (see `queues`); a strict queue has one line and no demands.
- scheduled, retrying: asleep until `due_at`.
- blocked: in its line, not filed, until the worker that watches the precondition says so; or, with
  unfinished dependencies, in no line at all.
- running: counted by its queue, its worker and the resources it holds; its lane is held.

The board is built up in layers, each a class in a file of its own: `facts` (what is known),
`filing` (where waiting jobs lie), `shortages` (what runs short and who waits for it), and here what
becomes of jobs.

Every change of state goes through `transition`, which asks the table, leaves the old situation,
enters the new one, marks the row for the store and writes the event.
"""

from collections import deque
from collections.abc import Mapping
from typing import Any, Final

from fairlane.core.capacity import Shortages
from fairlane.core.decisions import Ended, LaneChange, last_start
from fairlane.core.lanes import Lane
from fairlane.core.lifecycle import TRANSITIONS, Priority, State, check
from fairlane.core.live_job import LiveJob, Reason
from fairlane.core.queues import Queue

# What an event says of a change and nothing else; most events do, and share these.
CHANGES: Final[Mapping[tuple[State, State], dict[str, Any]]] = {
    (was, to): {"state": to, "from": was} for was, nexts in TRANSITIONS.items() for to in nexts
}
LANE_STATUS = {State.COMPLETED: "done", State.FAILED: "failed", State.CANCELLED: "cancelled"}


class Board(Shortages):
    def enter(self, job: LiveJob) -> None:
        """Take in a job that is new to the board, in whatever state it is."""
        self.jobs[job.id] = job
        queue = self.queues[job.queue]
        if job.dedupe is not None:
            self.dedupe[job.dedupe] = job.id
        if job.lane is not None:
            key = (job.queue, job.lane)
            lane = self.lanes.get(key)
            if lane is None:
                lane = self.lanes[key] = Lane(*key)
            lane.live[job.id] = None
            if job.holds_lane:
                lane.holder = job
                self.file_heads(lane)
        if job.state is State.RUNNING:
            queue.running[job.id] = None
        else:
            queue.waiting_in[job.priority] += 1
        if queue.is_round_robin:
            bucket = job.bucket or ""
            queue.bucket_jobs[bucket] = queue.bucket_jobs.get(bucket, 0) + 1
        worker = self.workers.all.get(job.worker) if job.worker else None
        if worker is not None and job.state is State.RUNNING:
            worker.running[job.id] = None
        elif worker is not None and job.state is State.BLOCKED:
            worker.watching.add(job.id)
        self.place(job)

    def transition(
        self, job: LiveJob, to: State, *, position: str | None = None, **data: Any
    ) -> None:
        """Change a job's state, and its position with it: the one place where that happens."""
        was = job.state
        check(job.id, was, to)
        job.state = to
        queue = self.queues[job.queue]
        is_final = job.is_final
        if was is State.RUNNING:
            queue.running.pop(job.id, None)
            if not is_final:
                queue.waiting_in[job.priority] += 1
            self._leave_worker(job)
        else:
            self.leave_line(job, was)
            if position is not None:
                job.position = position
            if is_final or to is State.RUNNING:
                self._leave_priority(queue, job.priority)
        if to is State.RUNNING:
            queue.running[job.id] = None
        else:
            job.cancel_outputs = None
            if was is State.BLOCKED and job.worker is not None:
                self.unwatch(job)
        self.touch(job)
        change = CHANGES[was, to]
        self.event("job_state_changed", job, job.queue, {**change, **data} if data else change)
        if to is not State.RUNNING:
            if not is_final:
                self._keep_or_free_lane(job)
                self.place(job)
            self.dirty[job.queue] = None

    def _leave_priority(self, queue: Queue, priority: Priority) -> None:
        queue.waiting_in[priority] -= 1
        if not queue.waiting_in[priority] and queue.fairness.forget(priority):
            self.changes.records["fairness", queue.name] = queue.fairness.record()

    def change_priority(self, job: LiveJob, priority: Priority) -> None:
        queue = self.queues[job.queue]
        queue.waiting_in[priority] += 1
        self._leave_priority(queue, job.priority)
        job.priority = priority

    def unwatch(self, job: LiveJob) -> None:
        worker = self.workers.all.get(job.worker) if job.worker else None
        if worker is not None:
            worker.watching.discard(job.id)
            self.out.orders_for(worker.id).stop_watching.append(job.id)
        job.worker = None

    def _keep_or_free_lane(self, job: LiveJob) -> None:
        lane = self.lane_of(job)
        if lane is not None and lane.holder is job and not job.holds_lane:
            lane.holder = None
            self.file_heads(lane)

    def _leave_worker(self, job: LiveJob) -> None:
        worker = self.workers.all.get(job.worker) if job.worker else None
        if worker is not None:
            worker.running.pop(job.id, None)
            self.worker_has_room(worker)
        for name, _ in job.terms.uses:
            self.release(name, job.id, "")
        if job.id in self.grants:
            for token in list(self.grants[job.id]):
                self.give_back(job.id, token)
        if self.waiting_stages:
            for token in [t for t, ask in self.waiting_stages.items() if ask.job == job.id]:
                del self.waiting_stages[token]

    def end(
        self,
        job: LiveJob,
        state: State,
        *,
        reason: Reason | None = None,
        error: dict[str, Any] | None = None,
        result: str | None = None,
        report: str | None = None,
    ) -> None:
        """Bring a job to a final state and let go of all it held, and so whoever depends on it."""
        self._end(job, state, reason=reason, error=error, result=result, report=report)
        if self.dependents:
            self._settle_dependents(job)

    def _end(
        self,
        job: LiveJob,
        state: State,
        *,
        reason: Reason | None,
        error: dict[str, Any] | None = None,
        result: str | None = None,
        report: str | None = None,
    ) -> None:
        forget = job.cancel_outputs == "delete" and state is State.CANCELLED
        if forget and job.attempt and job.state is not State.RUNNING:
            self.out.discards.append(last_start(job))  # no worker is there to do it
        data: dict[str, Any] = {}
        if reason is not None:
            data["reason"] = reason.message
        if error is not None:
            data["error"] = {"code": error["code"], "message": error["message"]}
        self.transition(job, state, **data)
        job.reason = reason
        job.due_at = None
        del self.jobs[job.id]
        self.ended[job.id] = job
        queue = self.queues[job.queue]
        if queue.is_round_robin:
            self._leave_bucket(queue, job.bucket or "")
        if job.dedupe is not None and self.dedupe.get(job.dedupe) == job.id:
            del self.dedupe[job.dedupe]
        if job.lane is not None:
            self._leave_lane(job, forget=forget)
        changes = self.changes
        changes.changed.pop(job.id, None)
        if changes.entered.pop(job.id, None) is None:
            changes.left.append(job.id)
        changes.ended[job.id] = Ended(
            job, self.now, result, error, "{}" if forget else report, forget
        )
        if self.waits_on.pop(job.id, None) is not None:
            changes.settled.append(job.id)

    def _leave_lane(self, job: LiveJob, *, forget: bool) -> None:
        key = (job.queue, job.lane or "")
        lane = self.lanes[key]
        lane.live.pop(job.id, None)
        if lane.holder is job:
            lane.holder = None
        job.holds_lane = False
        change = self.changes.lanes.get(key)
        if change is None:
            change = self.changes.lanes[key] = LaneChange()
        if job.attempt > 0:
            change.status = LANE_STATUS.get(job.state, "idle")
            change.job = job.id
            if not forget:
                change.adopt = job.id
        else:
            change.status = "idle"
        if lane.live:
            self.file_heads(lane)
        else:
            del self.lanes[key]

    def _settle_dependents(self, first: LiveJob) -> None:
        settling = deque([first])  # not by recursion: a chain can be longer than the stack is deep
        while settling:
            ended = settling.popleft()
            for id in self.dependents.pop(ended.id, ()):
                job = self.jobs.get(id)
                waits = self.waits_on.get(id)
                if job is None or waits is None:
                    continue
                waits.discard(ended.id)
                if ended.state is not State.COMPLETED and not job.terms.run_anyway:
                    self._end(job, State.SKIPPED, reason=Reason(
                        "dependency",
                        f"it depends on job {ended.id}, which ended as {ended.state}"))  # fmt: skip
                    settling.append(job)
                elif not waits:
                    self.admit_dependent(job)
                else:
                    self.changes.met_dependencies.append((id, ended.id))

    def admit_dependent(self, job: LiveJob) -> None:
        """Give a job whose dependencies have all ended its place at the tail."""
        self.waits_on.pop(job.id, None)
        self.changes.settled.append(job.id)
        tail = self.queues[job.queue].tail()
        job.reason = None
        if job.due_at is not None and job.due_at > self.now:
            self.transition(job, State.SCHEDULED, position=tail, due_at=job.due_at)
        else:
            job.due_at = None
            self.transition(job, State.QUEUED, position=tail)
