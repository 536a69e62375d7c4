"""What workers report: how attempts end, and everything in between.

An input is believed only if it names the worker and the fence of the present assignment; anything
else is stale and changes nothing.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from fairlane.core.board import Board
from fairlane.core.capacity import end_stage, grant_stage, return_rate_starts, wake_for_worker
from fairlane.core.decisions import last_start
from fairlane.core.inputs import (
    EnterStage,
    Failure,
    JobStuck,
    LeaveStage,
    LogLines,
    Outcome,
    Report,
    StoreValue,
    Unblocked,
    WorkerGone,
    WorkerJoined,
)
from fairlane.core.lifecycle import State
from fairlane.core.live_job import JobId, LiveJob, Reason, WorkerId, carrier_of
from fairlane.core.transitions import end_job, transition
from fairlane.errors import Conflict


def present(board: Board, job: JobId, worker: WorkerId, fence: int) -> LiveJob | None:
    """Return the job if this is its present assignment."""
    found = board.jobs.get(job)
    if found is None or found.state is not State.RUNNING:
        return None
    return found if found.worker == worker and found.fence == fence else None


def outcome(board: Board, said: Outcome) -> None:
    job = present(board, said.job, said.worker, said.fence)
    board.decisions.orders_for(said.worker).durable.append(f"{said.job}:{said.fence}")
    if job is None:
        return
    if said.report is not None:
        board.changes.reports[job.id] = said.report
    match said.result:
        case "completed":
            end_job(board, job, State.COMPLETED, result=said.value, report=said.report)
        case "failed":
            assert said.failure is not None
            _failed(board, job, said.failure, said.report)
        case "cancelled" if said.deleted:
            end_job(board, job, State.CANCELLED, report=said.report)
        case "cancelled":
            _cancelled(board, job, report=said.report)
        case "skipped":
            code, message = said.blocked or ("skipped", "skipped")
            job.attempt -= 1
            end_job(board, job, State.SKIPPED, reason=Reason(code, message), report=said.report)
        case "returned":
            job.holds_lane = job.terms.hold_lane and job.lane is not None
            _again_or_cancelled(board, job)
        case "interrupted":
            _interrupted(board, job)
            if not job.is_final:
                job.worker = None
        case "refused":
            _refused(board, job, said)


def _failed(board: Board, job: LiveJob, failure: Failure, report: str | None) -> None:
    error = msgspec.to_builtins(failure)
    if job.cancel_outputs is not None:
        _cancelled(board, job, error=error, report=report)
        return
    retry = job.terms.retry
    job.failures += 1
    covered = retry is not None and retry.covers(
        (failure.code, *failure.names), retryable=failure.retryable
    )
    if retry is None or not covered or job.failures > retry.times:
        end_job(board, job, State.FAILED, error=error, report=report)
        return
    wait = max(retry.backoff_seconds(job.failures), failure.after_seconds or 0.0)
    job.due_at = board.now + wait
    job.reason = Reason(failure.code, failure.message)
    job.holds_lane = job.terms.hold_lane and job.lane is not None
    transition(
        board,
        job,
        State.RETRYING,
        due_at=job.due_at,
        error={"code": failure.code, "message": failure.message},
    )


def _refused(board: Board, job: LiveJob, said: Outcome) -> None:
    """Put a job that never began back at its position; it costs no attempt and no token."""
    job.attempt -= 1
    job.holds_lane = job.attempt > 0 and job.terms.hold_lane and job.lane is not None
    return_rate_starts(board, job, job.terms.limits)
    if job.attempt == 0:
        job.started_at = None
    queue = board.queues[job.queue]
    if queue.fairness.return_turn(job.id, job.priority):
        board.changes.records["fairness", queue.name] = queue.fairness.encode()
    worker = board.workers.all.get(said.worker)
    if said.blocked is None:
        if worker is not None:
            worker.accepting = False  # until it says otherwise: the next one gets the job
        _again_or_cancelled(board, job)
        return
    if job.cancel_outputs is not None:
        _cancelled(board, job)
        return
    job.reason = Reason(*said.blocked)
    if worker is not None:
        worker.watching.add(job.id)
    transition(board, job, State.BLOCKED, reason=job.reason.message)


def _again_or_cancelled(board: Board, job: LiveJob) -> None:
    if job.cancel_outputs is not None:
        _cancelled(board, job)
    else:
        transition(board, job, State.QUEUED)
        job.worker = None


def _cancelled(
    board: Board, job: LiveJob, *, error: dict[str, Any] | None = None, report: str | None = None
) -> None:
    """End a job whose worker had not heard, when it ended, that its outputs are to be deleted."""
    if job.cancel_outputs == "delete" and job.attempt:
        board.decisions.discards.append(last_start(job))
    end_job(board, job, State.CANCELLED, error=error, report=report)


def unblocked(board: Board, said: Unblocked) -> None:
    if said.worker in board.workers.all:
        board.decisions.orders_for(said.worker).stop_watching.append(said.job)
    job = board.jobs.get(said.job)
    if job is None or job.id in board.waits_on:
        return
    if job.state is State.BLOCKED and job.fence == said.fence:
        job.reason = None
        transition(board, job, State.QUEUED)


def worker_joined(board: Board, joined: WorkerJoined) -> None:
    """Let a worker in; a device belongs to whoever was first to carry it, while that lives."""
    if joined.device:
        carried = board.workers.find_device(joined.name)
        if carried is not None and carried.id != joined.id:
            return
    before = board.workers.all.get(joined.id)
    is_news = before is None or (before.accepting, before.joined.note) != (
        joined.accepting,
        joined.note,
    )
    worker = board.workers.join(joined)
    if joined.device:
        worker.apply_record(board.documents.get(("device", joined.name), "{}"))
    board.changes.records["worker", joined.id] = msgspec.json.encode(joined).decode()
    if is_news or not joined.device:
        board.add_event("worker_changed", None, None, {
            "worker": joined.id, "name": joined.name, "accepting": joined.accepting})  # fmt: skip
    wake_for_worker(board, worker)


def workers_gone(board: Board, gone: Sequence[WorkerGone]) -> None:
    """Interrupt what dead workers ran; what they had blocked is looked at again.

    Workers that are gone together are handled together: what they ran keeps its order at the front.
    """
    left = {worker.id: worker.resigned for worker in gone}

    def resigned(worker: WorkerId) -> bool | None:
        """Tell how a worker left, or its carrier; None if it is still there."""
        return left.get(worker, left.get(carrier_of(worker)))

    carried = [id for id in board.workers.all if id not in left and resigned(id) is not None]
    for id in (*left, *carried):
        board.workers.all.pop(id, None)
        board.changes.records["worker", id] = None
        board.add_event("worker_changed", None, None, {"worker": id, "gone": True})
    jobs = board.jobs.values()
    theirs = [job for job in jobs if job.worker is not None and resigned(job.worker) is not None]
    # The one that was first must end up first, so the last goes to the front first. Where bands
    # count, this keeps the order in each of them; in a strict queue they do not.
    for job in sorted(theirs, key=lambda job: job.position, reverse=True):
        if job.state is State.RUNNING and job.worker is not None and resigned(job.worker):
            _refused(board, job, Outcome(job.id, job.worker, job.fence, "refused"))
        elif job.state is State.RUNNING:
            _interrupted(board, job)
        elif job.state is State.BLOCKED:
            job.reason = None
            transition(board, job, State.QUEUED)
        else:
            continue  # it waits out a backoff, and only remembers where it ran
        job.worker = None


def _interrupted(board: Board, job: LiveJob) -> None:
    job.crashes += 1
    stopping = job.cancel_outputs
    job.holds_lane = job.terms.hold_lane and job.lane is not None
    transition(board, job, State.INTERRUPTED, crashes=job.crashes)
    if stopping is not None:
        job.cancel_outputs = stopping
        end_job(board, job, State.CANCELLED)
    elif job.crashes <= job.terms.recover:
        head = board.queues[job.queue].new_head()
        transition(board, job, State.QUEUED, position=head, recovered=True)
    else:
        end_job(board, job, State.FAILED, error={
            "code": "crash_loop", "retryable": False, "traceback": "",
            "message": f"its worker or device was lost while it ran, {job.crashes} times; retry it "
                       "by hand if that was not its own doing"})  # fmt: skip


def report(board: Board, said: Report) -> None:
    job = present(board, said.job, said.worker, said.fence)
    if job is None:
        return
    board.changes.reports[job.id] = said.body
    body: dict[str, Any] = msgspec.json.decode(said.body)
    data: dict[str, Any] = {"stage": said.stage}
    for name in ("progress", "statistics", "stages"):
        if name in body:
            data[name] = body[name]
    board.add_event("job_progress", job, job.queue, data)


def log(board: Board, said: LogLines) -> None:
    job = present(board, said.job, said.worker, said.fence)
    if job is None:
        return
    for at, level, message in said.lines:
        board.changes.logs.append((job.id, at, level, message))
        board.add_event("job_log", job, job.queue, {"at": at, "level": level, "message": message})


def enter_stage(board: Board, said: EnterStage) -> None:
    if present(board, said.job, said.worker, said.fence) is not None:
        grant_stage(board, said)
    else:
        _deny_stale(board, said)


def _deny_stale(board: Board, said: EnterStage | StoreValue) -> None:
    """Somebody waits for this: a context that outlived its attempt."""
    problem = Conflict(f"this attempt of job {said.job} is over: its context can do no more")
    board.decisions.orders_for(said.worker).denied.append((said.token, problem.as_problem()))


def leave_stage(board: Board, said: LeaveStage) -> None:
    if present(board, said.job, said.worker, said.fence) is not None:
        end_stage(board, said.job, said.token)


def keep(board: Board, said: StoreValue) -> None:
    if present(board, said.job, said.worker, said.fence) is not None:
        board.changes.stored_values.append((said.job, said.name, said.body))
        board.decisions.orders_for(said.worker).durable.append(said.token)
    else:
        _deny_stale(board, said)


def stuck(board: Board, said: JobStuck) -> None:
    job = present(board, said.job, said.worker, said.fence)
    if job is not None:
        job.reason = Reason("stuck", said.message)
        board.mark_changed(job)
        board.add_event("job_stuck", job, job.queue, {"message": said.message})
