"""Explain why a job waits: all reasons, read from the board that decisions are made on."""

from typing import Any

import msgspec

from fairlane.core.board import Board
from fairlane.core.capacity import worker_slots_for
from fairlane.core.commands import find_live_job
from fairlane.core.inputs import Explain
from fairlane.core.lifecycle import State
from fairlane.core.live_job import JobId, LiveJob, Reason
from fairlane.core.picking import strict_next
from fairlane.core.stage_waits import explain_stages


def explain(board: Board, command: Explain, ended: dict[JobId, LiveJob]) -> dict[str, Any]:
    """Return a job's place and every limit, lane, pause, worker or precondition in its way."""
    if command.job not in board.jobs and command.job in ended:
        job = ended[command.job]
        reasons = [Reason(job.state.value, f"it has ended: {job.state}")]
        return _answer(job, None, reasons)
    job = find_live_job(board, command.job, ended, State.QUEUED)
    if job.state is State.RUNNING:
        stopping = "; it was asked to stop" if job.cancel_outputs else ""
        runs = Reason("running", f"it runs, attempt {job.attempt}{stopping}")
        waits = explain_stages(board, job)
        others = [job.reason] if job.reason and not waits else []
        return _answer(job, None, [runs, *waits, *others])
    ahead = _count_ahead(board, job) if job.position else None
    reasons = [
        *_own_reasons(board, job),
        *_queue_reasons(board, job),
        *_lane_reasons(board, job),
        *_missing_capacities(board, job),
    ]
    if ahead:
        jobs = "waiting job stands" if ahead == 1 else "waiting jobs stand"
        reasons.append(Reason("turn", f"{ahead} {jobs} before it"))
    if not reasons:
        reasons.append(Reason("next", "nothing is in its way: it starts with the next decision"))
    return _answer(job, None if ahead is None else ahead + 1, reasons)


def _answer(job: LiveJob, place: int | None, reasons: list[Reason]) -> dict[str, Any]:
    return {
        "job": job.id,
        "state": job.state.value,
        "place": place,
        "reasons": [msgspec.to_builtins(reason) for reason in reasons],
    }


def _count_ahead(board: Board, job: LiveJob) -> int:
    queue = board.queues[job.queue]
    mine = (queue.rank(job.priority), job.position)
    count = 0
    for other in board.jobs_in_queue(queue):
        if other.position and other.state not in (State.RUNNING, State.SCHEDULED):
            count += (queue.rank(other.priority), other.position) < mine
    return count


def _own_reasons(board: Board, job: LiveJob) -> list[Reason]:
    if job.state in (State.SCHEDULED, State.RETRYING):
        wait = max(0.0, (job.due_at or board.now) - board.now)
        what = "it is not due yet" if job.state is State.SCHEDULED else "it waits out a backoff"
        cause = f" after: {job.reason.message}" if job.reason else ""
        return [Reason("due", f"{what}: {wait:.0f} s to go{cause}")]
    if job.id in board.waits_on:
        names = sorted(board.waits_on[job.id])
        more = f" and {len(names) - 5} more" if len(names) > 5 else ""
        return [Reason("dependencies", f"it waits for jobs {', '.join(names[:5])}{more}")]
    return [job.reason] if job.reason is not None else []


def _queue_reasons(board: Board, job: LiveJob) -> list[Reason]:
    queue = board.queues[job.queue]
    reasons = []
    if queue.paused is not None:
        how = "paused" if queue.paused == "paused" else "stopping after what runs now"
        reasons.append(Reason("paused", f'queue "{queue.name}" is {how}'))
    if queue.is_full:
        most = queue.settings.max_concurrent
        reasons.append(
            Reason("max_concurrent", f'queue "{queue.name}" runs {len(queue.running)} of {most}')
        )
    if queue.is_strict:
        reasons += [
            Reason("strict", f"the queue is strict and job {id} is starting")
            for id in queue.starting
        ]
        head = queue.strict_line.first()
        if head is not None and job not in (head, strict_next(board, queue)):
            reasons.append(
                Reason(
                    "strict", f"the queue is strict and its head, job {head.id}, is {head.state}"
                )
            )
    return reasons


def _lane_reasons(board: Board, job: LiveJob) -> list[Reason]:
    lane = board.lane_of(job)
    if lane is None:
        return []
    if lane.holder is not None and lane.holder is not job:
        return [
            Reason(
                "lane", f'lane "{lane.name}" is held by job {lane.holder.id}: {lane.holder.state}'
            )
        ]
    first = lane.line(job.priority).first()
    if first is not None and first is not job and job.state is State.QUEUED:
        return [Reason("lane", f'job {first.id} stands before it in lane "{lane.name}"')]
    return []


def _missing_capacities(board: Board, job: LiveJob) -> list[Reason]:
    queue = board.queues[job.queue]
    terms = job.terms
    capacities = [
        *(board.rate(key) for key in terms.limits),
        *(board.resource(name).share(amount) for name, amount in terms.uses),
        worker_slots_for(board, queue.name, job.task, terms.requires, board.refusals_of(job)),
    ]
    return [
        capacity.reason(board.now) for capacity in capacities if not capacity.has_room(board.now)
    ]
