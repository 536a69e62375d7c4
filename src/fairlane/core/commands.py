"""The handlers of commands for jobs and queues that exist already."""

import copy
from typing import Any

import msgspec
from msgspec import UNSET

from fairlane.core.admission import (
    active_in,
    block_on_dependencies,
    check_dedupe,
    check_lane,
    check_terms,
    is_exclusive,
)
from fairlane.core.board import DOCUMENTS, Board
from fairlane.core.capacity import (
    wake_for_any_worker,
    wake_for_resource,
    wake_for_worker,
    wake_waiters,
)
from fairlane.core.decisions import Changes, Firing, LaneChange, Stop
from fairlane.core.inputs import (
    Cancel,
    ChangeSetting,
    EditLane,
    Move,
    Prioritize,
    QueryState,
    RetryJob,
    SaveRecord,
    Skip,
    SkipFiring,
)
from fairlane.core.lifecycle import TRANSITIONS, Priority, State
from fairlane.core.limits import Rate, Resource
from fairlane.core.live_job import JobId, LiveJob, Reason
from fairlane.core.pauses import queue_view, store_queue
from fairlane.core.position import between
from fairlane.core.queues import Queue, settings_from
from fairlane.core.state_changes import add_job, change_priority, end_job, transition
from fairlane.core.validation import check_amounts
from fairlane.core.waiting import join_line, leave_line, rebuild_order, update_lane_heads
from fairlane.errors import BadSetting, Conflict, IllegalTransition, LaneBusy, LaneLocked, NotFound

_WAITING = frozenset({State.QUEUED, State.BLOCKED, State.SCHEDULED, State.RETRYING})


def find_live_job(board: Board, id: JobId, ended: dict[JobId, LiveJob], wanted: State) -> LiveJob:
    """Return a live job; raise if it has ended or does not exist.

    `wanted` is the state that the error names.
    """
    job = board.jobs.get(id)
    if job is not None:
        return job
    if id in ended:
        raise _illegal_transition(ended[id], wanted)
    raise NotFound(f"job {id} does not exist")


def _illegal_transition(job: LiveJob, wanted: State) -> IllegalTransition:
    """Return the error of a command; a change that the table allows may still not be a user's."""
    if wanted in TRANSITIONS[job.state]:
        why = "it has ended, so it stands in no order; retry it first"
        if wanted is State.SKIPPED:
            why = "only a waiting job can be skipped; a running one can be cancelled"
        return IllegalTransition.of_command(job.id, job.state.value, why)
    legal = sorted(state.value for state in TRANSITIONS[job.state])
    return IllegalTransition(job.id, job.state.value, wanted.value, legal)


def cancel(board: Board, command: Cancel, ended: dict[JobId, LiveJob]) -> dict[str, Any]:
    job = find_live_job(board, command.job, ended, State.CANCELLED)
    if job.state is not State.RUNNING:
        job.cancel_outputs = command.outputs if job.attempt else None
        end_job(board, job, State.CANCELLED)
        return {"state": State.CANCELLED.value, "stopping": False}
    job.cancel_outputs = command.outputs
    board.mark_changed(job)
    board.add_event(
        "job_stopping", job, job.queue, {"outputs": command.outputs, "force": command.force}
    )
    assert job.worker is not None
    stop = Stop(job.id, job.worker, job.fence, command.outputs, command.force)
    board.decisions.orders_for(job.worker).stops.append(stop)
    return {"state": State.RUNNING.value, "stopping": True}


def skip(board: Board, command: Skip, ended: dict[JobId, LiveJob]) -> dict[str, Any]:
    job = find_live_job(board, command.job, ended, State.SKIPPED)
    if job.state not in _WAITING:
        raise _illegal_transition(job, State.SKIPPED)
    end_job(board, job, State.SKIPPED, reason=Reason("skipped", "taken out of the queue by hand"))
    return {"state": State.SKIPPED.value}


def retry(board: Board, command: RetryJob, ended: dict[JobId, LiveJob]) -> dict[str, Any]:
    """Queue an ended job again under its id; it is checked like a new one."""
    if command.job in board.jobs:
        raise IllegalTransition.of_command(
            command.job,
            board.jobs[command.job].state.value,
            "it has not ended; only a failed or cancelled job can be retried",
        )
    if command.job not in ended:
        raise NotFound(f"job {command.job} does not exist")
    job = copy.copy(ended[command.job])
    if State.QUEUED not in TRANSITIONS[job.state]:
        raise _illegal_transition(job, State.QUEUED)
    queue = board.queue(job.queue)
    twin = check_lane(board, queue, job.lane, job.digest)
    if twin is not None:
        raise LaneBusy(queue.name, job.lane or "", twin, board.jobs[twin].state.value)
    check_dedupe(board, job.dedupe)
    check_terms(board, job.terms)
    waits = _unfinished_dependencies(board, job)
    job.position = "" if waits else queue.new_tail()
    if not waits and command.place == "head":
        job.position = queue.new_head()
    job.exclusive = is_exclusive(queue, job.lane)
    job.bucket = job.bucket if job.bucket is not None else job.lane
    job.failures = job.crashes = 0
    job.deadline_at = None  # it counts anew
    job.reason = job.worker = job.due_at = None
    del ended[job.id]
    _revive(board.changes, job)
    add_job(board, job)
    transition(board, job, State.QUEUED, retried=True)
    if waits:
        block_on_dependencies(board, job, waits)
    elif board.waits_on.pop(job.id, None) is not None:
        board.changes.settled.append(job.id)
    return {"state": job.state.value}


