"""Forecasts: the scheduler itself, run ahead on simulated time.

Each job takes as long as jobs of its task usually take. A task that has never completed a job is
assumed to run for ever: jobs that wait for it get no forecast rather than a wrong one.
"""

from collections.abc import Mapping, Sequence
from heapq import heappop, heappush

from msgspec import Struct

from fairlane.core.inputs import ChangeSetting, Input, Outcome, StartConfirmed, WorkerJoined
from fairlane.core.lifecycle import State
from fairlane.core.live_job import JobId, WorkerId
from fairlane.core.scheduler import Scheduler

_MOST_STEPS = 50_000


class Forecast(Struct):
    """The expected start of each waiting job and the end of the last one; None is unknown."""

    starts_at: dict[JobId, float | None]
    empty_at: float | None


def forecast(
    scheduler: Scheduler,
    *,
    now: float,
    durations: Mapping[str, float],
    queue: str | None = None,
    what_if: Mapping[str, object] | None = None,
) -> Forecast:
    """Run a freshly loaded scheduler, used for this only, until no further end is foreseen."""
    board = scheduler.board
    tasks = {job.id: job.task for job in board.jobs.values()}
    waiting = [
        job.id
        for job in board.jobs.values()
        if job.state is not State.RUNNING and queue in (None, job.queue)
    ]
    starts: dict[JobId, float | None] = dict.fromkeys(waiting)
    ends: list[tuple[float, JobId, WorkerId, int]] = []
    last_end: dict[JobId, float] = {}

    def will_end(job: JobId, worker: WorkerId, fence: int, started_at: float) -> None:
        if tasks[job] in durations:
            end = max(now, started_at + durations[tasks[job]])
            last_end[job] = end
            heappush(ends, (end, job, worker, fence))

    for job in board.jobs.values():
        if job.state is State.RUNNING and job.worker is not None:
            will_end(job.id, job.worker, job.fence, job.started_at or now)

    inputs: Sequence[Input] = [*_rejoin_workers(scheduler), *_settings(queue, what_if)]
    at = now
    for _ in range(_MOST_STEPS):
        decisions = scheduler.apply(inputs, at)
        for id in decisions.changes.ended:
            last_end.setdefault(id, at)  # also of jobs that do not start before their deadline
        confirmed: list[Input] = []
        for start in decisions.starts:
            if start.confirm:
                confirmed.append(StartConfirmed(start.job, start.worker, start.fence, ""))
            if start.job in starts and starts[start.job] is None:
                starts[start.job] = at
            will_end(start.job, start.worker, start.fence, at)
        if confirmed:
            inputs = confirmed
            continue
        times = [t for t in (ends[0][0] if ends else None, decisions.wake_at) if t is not None]
        if not times:
            break
        at = max(at, min(times))
        inputs = _completed(ends, at)
    known = all(id in last_end for id in waiting)
    return Forecast(starts, max((last_end[id] for id in waiting), default=now) if known else None)


def _completed(ends: list[tuple[float, JobId, WorkerId, int]], at: float) -> list[Input]:
    done: list[Input] = []
    while ends and ends[0][0] <= at:
        _, job, worker, fence = heappop(ends)
        done.append(Outcome(job, worker, fence, "completed", value="null"))
    return done


def _rejoin_workers(scheduler: Scheduler) -> list[Input]:
    """Return inputs that make every known worker accept jobs, as after a fresh load none does.

    Devices that are down are left out: the time of their return is unknown.
    """
    joined = [worker.joined for worker in scheduler.board.workers.all.values()]
    return [
        WorkerJoined(w.id, w.name, w.slots, w.tasks, w.queues, w.labels, w.device)
        for w in joined
        if not w.note
    ]


def _settings(queue: str | None, what_if: Mapping[str, object] | None) -> list[Input]:
    if not what_if or queue is None:
        return []
    return [ChangeSetting("", "queue", queue, "operator", dict(what_if))]
