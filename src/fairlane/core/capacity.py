"""Reserving capacity for starts and stages, and waking the waiters when capacity is free again.

Rules:

- A start, or a stage of a running job, waits for one capacity only: the first one that it lacks.
- When a capacity has room again, waiting stages go first, then one demand of each priority of each
  queue.
- The next demand is woken only after the one before it has started a job or has turned out to lack
  another capacity. So a release costs the same, no matter how many demands wait.
"""

from heapq import heappush

import msgspec

from fairlane.core.board import Board
from fairlane.core.inputs import EnterStage
from fairlane.core.lifecycle import Priority, State
from fairlane.core.limits import Capacity, Rate, Resource, WorkerSlots
from fairlane.core.live_job import JobId, LiveJob, WorkerId
from fairlane.core.queues import Queue
from fairlane.core.stage_waits import find_unreachable, stage_capacities, update_reason
from fairlane.core.waiting import best_head
from fairlane.core.workers import KnownWorker
from fairlane.errors import FairlaneError, UnknownName


def find_shortage(
    board: Board,
    queue: Queue,
    task: str,
    limits: tuple[str, ...],
    uses: tuple[tuple[str, int], ...],
    requires: tuple[str, ...],
    refused_by: frozenset[WorkerId],
) -> tuple[Capacity | None, KnownWorker | None]:
    """Return the first capacity that a start lacks, or else the worker that can run it."""
    for key in limits:
        rate = board.rate(key)
        if not rate.has_room(board.now):
            return rate, None
    for name, amount in uses:
        share = board.resource(name).share(amount)
        if not share.has_room(board.now):
            return share, None
    device = queue.settings.devices
    worker = board.workers.find_free(queue.name, task, requires, refused_by, device=device)
    if worker is None:
        return worker_slots_for(board, queue.name, task, requires, refused_by), None
    return None, worker


def worker_slots_for(
    board: Board,
    queue: str,
    task: str,
    requires: tuple[str, ...],
    refused_by: frozenset[WorkerId],
) -> WorkerSlots:
    key = (queue, task, requires, refused_by)
    if key not in board.worker_slots:
        workers, queues = board.workers, board.queues
        board.worker_slots[key] = WorkerSlots(
            lambda: workers.explain_shortage(*key, device=queues[queue].settings.devices),
            lambda: workers.find_free(*key, device=queues[queue].settings.devices),
        )
    return board.worker_slots[key]


def reserve_rate_starts(board: Board, job: LiveJob, limits: tuple[str, ...]) -> None:
    for key in dict.fromkeys(limits):
        board.rate(key).add_start(board.now)
        board.changes.rate_starts.append((key, board.now, job.id))


def return_rate_starts(board: Board, job: LiveJob, limits: tuple[str, ...]) -> None:
    """Return the rate starts of an assignment that the worker refused, and wake the waiters."""
    at = job.started_at or 0.0
    for key in dict.fromkeys(limits):
        rate = board.rate(key)
        rate.remove_start(at)
        board.changes.returned_rate_starts.append((key, at, job.id))
        wake_waiters(board, rate)


def set_rate_alarm(board: Board, capacity: Capacity) -> None:
    """Set the alarm at which the waiters of a rate are woken; no other capacity needs one."""
    if isinstance(capacity, Rate):
        free_at = capacity.next_start_at(board.now)
        if free_at is not None and (capacity.alarm_at is None or free_at < capacity.alarm_at):
            capacity.alarm_at = free_at
            heappush(board.rate_alarms, (free_at, capacity.key))


def release_resource(board: Board, name: str, job: JobId, token: str) -> None:
    resource = board.resources.get(name)
    if resource is not None and resource.release(job, token):
        wake_for_resource(board, resource)


def wake_for_resource(board: Board, resource: Resource) -> None:
    for share in resource.shares_to_wake():
        wake_waiters(board, share)