def _unfinished_dependencies(board: Board, job: LiveJob) -> set[JobId]:
    """Return the live jobs that a job waited for when it was cancelled."""
    waits = board.waits_on.get(job.id, set())
    ended = sorted(id for id in waits if id not in board.jobs)
    if ended and not job.terms.run_anyway:
        raise Conflict(
            f"job {job.id} depends on job {ended[0]}, which did not complete; retry that job first"
        )
    board.changes.met_dependencies += [(job.id, id) for id in ended]  # not again after a restart
    return waits.difference(ended)


def _revive(changes: Changes, job: LiveJob) -> None:
    """Return the row of a job to the live table; if it ended in this batch, it never left."""
    if changes.ended.pop(job.id, None) is None:
        changes.revived.append(job.id)
        changes.entered[job.id] = job
        return
    if job.id in changes.left:
        changes.left.remove(job.id)
        changes.changed[job.id] = job
    else:
        changes.entered[job.id] = job
    lane = changes.lanes.get((job.queue, job.lane or ""))
    if lane is not None and lane.adopt == job.id:
        lane.adopt = UNSET


def move(board: Board, command: Move, ended: dict[JobId, LiveJob]) -> dict[str, Any]:
    job = find_live_job(board, command.job, ended, State.QUEUED)
    if job.state not in _WAITING or not job.position:
        raise IllegalTransition.of_command(
            job.id, job.state.value, "it stands in no order, so it cannot be moved"
        )
    if [command.to, command.before, command.after].count(None) != 2:
        raise BadSetting("give exactly one of: to head or tail, before a job, after a job")
    queue = board.queue(job.queue)
    priority, position = job.priority, job.position
    if command.to is not None:
        position = queue.new_head() if command.to == "head" else queue.new_tail()
    else:
        target = find_live_job(
            board, command.before or command.after or job.id, ended, State.QUEUED
        )
        if target.queue != job.queue or target.state not in _WAITING or not target.position:
            raise Conflict(
                f"job {target.id} does not wait in queue {job.queue}: name one that does"
            )
        if target is not job:
            priority = target.priority
            position = _position_next_to(
                board, queue, job, target, before=command.before is not None
            )
    _reposition(board, job, priority, position)
    return {"state": job.state.value, "position": job.position}


def _position_next_to(
    board: Board, queue: Queue, job: LiveJob, target: LiveJob, *, before: bool
) -> str:
    """Return a position next to the target. It reads the whole queue, which a move may cost.

    Jobs of other priorities and running jobs are neighbours too: they may return to this order, and
    their place must not depend on how positions happened to be numbered.
    """
    others = (other for other in board.jobs_in_queue(queue) if other is not job)
    places = [other.position for other in others if other.position]
    if before:
        lower = max((place for place in places if place < target.position), default=None)
        return queue.new_head() if lower is None else between(lower, target.position)
    upper = min((place for place in places if place > target.position), default=None)
    return queue.new_tail() if upper is None else between(target.position, upper)


def prioritize(board: Board, command: Prioritize, ended: dict[JobId, LiveJob]) -> dict[str, Any]:
    job = find_live_job(board, command.job, ended, State.QUEUED)
    if job.state not in _WAITING:
        raise IllegalTransition.of_command(
            job.id, job.state.value, "only a waiting job has a priority to change"
        )
    _reposition(board, job, command.priority, job.position)
    return {"state": job.state.value, "priority": job.priority.name.lower()}


def _reposition(board: Board, job: LiveJob, priority: Priority, position: str) -> None:
    """Move a waiting job to another priority and position of its queue."""
    leave_line(board, job, job.state)
    if priority is not job.priority:
        change_priority(board, job, priority)
    job.position = position
    join_line(board, job)
    lane = board.lane_of(job)
    if lane is not None:
        update_lane_heads(board, lane)
    board.mark_changed(job)
    board.add_event("job_moved", job, job.queue, {"position": position, "priority": int(priority)})


def change_setting(board: Board, command: ChangeSetting) -> dict[str, Any]:
    if command.kind == "queue":
        return _set_queue(board, command)
    stored = board.declared.get((command.kind, command.name))
    if stored is None:
        if command.by == "operator" and command.kind == "resource":
            board.resource(command.name)
        stored = {"code": {}, "operator": {}}
    merged = {**stored, command.by: _merge(stored[command.by], command)}
    values = {**merged["code"], **merged["operator"]}
    if not values and stored["operator"] and ":" in command.name:
        return _clear_rate_key(board, command.name)
    check_amounts(command.kind, command.name, values)
    if merged == board.declared.get((command.kind, command.name)):
        return values
    board.declared[command.kind, command.name] = merged
    board.changes.records[command.kind, command.name] = msgspec.json.encode(merged).decode()
    board.add_event("limit_changed", None, None, {"name": command.name, **values})
    apply_setting(board, command.kind, command.name)
    return values


