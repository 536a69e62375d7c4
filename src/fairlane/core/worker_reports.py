"""The handlers of worker inputs: outcomes, reports, log lines, stages, joins and departures.

Rule: an input about an attempt counts only if it names the worker and the fence of the present
assignment. Any other input is stale and is ignored.
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
    StartConfirmed,
    StoreValue,
    Unblocked,
    WorkerGone,
    WorkerJoined,
)
from fairlane.core.lifecycle import State
from fairlane.core.live_job import JobId, LiveJob, Reason, WorkerId, carrier_of
from fairlane.core.state_changes import confirm_start, end_job, transition
from fairlane.core.waiting import forget_refusals
from fairlane.core.workers import KnownWorker
from fairlane.errors import Conflict, SecretsUnreadable


def find_assigned(board: Board, job: JobId, worker: WorkerId, fence: int) -> LiveJob | None:
    """Return the job if this worker and this fence are its present assignment."""
    found = board.jobs.get(job)
    if found is None or found.state is not State.RUNNING:
        return None
    return found if found.worker == worker and found.fence == fence else None


def handle_outcome(board: Board, outcome: Outcome) -> None:
    job = find_assigned(board, outcome.job, outcome.worker, outcome.fence)
    board.decisions.orders_for(outcome.worker).durable.append(f"{outcome.job}:{outcome.fence}")
    if job is None:
        return
    job.reason = None  # why the attempt did not stop, or what its stage waited for
    if outcome.report is not None:
        board.changes.reports[job.id] = outcome.report
    match outcome.result:
        case "completed":
            end_job(board, job, State.COMPLETED, result=outcome.value, report=outcome.report)
        case "failed":
            assert outcome.failure is not None
            _failed(board, job, outcome.failure, outcome.report)
        case "cancelled" if outcome.deleted:
            end_job(board, job, State.CANCELLED, report=outcome.report)
        case "cancelled":
            _cancelled(board, job, report=outcome.report)
        case "skipped":
            reason = outcome.blocked or Reason("skipped", "skipped")
            job.attempt -= 1
            end_job(board, job, State.SKIPPED, reason=reason, report=outcome.report)
        case "returned":
            job.holds_lane = job.keeps_its_hold
            _again_or_cancelled(board, job)
        case "interrupted":
            _interrupted(board, job)
            if not job.is_final:
                job.worker = None
        case "refused":
            _refused(board, job, outcome)


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
    if retry is None or not covered or job.failures > retry.times or failure.code == "deadline":
        end_job(board, job, State.FAILED, error=error, report=report)
        return
    due_at = board.now + retry.wait_seconds(
        job.failures, least=failure.after_seconds or 0.0, key=job.id if board.jitter else None
    )
    if job.deadline_at is not None and due_at >= job.deadline_at:
        error |= {"code": "deadline", "retryable": False, "message":
                  "not retried: its deadline is before its next attempt; the last one failed with "
                  f"{failure.code}: {failure.message}"}  # fmt: skip
        end_job(board, job, State.FAILED, error=error, report=report)
        return
    job.due_at = due_at
    job.reason = Reason(failure.code, failure.message)
    job.holds_lane = job.keeps_its_hold
    transition(
        board,
        job,
        State.RETRYING,
        due_at=job.due_at,
        error={"code": failure.code, "message": failure.message},
    )


def _refused(board: Board, job: LiveJob, outcome: Outcome) -> None:
    """Return a refused job to its position; a refusal costs no attempt and no rate start."""
    job.attempt -= 1
    job.holds_lane = job.attempt > 0 and job.keeps_its_hold
    return_rate_starts(board, job, job.terms.limits)
    if job.attempt == 0:
        job.started_at = job.deadline_at = None
    queue = board.queues[job.queue]
    if queue.fairness.return_turn(job.id, job.priority):
        board.changes.records["fairness", queue.name] = queue.fairness.encode()
    worker = board.workers.all.get(outcome.worker)
    if outcome.blocked is None:
        if worker is not None:
            worker.accepting = False  # until it reports again; another worker gets the job
        _again_or_cancelled(board, job)
        return
    if job.cancel_outputs is not None:
        _cancelled(board, job)
        return
    if outcome.blocked.code == SecretsUnreadable.code:
        refused_by = board.refusals_of(job) | {carrier_of(outcome.worker)}
        board.refused_by[job.id] = refused_by
        needs = (job.queue, job.task, job.terms.requires, refused_by)
        if board.workers.has_one_for(*needs, device=queue.settings.devices):
            _again_or_cancelled(board, job)  # another process may have the key
            return
    job.reason = outcome.blocked
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
    """Cancel a job whose attempt ended before its worker learned to delete the outputs."""
    if job.cancel_outputs == "delete" and job.attempt:
        board.decisions.discards.append(last_start(job))
    end_job(board, job, State.CANCELLED, error=error, report=report)


def handle_unblocked(board: Board, unblocked: Unblocked) -> None:
    if unblocked.worker in board.workers.all:
        board.decisions.orders_for(unblocked.worker).stop_watching.append(unblocked.job)
    job = board.jobs.get(unblocked.job)
    if job is None or job.id in board.waits_on:
        return
    if job.state is State.BLOCKED and job.fence == unblocked.fence:
        job.reason = None
        transition(board, job, State.QUEUED)


def handle_start_confirmed(board: Board, confirmed: StartConfirmed) -> None:
    board.decisions.orders_for(confirmed.worker).durable.append(confirmed.token)
    job = find_assigned(board, confirmed.job, confirmed.worker, confirmed.fence)
    if job is not None:
        confirm_start(board, job)


def add_worker(board: Board, joined: WorkerJoined) -> None:
    """Add a worker; a device belongs to the first live process that reported it."""
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
    if before is None:
        _retry_unreadable(board, worker)


def _retry_unreadable(board: Board, worker: KnownWorker) -> None:
    """Queue the blocked jobs with unreadable secrets: the new worker may have their key."""
    for id, refused_by in list(board.refused_by.items()):
        job = board.jobs[id]
        device = board.queues[job.queue].settings.devices
        needs = (job.queue, job.task, job.terms.requires, refused_by)
        if job.has_unreadable_secrets and worker.may_run(*needs, device=device):
            job.reason = None
            transition(board, job, State.QUEUED)


def remove_workers(board: Board, gone: Sequence[WorkerGone]) -> None:
    """Interrupt the jobs of dead workers, and queue the blocked jobs that they watched.

    Workers that are gone together are handled together, so that their jobs keep their order at the
    head. Every process may try the jobs again that waited for another process to decrypt their
    secrets: the process with the key may be gone, and then the jobs are blocked.
    """
    left = {worker.id: worker.resigned for worker in gone}

    def resigned(worker: WorkerId) -> bool | None:
        """Return whether a worker or its carrier resigned; None if it is not gone."""
        return left.get(worker, left.get(carrier_of(worker)))

    carried = [id for id in board.workers.all if id not in left and resigned(id) is not None]
    for id in (*left, *carried):
        board.workers.all.pop(id, None)
        board.changes.records["worker", id] = None
        board.add_event("worker_changed", None, None, {"worker": id, "gone": True})
    jobs = board.jobs.values()
    theirs = [job for job in jobs if job.worker is not None and resigned(job.worker) is not None]
    # The job that was first must end up first, so the last one is moved to the head first. This
    # keeps the order within each priority; in a strict queue priorities do not count.
    for job in sorted(theirs, key=lambda job: job.position, reverse=True):
        if job.state is State.RUNNING and job.worker is not None and resigned(job.worker):
            _refused(board, job, Outcome(job.id, job.worker, job.fence, "refused"))
        elif job.state is State.RUNNING:
            job.reason = None
            _interrupted(board, job)
        elif job.state is State.BLOCKED:
            job.reason = None
            transition(board, job, State.QUEUED)
        else:
            continue  # it waits out a backoff; `worker` is only where it ran
        job.worker = None
    for job in [board.jobs[id] for id in board.refused_by]:
        if job.state is State.BLOCKED:
            still_here = (id for id in board.refused_by[job.id] if resigned(id) is None)
            board.refused_by[job.id] = frozenset(still_here)
        else:
            forget_refusals(board, job)


def _interrupted(board: Board, job: LiveJob) -> None:
    job.crashes += 1
    stopping = job.cancel_outputs
    job.holds_lane = job.keeps_its_hold
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


def handle_report(board: Board, report: Report) -> None:
    job = find_assigned(board, report.job, report.worker, report.fence)
    if job is None:
        return
    board.changes.reports[job.id] = report.body
    body: dict[str, Any] = msgspec.json.decode(report.body)
    data: dict[str, Any] = {"stage": report.stage}
    for name in ("progress", "statistics", "stages"):
        if name in body:
            data[name] = body[name]
    if job.reason is not None:
        data["waiting_for"] = [msgspec.to_builtins(job.reason)]
    board.add_event("job_progress", job, job.queue, data)


def add_log_lines(board: Board, log: LogLines) -> None:
    job = find_assigned(board, log.job, log.worker, log.fence)
    if job is None:
        return
    for at, level, message in log.lines:
        board.changes.logs.append((job.id, at, level, message))
        board.add_event("job_log", job, job.queue, {"at": at, "level": level, "message": message})


def enter_stage(board: Board, stage: EnterStage) -> None:
    if find_assigned(board, stage.job, stage.worker, stage.fence) is not None:
        grant_stage(board, stage)
    else:
        _deny_stale(board, stage)


def _deny_stale(board: Board, request: EnterStage | StoreValue) -> None:
    """Answer the context of an attempt that is over: it waits for a grant or a stored value."""
    problem = Conflict(f"this attempt of job {request.job} is over: its context can do no more")
    board.decisions.orders_for(request.worker).denied.append((request.token, problem.as_problem()))


def leave_stage(board: Board, stage: LeaveStage) -> None:
    if find_assigned(board, stage.job, stage.worker, stage.fence) is not None:
        end_stage(board, stage.job, stage.token)


def store_value(board: Board, value: StoreValue) -> None:
    if find_assigned(board, value.job, value.worker, value.fence) is not None:
        board.changes.stored_values.append((value.job, value.name, value.body))
        board.decisions.orders_for(value.worker).durable.append(value.token)
    else:
        _deny_stale(board, value)


def mark_stuck(board: Board, stuck: JobStuck) -> None:
    job = find_assigned(board, stuck.job, stuck.worker, stuck.fence)
    if job is not None:
        job.reason = Reason("stuck", stuck.message)
        board.mark_changed(job)
        board.add_event("job_stuck", job, job.queue, {"message": stuck.message})
