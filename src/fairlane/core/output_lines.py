"""Declared outputs: no two jobs write one path at the same time, and they write it in their order.

Rules:

- A job holds its declared paths (`Terms.outputs`) from its start to its end, as it holds its lane:
  between two attempts too, unless its task has `hold_lane=False`. Otherwise a younger job could
  write the path during a backoff, and the next attempt would replace the newer file.
- A job whose turn has come, but whose path another job holds, is blocked and waits in the line of
  that path. A strict queue does not pass it, except by the holder; any other queue does.
- When a path becomes free, the first jobs of its line are queued again, at their old positions: one
  queue after the other, in the order in which their jobs were accepted. The first of them in the
  order of its queue starts, and the rest is blocked again. If they cannot start now, for example
  because their lanes are busy, the jobs of the next queue and the next jobs of the line follow.
- A job that could start passes no job of the line that comes before it, and no older job of another
  queue: it joins the line, from which all of them are queued in order.

Why no reservation for a job that has not started yet: it would hold a path while it waits for a
lane or for the head of a strict queue, and the job that is first there may wait for that path. A
job that has started needs no further path, so it always ends.
"""

from bisect import insort
from collections.abc import Iterator

from fairlane.core.board import Board, OutputLine
from fairlane.core.lifecycle import State
from fairlane.core.live_job import JobId, LiveJob, Reason


def find_busy_output(board: Board, job: LiveJob) -> tuple[str, JobId] | None:
    """Return the first declared path that a job may not write now, and the job that comes first."""
    for path in job.terms.outputs:
        line = board.output_lines.get(path)
        holder = None if line is None else line.holder
        if holder == job.id or (holder is None and (job.id, path) in board.released_outputs):
            continue
        first = holder
        if first is None and line is not None:
            first = _waiting_before(board, job, line)
        if first is None:
            first = _older_writer(board, job, path)
        if first is not None:
            return path, first
    return None


def _waiting_before(board: Board, job: LiveJob, line: OutputLine) -> JobId | None:
    """Return a job of a line that comes before a job outside the line."""
    queue = board.queues[job.queue]
    for other in map(board.jobs.__getitem__, line.waiting):
        if other.queue != job.queue:
            is_before = _acceptance(other) < _acceptance(job)
        else:
            place = (queue.rank(other.priority), other.position)
            is_before = place < (queue.rank(job.priority), job.position)
        if is_before:
            return other.id
    return None


def _older_writer(board: Board, job: LiveJob, path: str) -> JobId | None:
    """Return an older job of another queue that wants the path and may be able to start."""
    for other in board.writers[path]:
        if other is job:
            return None
        if other.state is State.QUEUED and other.queue != job.queue:
            return other.id
    return None


def busy_reason(path: str, first: JobId) -> Reason:
    message = f"{path} is being written by job {first}"
    return Reason("output_busy", message, {"path": path, "job": first})


def waits_for_output(job: LiveJob) -> bool:
    """Whether a job was blocked by the scheduler over an output, not by its worker."""
    reason = job.reason
    is_blocked = job.state is State.BLOCKED and job.worker is None
    return is_blocked and reason is not None and reason.code == "output_busy"


def add_writer(board: Board, job: LiveJob) -> None:
    """Add a new or loaded job to the writers of its declared paths."""
    for path in job.terms.outputs:
        insort(board.writers.setdefault(path, []), job, key=_acceptance)
    update_outputs(board, job)


def remove_writer(board: Board, job: LiveJob) -> None:
    for path in job.terms.outputs:
        writers = board.writers[path]
        writers.remove(job)
        if not writers:
            del board.writers[path]


def update_outputs(board: Board, job: LiveJob) -> None:
    """Hold the declared paths of a job that has started; release those of any other job."""
    has_started = job.state is State.RUNNING or (job.holds_lane and not job.is_final)
    for path in job.terms.outputs:
        line = board.output_lines.get(path)
        if line is None:
            line = board.output_lines[path] = OutputLine()
        line.waiting.pop(job.id, None)
        if has_started:
            line.holder = job.id
        elif line.holder == job.id:
            line.holder = None
        if line.waiting:
            board.outputs_to_check[path] = None
        elif line.holder is None:
            del board.output_lines[path]


def wait_for_output(board: Board, job: LiveJob) -> None:
    """Put a job that was blocked over an output into the line of that path."""
    path = _awaited_path(job)
    board.output_lines.setdefault(path, OutputLine()).waiting[job.id] = None
    board.outputs_to_check[path] = None


def pop_released(board: Board) -> Iterator[LiveJob]:
    """Yield the first waiting jobs of each path that is free; the path is checked again later.

    They are the first jobs of each priority of one queue: with fewer, a new job of a priority
    could pass the jobs of that priority that wait already.
    """
    paths = list(board.outputs_to_check)
    board.outputs_to_check.clear()
    for path in paths:
        line = board.output_lines.get(path)
        if line is not None and line.holder is None and line.waiting:
            waiting = [board.jobs[id] for id in line.waiting]
            queue = board.queues[min(waiting, key=_acceptance).queue]
            firsts: dict[int, LiveJob] = {}
            for job in waiting:
                rank = queue.rank(job.priority)
                if job.queue == queue.name and (
                    rank not in firsts or job.position < firsts[rank].position
                ):
                    firsts[rank] = job
            for job in firsts.values():
                board.released_outputs.add((job.id, path))
                yield job
            board.outputs_to_check[path] = None


def find_holder_behind(board: Board, head: LiveJob) -> LiveJob | None:
    """Return the job of a strict queue for which its head waits, and which waits behind the head.

    The head was moved or retried to its place after that job had started. If the job could not
    pass the head, both would wait for each other for ever; so would two such queues, if the head of
    each waits for a job of the other.
    """
    waiting: LiveJob | None = head
    seen = set()
    while waiting is not None and waits_for_output(waiting) and waiting.id not in seen:
        seen.add(waiting.id)
        line = board.output_lines[_awaited_path(waiting)]
        if line.holder is None:
            return None
        holder = board.jobs[line.holder]
        if holder.queue == head.queue:
            return holder
        is_queued = holder.state is State.QUEUED
        waiting = board.queues[holder.queue].strict_line.first() if is_queued else None
    return None


def _awaited_path(job: LiveJob) -> str:
    """Return the path for which a blocked job waits in a line."""
    assert job.reason is not None
    return str(job.reason.facts["path"])


def _acceptance(job: LiveJob) -> tuple[float, JobId]:
    return job.created_at, job.id