def _clear_rate_key(board: Board, key: str) -> dict[str, Any]:
    """Remove an operator's limit for one key, so that the limit of its family applies again."""
    family = board.effective_setting("rate", key.split(":", 1)[0])
    if family is None:
        raise BadSetting(
            f'limit "{key}" has no default: it exists only because an operator set it. '
            f'Declare app.limit("{key.split(":", 1)[0]}", …) first'
        )
    del board.declared["rate", key]
    board.changes.records["rate", key] = None
    board.add_event("limit_changed", None, None, {"name": key, **family})
    apply_setting(board, "rate", key.split(":", 1)[0])
    return family


def _merge(present: dict[str, Any], command: ChangeSetting) -> dict[str, Any]:
    if command.by == "code":
        return dict(command.values)
    merged = {**present, **command.values}
    return {name: value for name, value in merged.items() if value is not None}


def apply_setting(board: Board, kind: str, name: str) -> None:
    """Apply the stored setting of a rate or resource, and wake the jobs that wait for it."""
    values = board.effective_setting(kind, name) or {}
    if kind == "resource":
        resource = board.resources.setdefault(name, Resource(name, 0))
        resource.total = int(values["amount"])
        wake_for_resource(board, resource)
        return
    board.rates.setdefault(name, Rate(name, 0, 1))
    for key, rate in list(board.rates.items()):
        if key == name or (key.split(":", 1)[0] == name and ("rate", key) not in board.declared):
            rate.starts, rate.per_seconds = int(values["starts"]), float(values["per_seconds"])
            wake_waiters(board, rate)


def _set_queue(board: Board, command: ChangeSetting) -> dict[str, Any]:
    name = command.name
    if command.by == "operator":
        board.queue(name)
    queue = board.queues.get(name) or Queue(name)
    merged = _merge(queue.code if command.by == "code" else queue.operator, command)
    code, operator = (merged, queue.operator) if command.by == "code" else (queue.code, merged)
    settings = settings_from(name, {**code, **operator})
    if name in board.queues and (code, operator) == (queue.code, queue.operator):
        return queue_view(queue)
    before = queue.settings
    queue.code, queue.operator, queue.settings = code, operator, settings
    board.queues[name] = queue
    if settings.order != before.order:
        rebuild_order(board, queue)
    if settings.devices != before.devices:
        wake_for_any_worker(board, name)
    return store_queue(board, queue)


def save_record(board: Board, command: SaveRecord) -> dict[str, Any]:
    key = (command.kind, command.name)
    if command.instead_of is not None and board.documents.get(key) != command.instead_of:
        raise Conflict(
            f"{command.kind} {command.name!r} was changed meanwhile; read it again and repeat "
            "the change"
        )
    if command.if_absent and board.documents.get(key) is not None:
        return {}
    board.changes.records[key] = command.body
    if command.kind in DOCUMENTS:
        board.documents[key] = command.body
        board.add_event(f"{command.kind}_changed", None, None, {"name": command.name})
    device = board.workers.find_device(command.name) if command.kind == "device" else None
    if device is not None:
        device.apply_record(command.body)
        wake_for_worker(board, device)
    return {}


def edit_lane(board: Board, command: EditLane) -> dict[str, Any]:
    queue = board.queue(command.queue)
    lane = board.lanes.get((queue.name, command.lane))
    if lane is not None:
        raise LaneLocked(queue.name, lane.name, active_in(board, lane).id)
    change = board.changes.lanes.setdefault((queue.name, command.lane), LaneChange())
    change.params = command.params
    board.add_event("lane_changed", None, queue.name, {"lane": command.lane})
    return {}


def query_state(board: Board, command: QueryState) -> bool:
    if command.queued is not None:
        holder = board.dedupe.get(command.queued)
        return holder is not None and board.jobs[holder].state is not State.RUNNING
    assert command.lane is not None
    lane = board.lanes.get(command.lane)
    return lane is not None and any(board.jobs[id].state is State.RUNNING for id in lane.live)


def skip_firing(board: Board, command: SkipFiring) -> dict[str, Any]:
    if board.fired_at.get(command.schedule, float("-inf")) < command.fire_at:
        board.fired_at[command.schedule] = command.fire_at
        board.changes.records["fired", command.schedule] = repr(command.fire_at)
        board.changes.firings.append(
            Firing(command.schedule, command.fire_at, None, command.count, command.reason)
        )
        board.add_event("schedule_fired", None, None, {
            "schedule": command.schedule, "fire_at": command.fire_at, "job": None,
            "reason": command.reason, "count": command.count})  # fmt: skip
    return {}
