"""The lines and demands of waiting jobs: where a job waits and which job of them is first.

Rules:

- A waiting job stands in one line: the line of its lane and priority; the line of its strict queue;
  or, without a lane, the line of its demand (see `queues`).
- The heads of a lane (the jobs of it that may start next) stand in the lines of their demands too.
- Lines are exact. A job that leaves a waiting state leaves its line at once, so no reader of a line
  has to skip stale entries.
"""

from heapq import heapify, heappop, heappush
from typing import Final

import msgspec

from fairlane.core.board import Board
from fairlane.core.lanes import Lane
from fairlane.core.lifecycle import State
from fairlane.core.live_job import LiveJob
from fairlane.core.queues import STRICT_STATES, Demand, Queue

_MOST_STALE: Final = 1_000  # entries of deadlines of jobs that have ended or run again


def place_job(board: Board, job: LiveJob) -> None:
    """Put a job into the place of its state: the heap of sleepers, a line, or both."""
    if job.state is State.CREATED:
        return
    if job.state is State.SCHEDULED or job.state is State.RETRYING:
        heappush(board.due_jobs, (job.due_at or 0.0, job.id))
    watch_deadline(board, job)
    join_line(board, job)


def watch_deadline(board: Board, job: LiveJob) -> None:
    """Put the deadline of a waiting job into the heap; the worker watches that of a running one."""
    if job.deadline_at is None or job.state not in (State.QUEUED, State.BLOCKED):
        return
    heappush(board.deadlines, (job.deadline_at, job.id))
    if len(board.deadlines) > 2 * len(board.jobs) + _MOST_STALE:
        jobs = board.jobs.values()
        board.deadlines = [(j.deadline_at, j.id) for j in jobs if j.deadline_at is not None]
        heapify(board.deadlines)


def join_line(board: Board, job: LiveJob) -> None:
    """Add a job to the line of its state, if that state waits in a line."""
    if not job.position:
        return
    queue = board.queues[job.queue]
    state = job.state
    if queue.is_strict:
        if state in STRICT_STATES:
            queue.strict_line.add(job)
    elif state is State.QUEUED or state is State.BLOCKED:
        lane = board.lane_of(job)
        if lane is not None:
            line = lane.line(job.priority)
            line.add(job)
            if lane.holder is job or line.first() is job:
                update_lane_heads(board, lane)
        elif state is State.QUEUED:
            add_to_demand(board, job)
    board.queues_to_check[job.queue] = None


def leave_line(board: Board, job: LiveJob, was: State) -> None:
    """Remove a job from the line in which it stood in state `was`.

    Its lane may have another head then: the caller calls `update_lane_heads` once the job is in
    its new place.
    """
    if was is State.CREATED or not job.position:
        return
    queue = board.queues[job.queue]
    if queue.is_strict:
        if was in STRICT_STATES:
            queue.strict_line.remove(job)
    elif was is State.QUEUED or was is State.BLOCKED:
        lane = board.lane_of(job)
        if lane is not None:
            lane.line(job.priority).remove(job)
            if job in lane.filed:
                lane.filed.remove(job)
                remove_from_demand(board, job)
        elif was is State.QUEUED:
            remove_from_demand(board, job)


def forget_refusals(board: Board, job: LiveJob) -> None:
    """Let a job be tried again by the processes that could not decrypt its secrets."""
    if job.state is State.RUNNING:
        del board.refused_by[job.id]
        return
    leave_line(board, job, job.state)
    del board.refused_by[job.id]  # its demand depends on it
    join_line(board, job)
    lane = board.lane_of(job)
    if lane is not None:
        update_lane_heads(board, lane)


def update_lane_heads(board: Board, lane: Lane) -> None:
    """Make the demands contain exactly those jobs of a lane that may start next."""
    heads, filed = lane.heads(), lane.filed
    if heads == filed or board.queues[lane.queue].is_strict:
        return
    for job in filed:
        if job not in heads:
            remove_from_demand(board, job)
    for job in heads:
        if job not in filed:
            add_to_demand(board, job)
    lane.filed = heads


