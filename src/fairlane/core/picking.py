"""Choosing the jobs that start next.

Rules:

- Queues take turns: the queue whose last start is longest ago starts one job, then the next queue,
  until no queue can start a job. So no queue gets all slots that become free.
- In a queue the highest priority starts first, unless a lower one starves (see `fairness`). In a
  priority the first job in order starts first.
- A job that lacks capacity does not hold up jobs that need other capacities, except in a strict
  queue, where no job passes the head: the job after it starts when the start of the head is
  certain (see `queues`).

How: only queues in `board.queues_to_check` are read. In a priority, `demands` of jobs with equal
needs lie in a heap by their first job (see `queues`). A demand that lacks a capacity is parked at
that capacity and is not read again until it has room, so a pick costs O(log n) in the number of
demands, no matter how many jobs wait.
"""

from heapq import heappop
from typing import Final

from fairlane.core.board import Board
from fairlane.core.capacity import (
    find_shortage,
    reserve_rate_starts,
    set_rate_alarm,
    wake_next_demand,
)
from fairlane.core.decisions import Start
from fairlane.core.lifecycle import Priority, State
from fairlane.core.live_job import STARTING, LiveJob, WorkerId
from fairlane.core.output_lines import (
    busy_reason,
    find_busy_output,
    find_holder_behind,
    pop_released,
    wait_for_output,
    waits_for_output,
)
from fairlane.core.pauses import end_stop
from fairlane.core.queues import Demand, Queue
from fairlane.core.state_changes import transition
from fairlane.core.waiting import best_head, end_turn_of_bucket, update_lane_heads
from fairlane.core.workers import KnownWorker

_PRIORITIES: Final = tuple(Priority)  # iterating over the enum costs more than the pick itself


def start_ready(board: Board) -> None:
    for queue in board.queues.values():
        if queue.is_strict:
            board.queues_to_check[queue.name] = None
    while board.queues_to_check or board.outputs_to_check:
        for job in pop_released(board):
            job.reason = None
            transition(board, job, State.QUEUED)
        names = list(board.queues_to_check)
        board.queues_to_check.clear()
        able = [board.queues[name] for name in names if name in board.queues]
        for queue in able:
            end_stop(board, queue)
        able.sort(key=lambda queue: queue.last_start)
        while able:
            able = [queue for queue in able if _start_one(board, queue)]
    board.released_outputs.clear()


def _start_one(board: Board, queue: Queue) -> bool:
    if queue.paused is not None or queue.is_full:
        return False
    return _start_strict(board, queue) if queue.is_strict else _start_best(board, queue)


def _start_strict(board: Board, queue: Queue) -> bool:
    if queue.starting:
        return False
    job = strict_next(board, queue)
    if job is None or job.state is not State.QUEUED:
        return False
    terms = job.terms
    refused_by = board.refusals_of(job)
    shortage, worker = find_shortage(
        board, queue, job.task, terms.limits, terms.uses, terms.requires, refused_by
    )
    if shortage is not None:
        set_rate_alarm(board, shortage)
    if worker is None or _is_output_busy(board, job):
        return False
    start(board, job, worker, confirm=worker.may_refuse(job.task))
    return True


def strict_next(board: Board, queue: Queue) -> LiveJob | None:
    """Return the next job of a strict queue: its head, or the job that holds its lane or output.

    The holder had the lane before the head was moved or retried to its place. If the holder could
    not pass the head, both would wait for each other for ever.
    """
    head = queue.strict_line.first()
    if head is not None and waits_for_output(head):
        return find_holder_behind(board, head) or head
    if head is None or head.state is not State.QUEUED:
        return head
    lane = board.lane_of(head)
    return head if lane is None or lane.holder is None else lane.holder


def _start_best(board: Board, queue: Queue) -> bool:
    settings = queue.settings
    tops: dict[Priority, tuple[Demand, LiveJob, KnownWorker]] = {}
    for priority in _PRIORITIES:
        top = _best_startable(board, queue, priority) if queue.priorities[priority].heap else None
        if top is not None:
            tops[priority] = top
            if not settings.anti_starvation:
                break
    if not tops:
        return False
    able = list(tops)
    priority = able[0]
    fairness = queue.fairness
    if settings.anti_starvation and (len(able) > 1 or fairness.passed):
        priority = fairness.choose(
            able, board.now, picks=settings.starvation_picks, seconds=settings.starvation_seconds
        )
        if fairness.count_pick(tops[priority][1].id, priority, able, board.now):
            board.changes.records["fairness", queue.name] = fairness.encode()
    demand, job, worker = tops[priority]
    start(board, job, worker)
    if queue.is_round_robin:
        end_turn_of_bucket(board, queue, job.bucket or "")
    _list_again(board, queue, demand)
    return True