def wake_for_worker(board: Board, worker: KnownWorker) -> None:
    if not worker.is_free:
        return
    for key, slots in list(board.worker_slots.items()):
        device = board.queues[key[0]].settings.devices
        if slots.is_idle:
            del board.worker_slots[key]
        elif worker.may_run(*key, device=device):
            wake_waiters(board, slots)


def wake_for_any_worker(board: Board, queue: str) -> None:
    """Wake all jobs of a queue that wait for a worker: other workers may serve it now."""
    for key, slots in list(board.worker_slots.items()):
        if key[0] == queue:
            wake_waiters(board, slots)


def wake_waiters(board: Board, capacity: Capacity) -> None:
    """Wake waiters of a capacity that has room: stages, then the best demand of each priority."""
    while capacity.waiting_stages and capacity.has_room(board.now):
        stage = capacity.waiting_stages.popleft()
        if board.waiting_stages.pop(stage.token, None) is not None:
            grant_stage(board, stage)
    if capacity.has_room(board.now):
        for queue, priority in list(capacity.parked):
            wake_next_demand(board, capacity, queue, priority)
    elif not capacity.is_idle:
        set_rate_alarm(board, capacity)


def wake_next_demand(board: Board, capacity: Capacity, queue: str, priority: Priority) -> None:
    """List the best demand that waits for a capacity, while that capacity has room."""
    while capacity.has_room(board.now):
        best = capacity.unpark_best(queue, priority)
        if best is None:
            return
        turn, position, demand = best
        head = best_head(board, demand)
        if head is None:
            board.queues[queue].drop_demand(demand)
        elif (turn, position) < (head[0], head[1]):
            capacity.park(demand, head[0], head[1])  # its first job has left
        else:
            demand.woken_by = capacity
            demand.listed = None
            board.queues[queue].priorities[priority].list(demand, head[0], head[1])
            board.queues_to_check[queue] = None
            return
    if not capacity.is_idle:
        set_rate_alarm(board, capacity)


def grant_stage(board: Board, stage: EnterStage) -> None:
    """Grant a stage its limits and resources, or make it wait for the first that is short."""
    job = board.jobs.get(stage.job)
    if job is None or job.state is not State.RUNNING or job.fence != stage.fence:
        return
    if stage.token in board.grants.get(stage.job, {}):
        board.decisions.orders_for(stage.worker).granted.append(stage.token)
        return
    is_waiting = stage.token in board.waiting_stages
    try:
        capacities = stage_capacities(board, stage)
        problem: FairlaneError | None = find_unreachable(board, stage)
    except UnknownName as error:
        problem = error
    if problem is not None:
        board.decisions.orders_for(stage.worker).denied.append((stage.token, problem.as_problem()))
        board.waiting_stages.pop(stage.token, None)
        update_reason(board, job)
        return
    if is_waiting:
        return  # sent again
    for capacity in capacities:
        if not capacity.has_room(board.now):
            board.waiting_stages[stage.token] = stage
            capacity.waiting_stages.append(stage)
            set_rate_alarm(board, capacity)
            update_reason(board, job)
            return
    if job.reason is not None:
        update_reason(board, job)
    reserve_rate_starts(board, job, stage.limits)
    for name, amount in stage.uses:
        board.resource(name).hold(stage.job, stage.token, amount)
    board.grants.setdefault(stage.job, {})[stage.token] = stage
    board.changes.grants.append((stage.job, stage.token, msgspec.json.encode(stage.uses).decode()))
    board.decisions.orders_for(stage.worker).granted.append(stage.token)


def end_stage(board: Board, job: JobId, token: str) -> None:
    grants = board.grants.get(job, {})
    stage = grants.pop(token, None)
    if board.waiting_stages.pop(token, None) is not None:
        update_reason(board, board.jobs[job])
    if stage is None:
        return
    if not grants:
        del board.grants[job]
    board.changes.releases.append((job, token))
    for name, _ in stage.uses:
        release_resource(board, name, job, token)