def add_to_demand(board: Board, job: LiveJob) -> None:
    queue = board.queues[job.queue]
    demand = queue.demand(job.priority, job.task, job.terms, board.refusals_of(job))
    turn = 0
    if queue.is_round_robin:
        turn = turn_of_bucket(board, queue, job)
        demand.bucket_line(job.bucket or "").add(job)
        demand.offer(job.bucket or "", turn, job.position)
    else:
        demand.line.add(job)
    capacity = demand.parked_on
    if capacity is not None and capacity.has_room(board.now):
        # Another demand may have been woken for the same room, and this one may come first now.
        demand.parked_on = None
        head = best_head(board, demand)
        if head is not None:
            queue.priorities[job.priority].list(demand, head[0], head[1])
    elif capacity is not None:
        capacity.park(demand, turn, job.position)
    else:
        queue.priorities[job.priority].list(demand, turn, job.position)
    board.queues_to_check[job.queue] = None


def remove_from_demand(board: Board, job: LiveJob) -> None:
    queue = board.queues[job.queue]
    demand = queue.demand(job.priority, job.task, job.terms, board.refusals_of(job))
    if queue.is_round_robin:
        demand.remove(job.bucket or "", job)
    else:
        demand.line.remove(job)


def turn_of_bucket(board: Board, queue: Queue, job: LiveJob) -> int:
    """Return the turn of a job's bucket; a new bucket joins at the end of the round."""
    bucket = job.bucket or ""
    if bucket not in queue.turns:
        end_turn_of_bucket(board, queue, bucket)
    return queue.turns[bucket]


def end_turn_of_bucket(board: Board, queue: Queue, bucket: str) -> None:
    queue.turn += 1
    queue.turns[bucket] = queue.turn
    board.changes.records["turn", _turn_name(queue, bucket)] = str(queue.turn)


def leave_bucket(board: Board, queue: Queue, bucket: str) -> None:
    """Count a job of a bucket out, and forget the turn of a bucket without jobs.

    Buckets are often named after lanes, and the names of lanes are endless.
    """
    left = queue.bucket_jobs.get(bucket, 0) - 1
    if left > 0:
        queue.bucket_jobs[bucket] = left
        return
    queue.bucket_jobs.pop(bucket, None)
    if queue.turns.pop(bucket, None) is not None:
        board.changes.records["turn", _turn_name(queue, bucket)] = None


def best_head(board: Board, demand: Demand) -> tuple[int, str, LiveJob] | None:
    """Return the first job of a demand, with its turn and its position."""
    queue = board.queues[demand.queue]
    if queue.is_round_robin:
        return _best_head_in_turn(board, queue, demand)
    job = demand.line.first()
    return None if job is None else (0, job.position, job)


def _best_head_in_turn(
    board: Board, queue: Queue, demand: Demand
) -> tuple[int, str, LiveJob] | None:
    """Return the first job by turn; correct entries with an old turn or a job that has left."""
    heads = demand.heads
    while heads:
        turn, position, bucket = heads[0]
        if demand.offered.get(bucket) != (turn, position):
            heappop(heads)
            continue
        line = demand.buckets.get(bucket)
        job = None if line is None else line.first()
        if job is not None and (turn_of_bucket(board, queue, job), job.position) == (
            turn,
            position,
        ):
            return turn, position, job
        heappop(heads)
        del demand.offered[bucket]
        if job is not None:
            demand.offer(bucket, turn_of_bucket(board, queue, job), job.position)
    return None


def rebuild_order(board: Board, queue: Queue) -> None:
    """Put every waiting job of a queue into its place again, after its order has changed."""
    for demand in queue.demands.values():
        demand.parked_on = demand.woken_by = demand.listed = None
    queue.clear_order()
    for lane in board.lanes.values():
        if lane.queue == queue.name:
            lane.lines.clear()
            lane.filed.clear()
    jobs = board.jobs_in_queue(queue)
    if queue.is_round_robin:
        for job in jobs:
            bucket = job.bucket or ""
            queue.bucket_jobs[bucket] = queue.bucket_jobs.get(bucket, 0) + 1
    for bucket in [bucket for bucket in queue.turns if bucket not in queue.bucket_jobs]:
        leave_bucket(board, queue, bucket)
    for job in jobs:
        join_line(board, job)


def _turn_name(queue: Queue, bucket: str) -> str:
    return msgspec.json.encode((queue.name, bucket)).decode()
