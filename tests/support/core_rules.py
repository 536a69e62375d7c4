"""The rules of scheduling, checked the slow way: each check reads every job."""

from collections.abc import Iterable

import msgspec

from fairlane.core.inputs import ChangeSetting
from fairlane.core.lifecycle import State
from fairlane.core.live_job import LiveJob
from fairlane.core.queues import Queue
from tests.support.core import World

_IN_STRICT_LINE = {State.QUEUED, State.BLOCKED, State.RETRYING, State.INTERRUPTED}


def check_rules(world: World, inputs: Iterable[object] = ()) -> None:
    """Fail if a rule is broken after an `apply`, or if a job could start and has not."""
    board = world.scheduler.board
    assert world.store.jobs == board.jobs, "the stored jobs differ from the board"
    check_pass(world)
    if not any(isinstance(item, ChangeSetting) for item in inputs):
        _check_limits(world)
    for id, job in board.jobs.items():
        queue = board.queues[job.queue]
        assert (id in queue.running) == (job.state is State.RUNNING)
        assert not could_start(world, job), f"{id} could start and has not"
    for queue in board.queues.values():
        for priority, count in queue.waiting_in.items():
            waiting = (job for job in board.jobs_in_queue(queue) if job.state is not State.RUNNING)
            assert count == sum(job.priority is priority for job in waiting)


def check_pass(world: World) -> None:
    """Fail if a job passed another job that it may not pass."""
    jobs = world.scheduler.board.jobs
    for start in world.last.starts:
        job = jobs[start.job]
        queue = world.scheduler.board.queues[job.queue]
        full = queue.settings.max_concurrent
        assert full is None or len(queue.running) <= full
        assert queue.paused is None
        for other in jobs.values():
            if other.queue != job.queue or not other.position or other.position >= job.position:
                continue
            if queue.is_strict:
                head = _strict_head(world, job.queue)
                let_past = head is not None and head.lane is not None and head.lane == job.lane
                passed = other.state in _IN_STRICT_LINE and not let_past
                assert not passed, f"{job.id} passed the head {other.id}"
            elif queue.settings.order == "fifo" and _are_alike(job, other):
                ready = other.state is State.QUEUED and _is_first_in_lane(world, queue, other)
                assert not ready, f"{job.id} passed {other.id}"


def _are_alike(job: LiveJob, other: LiveJob) -> bool:
    mine, theirs = job.terms, other.terms
    return (job.priority, job.task, mine.limits, mine.uses, mine.requires) == (
        other.priority, other.task, theirs.limits, theirs.uses, theirs.requires)  # fmt: skip


def _check_limits(world: World) -> None:
    board = world.scheduler.board
    events = world.last.changes.events
    lowered = {event.data["name"] for event in events if event.type == "limit_changed"}
    for key, at, _ in world.last.changes.rate_starts:
        if key in lowered:
            continue  # starts before the change in the same batch stay
        assert starts_in_window(world, key) <= board.rate(key).starts, (
            f"too many starts of {key} at {at}"
        )
    grown = {name for start in world.last.starts for name, _ in board.jobs[start.job].terms.uses}
    for _, _, uses in world.last.changes.grants:
        grown |= {name for name, _ in msgspec.json.decode(uses)}
    for name in grown - lowered:
        assert used(world, name) <= board.resource(name).total, f"too much of {name} in use"


def starts_in_window(world: World, key: str) -> int:
    window = world.scheduler.board.rate(key).per_seconds
    return sum(1 for k, at, _ in world.store.rate_starts if k == key and at + window > world.now)


def used(world: World, name: str) -> int:
    total = 0
    for job in world.store.jobs.values():
        if job.state is State.RUNNING:
            total += dict(job.terms.uses).get(name, 0)
    for _, _, uses in world.store.grants:
        total += dict(msgspec.json.decode(uses)).get(name, 0)
    return total


def could_start(world: World, job: LiveJob) -> bool:
    board = world.scheduler.board
    queue = board.queues[job.queue]
    most = queue.settings.max_concurrent
    running = [j for j in board.jobs.values() if j.state is State.RUNNING and j.queue == job.queue]
    return (
        job.state is State.QUEUED
        and queue.paused is None
        and (most is None or len(running) < most)
        and (not queue.is_strict or _is_strict_head(world, job))
        and _is_first_in_lane(world, queue, job)
        and all(starts_in_window(world, key) < board.rate(key).starts for key in job.terms.limits)
        and all(used(world, n) + a <= board.resource(n).total for n, a in job.terms.uses)
        and _has_free_worker(world, queue, job)
    )


def _is_strict_head(world: World, job: LiveJob) -> bool:
    head = _strict_head(world, job.queue)
    if head is None or head.id == job.id:
        return True
    return head.state is State.QUEUED and head.lane == job.lane and job.holds_lane


def _strict_head(world: World, queue: str) -> LiveJob | None:
    line = [
        job
        for job in world.store.jobs.values()
        if job.queue == queue and job.state in _IN_STRICT_LINE and job.position
    ]
    return min(line, key=lambda job: (job.position, job.id), default=None)


def _is_first_in_lane(world: World, queue: Queue, job: LiveJob) -> bool:
    for other in world.store.jobs.values():
        if other.id == job.id or other.lane is None:
            continue
        if (other.queue, other.lane) != (job.queue, job.lane):
            continue
        if other.holds_lane or other.state is State.RUNNING:
            return False
        in_line = other.position and other.state in (State.QUEUED, State.BLOCKED)
        before = (other.position, other.id) < (job.position, job.id)
        mine_to_go_on = job.holds_lane or queue.is_strict
        if in_line and before and other.priority is job.priority and not mine_to_go_on:
            return False
    return True


def _has_free_worker(world: World, queue: Queue, job: LiveJob) -> bool:
    for worker in world.scheduler.board.workers.all.values():
        joined = worker.joined
        busy = [
            j
            for j in world.store.jobs.values()
            if j.worker == worker.id and j.state is State.RUNNING
        ]
        assert set(worker.running) == {j.id for j in busy}
        if (
            worker.accepting
            and len(busy) < joined.slots
            and joined.device == queue.settings.devices
            and (joined.queues is None or job.queue in joined.queues)
            and (joined.tasks is None or job.task in joined.tasks)
            and set(job.terms.requires) <= set(joined.labels)
        ):
            return True
    return False
