"""Changes of state: a job enters the board, changes its state, and ends.

Rules:

- `transition` is the only function that changes the state of a job. It checks the table in
  `lifecycle`, removes the job from the place of its old state, puts it into the place of its new
  state (`board` lists the places), marks the row for the store and adds the event.
- `end_job` is the only way to a final state. It frees the lane, the dedupe key and the resources of
  the job, then admits or skips the jobs that depend on it.
"""

from collections import deque
from collections.abc import Mapping
from typing import Any, Final

from fairlane.core.board import Board
from fairlane.core.capacity import end_stage, release_resource, wake_for_worker
from fairlane.core.decisions import EMPTY_REPORT, Ended, LaneChange, last_start
from fairlane.core.lanes import STATUS_AFTER, Lane
from fairlane.core.lifecycle import TRANSITIONS, Priority, State, check_transition
from fairlane.core.live_job import STARTING, LiveJob, Reason
from fairlane.core.output_lines import add_writer, remove_writer, update_outputs
from fairlane.core.queues import Queue
from fairlane.core.waiting import leave_bucket, leave_line, place_job, update_lane_heads

# The data of a `job_state_changed` event. Most events need no other fields and share these dicts.
CHANGE_DATA: Final[Mapping[tuple[State, State], dict[str, Any]]] = {
    (was, to): {"state": to, "from": was} for was, nexts in TRANSITIONS.items() for to in nexts
}


def add_job(board: Board, job: LiveJob) -> None:
    """Add a job to the board: a new one, a retried one, or one loaded from the store."""
    board.jobs[job.id] = job
    queue = board.queues[job.queue]
    if job.dedupe is not None:
        board.dedupe[job.dedupe] = job.id
    if job.lane is not None:
        key = (job.queue, job.lane)
        lane = board.lanes.get(key)
        if lane is None:
            lane = board.lanes[key] = Lane(*key)
        lane.live[job.id] = None
        if job.holds_lane:
            lane.holder = job
            update_lane_heads(board, lane)
    if job.state is State.RUNNING:
        queue.running[job.id] = None
        if job.is_starting:
            queue.starting[job.id] = None
    else:
        queue.waiting_in[job.priority] += 1
    if queue.is_round_robin:
        bucket = job.bucket or ""
        queue.bucket_jobs[bucket] = queue.bucket_jobs.get(bucket, 0) + 1
    worker = board.workers.all.get(job.worker) if job.worker else None
    if worker is not None and job.state is State.RUNNING:
        worker.running[job.id] = None
    elif worker is not None and job.state is State.BLOCKED:
        worker.watching.add(job.id)
    if job.terms.outputs:
        add_writer(board, job)
    place_job(board, job)


def transition(
    board: Board, job: LiveJob, to: State, *, position: str | None = None, **data: Any
) -> None:
    """Change the state of a job, and its position if one is given; `data` goes into the event."""
    was = job.state
    check_transition(job.id, was, to)
    job.state = to
    queue = board.queues[job.queue]
    is_final = job.is_final
    if was is State.RUNNING:
        queue.running.pop(job.id, None)
        if queue.starting:
            confirm_start(board, job)
        if not is_final:
            queue.waiting_in[job.priority] += 1
        _leave_worker(board, job)
    else:
        leave_line(board, job, was)
        if position is not None:
            job.position = position
        if is_final or to is State.RUNNING:
            _leave_priority(board, queue, job.priority)
    if to is State.RUNNING:
        queue.running[job.id] = None
        if job.reason is not None:
            queue.starting[job.id] = None
    else:
        job.cancel_outputs = None
        if was is State.BLOCKED and job.worker is not None:
            _stop_watching(board, job)
    board.mark_changed(job)
    change = CHANGE_DATA[was, to]
    board.add_event("job_state_changed", job, job.queue, {**change, **data} if data else change)
    if job.terms.outputs:
        update_outputs(board, job)
    if to is not State.RUNNING:
        if not is_final:
            _keep_or_free_lane(board, job)
            place_job(board, job)
        board.queues_to_check[job.queue] = None


def confirm_start(board: Board, job: LiveJob) -> None:
    """Let the queue of a job start the next one: the start of this one is certain, or is undone."""
    board.queues[job.queue].starting.pop(job.id, None)
    if job.reason == STARTING:
        job.reason = None
        board.mark_changed(job)


def _leave_priority(board: Board, queue: Queue, priority: Priority) -> None:
    queue.waiting_in[priority] -= 1
    if not queue.waiting_in[priority] and queue.fairness.forget(priority):
        board.changes.records["fairness", queue.name] = queue.fairness.encode()


def change_priority(board: Board, job: LiveJob, priority: Priority) -> None:
    queue = board.queues[job.queue]
    queue.waiting_in[priority] += 1
    _leave_priority(board, queue, job.priority)
    job.priority = priority


def _stop_watching(board: Board, job: LiveJob) -> None:
    worker = board.workers.all.get(job.worker) if job.worker else None
    if worker is not None:
        worker.watching.discard(job.id)
        board.decisions.orders_for(worker.id).stop_watching.append(job.id)
    job.worker = None