def _best_startable(
    board: Board, queue: Queue, priority: Priority
) -> tuple[Demand, LiveJob, KnownWorker] | None:
    """Return the first job of a priority that can start now; park demands that cannot."""
    heap = queue.priorities[priority].heap
    while heap:
        turn, position, _, demand = heap[0]
        if demand.listed != (turn, position) or demand.parked_on is not None:
            heappop(heap)
            continue
        head = best_head(board, demand)
        if head is None:
            heappop(heap)
            demand.listed = None
            _wake_next(board, demand)
            queue.drop_demand(demand)
            continue
        if (head[0], head[1]) != demand.listed:
            heappop(heap)
            demand.listed = None
            queue.priorities[priority].list(demand, head[0], head[1])
            _wake_next(board, demand)  # the room may belong to another demand now
            continue
        shortage, worker = find_shortage(
            board, queue, demand.task, demand.limits, demand.uses, demand.requires,
            demand.refused_by,
        )  # fmt: skip
        if shortage is None and worker is not None:
            if _is_output_busy(board, head[2]):
                continue
            return demand, head[2], worker
        if shortage is not None:
            heappop(heap)
            demand.listed = None
            shortage.park(demand, head[0], head[1])
            set_rate_alarm(board, shortage)
            _wake_next(board, demand)
    return None


def _is_output_busy(board: Board, job: LiveJob) -> bool:
    """Return whether another job comes first on an output of a job that could start; block it."""
    busy = find_busy_output(board, job) if job.terms.outputs else None
    if busy is None:
        return False
    job.reason = busy_reason(*busy)
    job.worker = None  # no worker watches the path
    transition(board, job, State.BLOCKED, reason=job.reason.message)
    wait_for_output(board, job)
    return True


def _wake_next(board: Board, demand: Demand) -> None:
    """Wake the next demand of the capacity that woke this one, which has had its chance."""
    shortage = demand.woken_by
    if shortage is not None:
        demand.woken_by = None
        if shortage is not demand.parked_on:
            wake_next_demand(board, shortage, demand.queue, demand.priority)


def _list_again(board: Board, queue: Queue, demand: Demand) -> None:
    """List a demand by its next job, after its first job has started."""
    _wake_next(board, demand)
    demand.listed = None
    head = best_head(board, demand)
    if head is not None:
        queue.priorities[demand.priority].list(demand, head[0], head[1])
    elif demand.parked_on is None:
        queue.drop_demand(demand)


def start(board: Board, job: LiveJob, worker: KnownWorker, *, confirm: bool = False) -> None:
    """Assign a job to a worker; with `confirm` its queue waits until the worker confirms it."""
    first = job.fence == 0
    job.fence += 1
    job.attempt += 1
    job.worker = WorkerId(worker.id)
    job.started_at = board.now
    job.due_at = None
    if job.deadline_at is None and job.terms.deadline_seconds is not None:
        job.deadline_at = board.now + job.terms.deadline_seconds
    job.reason = STARTING if confirm else None
    lane = board.lane_of(job)
    job.holds_lane = lane is not None or bool(job.terms.outputs)
    if lane is not None:
        lane.holder = job
    worker.running[job.id] = None
    board.workers.move_to_back(worker)
    terms = job.terms
    if terms.limits:
        reserve_rate_starts(board, job, terms.limits)
    for name, amount in terms.uses:
        board.resource(name).hold(job.id, "", amount)
    board.start_count += 1
    board.queues[job.queue].last_start = board.start_count
    transition(board, job, State.RUNNING, attempt=job.attempt, **board.workers.event_data(worker))
    if lane is not None:
        update_lane_heads(board, lane)  # no other job of the lane is a head while it runs
    board.decisions.orders_for(worker.id).starts.append(
        Start(
            job.id,
            job.task,
            worker.id,
            job.fence,
            job.attempt,
            first,
            job.kind,
            job.queue,
            job.lane,
            confirm,
            None if job.deadline_at is None else job.deadline_at - board.now,
        )
    )
