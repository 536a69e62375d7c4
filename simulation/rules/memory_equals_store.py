"""The state in the leader's memory equals the state that a new leader would load."""

from typing import Any

from fairlane.core.scheduler import Scheduler
from fairlane.store.protocol import Image
from simulation.journal import Journal


def check_memory(journal: Journal, scheduler: Scheduler, image: Image, now: float) -> None:
    if any(what == "set back" for _, what, _ in journal.faults):
        return  # a reload clips times to the clock that memory has moved with it
    journal.checked("memory equals a rebuild")
    if scheduler.board.jobs:
        journal.checked("memory with live jobs equals a rebuild")
    again = Scheduler()
    again.load(
        jobs=image.jobs, dependencies=image.dependencies, records=image.records,
        rate_starts=image.rate_starts, grants=image.grants, seq=image.seq, now=now,
    )  # fmt: skip
    mine, theirs = _picture(scheduler, now), _picture(again, now)
    for part, found in mine.items():
        if found != theirs[part]:
            journal.violate("memory", f"{part} differs: {_difference(found, theirs[part])}")


def _picture(scheduler: Scheduler, now: float) -> dict[str, Any]:
    board = scheduler.board
    return {
        "jobs": {id: _facts(job) for id, job in board.jobs.items()},
        "order": [
            job.id for job in sorted(board.jobs.values(), key=lambda job: (job.position, job.id))
        ],
        "dependencies": {id: sorted(on) for id, on in board.waits_on.items()},
        "dedupe keys": dict(board.dedupe),
        "lanes": {
            key: (lane.holder.id if lane.holder else None, sorted(lane.live))
            for key, lane in board.lanes.items()
        },
        "running": {name: sorted(queue.running) for name, queue in board.queues.items()},
        "waiting": {name: dict(queue.waiting_in) for name, queue in board.queues.items()},
        "paused": {name: queue.paused for name, queue in board.queues.items()},
        "settings": {name: queue.settings for name, queue in board.queues.items()},
        "fairness": {
            name: (dict(queue.fairness.passed), dict(queue.fairness.since))
            for name, queue in board.queues.items()
        },
        "starts that count": {
            key: sorted(rate.recent_starts)
            for key, rate in board.rates.items()
            if rate.has_recent_starts(now)
        },
        "amounts in use": {name: dict(resource.held) for name, resource in board.resources.items()},
        "stages": {job: sorted(tokens) for job, tokens in board.grants.items() if tokens},
        "turns": {name: dict(queue.turns) for name, queue in board.queues.items()},
        "firings": dict(board.fired_at),
        "seq": board.seq,
    }


def _facts(job: Any) -> tuple[Any, ...]:
    return (
        job.state, job.attempt, job.failures, job.crashes, job.fence, job.holds_lane, job.due_at,
        job.priority, job.cancel_outputs, job.worker, job.lane, job.queue,
    )  # fmt: skip


def _difference(one: Any, other: Any) -> str:
    if isinstance(one, dict) and isinstance(other, dict):
        keys = [key for key in {**one, **other} if one.get(key) != other.get(key)]
        shown = {key: (one.get(key), other.get(key)) for key in keys[:2]}
        return f"{len(keys)} entries, such as {shown}"
    return f"{one} and {other}"