def _keep_or_free_lane(board: Board, job: LiveJob) -> None:
    lane = board.lane_of(job)
    if lane is not None and lane.holder is job and not job.holds_lane:
        lane.holder = None
        update_lane_heads(board, lane)


def _leave_worker(board: Board, job: LiveJob) -> None:
    worker = board.workers.all.get(job.worker) if job.worker else None
    if worker is not None:
        worker.running.pop(job.id, None)
        wake_for_worker(board, worker)
    for name, _ in job.terms.uses:
        release_resource(board, name, job.id, "")
    if job.id in board.grants:
        for token in list(board.grants[job.id]):
            end_stage(board, job.id, token)
    if board.waiting_stages:
        for token in [t for t, stage in board.waiting_stages.items() if stage.job == job.id]:
            del board.waiting_stages[token]


def end_job(
    board: Board,
    job: LiveJob,
    state: State,
    *,
    reason: Reason | None = None,
    error: dict[str, Any] | None = None,
    result: str | None = None,
    report: str | None = None,
) -> None:
    """Bring a job to a final state, release all that it held and settle its dependents."""
    _end_one(board, job, state, reason=reason, error=error, result=result, report=report)
    if board.dependents:
        _settle_dependents(board, job)


def _end_one(
    board: Board,
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
        board.decisions.discards.append(last_start(job))  # no worker deletes its outputs
    data: dict[str, Any] = {}
    if reason is not None:
        data["reason"] = reason.message
    if error is not None:
        data["error"] = {"code": error["code"], "message": error["message"]}
    if State.QUEUED in TRANSITIONS[state]:
        data["attempt"] = job.attempt  # a retry by hand changes it, and hooks describe this end
    transition(board, job, state, **data)
    job.reason = reason
    job.due_at = None
    job.holds_lane = False
    if job.terms.outputs:
        remove_writer(board, job)
    del board.jobs[job.id]
    board.ended[job.id] = job
    board.refused_by.pop(job.id, None)
    queue = board.queues[job.queue]
    if queue.is_round_robin:
        leave_bucket(board, queue, job.bucket or "")
    if job.dedupe is not None and board.dedupe.get(job.dedupe) == job.id:
        del board.dedupe[job.dedupe]
    if job.lane is not None:
        _leave_lane(board, job, forget=forget)
    changes = board.changes
    changes.changed.pop(job.id, None)
    if changes.entered.pop(job.id, None) is None:
        changes.left.append(job.id)
    changes.ended[job.id] = Ended(
        job, board.now, result, error, EMPTY_REPORT if forget else report, forget
    )
    # A cancelled job keeps its unfinished dependencies: it waits for them again if it is retried.
    if state is not State.CANCELLED and board.waits_on.pop(job.id, None) is not None:
        changes.settled.append(job.id)


def _leave_lane(board: Board, job: LiveJob, *, forget: bool) -> None:
    key = (job.queue, job.lane or "")
    lane = board.lanes[key]
    lane.live.pop(job.id, None)
    if lane.holder is job:
        lane.holder = None
    change = board.changes.lanes.get(key)
    if change is None:
        change = board.changes.lanes[key] = LaneChange()
    if job.attempt > 0:
        change.status = STATUS_AFTER.get(job.state, "idle")
        change.job = job.id
        if not forget:
            change.adopt = job.id
    else:
        change.status = "idle"
    if lane.live:
        update_lane_heads(board, lane)
    else:
        del board.lanes[key]


def _settle_dependents(board: Board, first: LiveJob) -> None:
    settling = deque([first])  # a loop, because a chain of dependents can be longer than the stack
    while settling:
        ended = settling.popleft()
        for id in board.dependents.pop(ended.id, ()):
            job = board.jobs.get(id)
            waits = board.waits_on.get(id)
            if waits is None:
                continue
            if job is None:  # cancelled
                if ended.state is State.COMPLETED:
                    waits.discard(ended.id)
                    board.changes.met_dependencies.append((id, ended.id))
                    if not waits:
                        del board.waits_on[id]
                else:  # the dependency may be retried, and complete then
                    board.dependents.setdefault(ended.id, []).append(id)
                continue
            waits.discard(ended.id)
            if ended.state is not State.COMPLETED and not job.terms.run_anyway:
                _end_one(board, job, State.SKIPPED, reason=Reason(
                    "dependency",
                    f"it depends on job {ended.id}, which ended as {ended.state}"))  # fmt: skip
                settling.append(job)
            elif not waits:
                admit_dependent(board, job)
            else:
                board.changes.met_dependencies.append((id, ended.id))


def admit_dependent(board: Board, job: LiveJob) -> None:
    """Queue a job whose dependencies have all ended, at the tail of its queue."""
    board.waits_on.pop(job.id, None)
    board.changes.settled.append(job.id)
    tail = board.queues[job.queue].new_tail()
    job.reason = None
    if job.due_at is not None and job.due_at > board.now:
        transition(board, job, State.SCHEDULED, position=tail, due_at=job.due_at)
    else:
        job.due_at = None
        transition(board, job, State.QUEUED, position=tail)
