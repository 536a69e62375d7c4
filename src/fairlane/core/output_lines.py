"""Declared outputs: no two jobs write one path at the same time, and they write it in their order.

Rules:

- A running job holds its declared paths (`Terms.outputs`).
- A job whose turn has come, but whose path another job holds, is blocked and waits in the line of
  that path. A strict queue does not pass it; any other queue does.
- When a path becomes free, the first jobs of its line are queued again, at their old positions. The
  first of them in the order of the queue starts, and the rest is blocked again. If they cannot
  start now, for example because their lanes are busy, the next jobs of the line are queued.

Why no reservation for a job that cannot start yet: it would hold a path while it waits for a lane
or for the head of a strict queue, and the job that is first there may wait for that path.
"""

from collections.abc import Iterator

from fairlane.core.board import Board, OutputLine
from fairlane.core.lifecycle import State
from fairlane.core.live_job import LiveJob, Reason


def find_busy_output(board: Board, job: LiveJob) -> tuple[str, OutputLine] | None:
    """Return the first declared path of a job that another job holds."""
    for path in job.terms.outputs:
        line = board.output_lines.get(path)
        if line is not None and line.holder not in (None, job.id):
            return path, line
    return None


def busy_reason(path: str, line: OutputLine) -> Reason:
    message = f"{path} is being written by job {line.holder}"
    return Reason("output_busy", message, {"path": path, "job": line.holder or ""})


def waits_for_output(job: LiveJob) -> bool:
    """Whether a job was blocked by the scheduler over an output, not by its worker."""
    reason = job.reason
    is_blocked = job.state is State.BLOCKED and job.worker is None
    return is_blocked and reason is not None and reason.code == "output_busy"


def update_outputs(board: Board, job: LiveJob) -> None:
    """Hold the declared paths of a job that runs now; release those of a job in another state."""
    for path in job.terms.outputs:
        line = board.output_lines.get(path)
        if line is None:
            line = board.output_lines[path] = OutputLine()
        line.waiting.pop(job.id, None)
        if job.state is State.RUNNING:
            line.holder = job.id
        elif line.holder == job.id:
            line.holder = None
        if line.waiting:
            board.outputs_to_check[path] = None
        elif line.holder is None:
            del board.output_lines[path]


def wait_for_output(board: Board, job: LiveJob) -> None:
    """Put a job that was blocked over an output into the line of that path."""
    busy = find_busy_output(board, job)
    path = job.terms.outputs[0] if busy is None else busy[0]
    board.output_lines.setdefault(path, OutputLine()).waiting[job.id] = None
    board.outputs_to_check[path] = None


def pop_released(board: Board) -> Iterator[LiveJob]:
    """Yield the first waiting jobs of each path that is free; the path is checked again later.

    They are the first jobs of each priority of each queue: with fewer, a new job of a priority
    could pass the jobs of that priority that wait already.
    """
    paths = list(board.outputs_to_check)
    board.outputs_to_check.clear()
    for path in paths:
        line = board.output_lines.get(path)
        if line is not None and line.holder is None and line.waiting:
            firsts: dict[tuple[str, int], LiveJob] = {}
            for job in map(board.jobs.__getitem__, line.waiting):
                group = (job.queue, board.queues[job.queue].rank(job.priority))
                if group not in firsts or job.position < firsts[group].position:
                    firsts[group] = job
            yield from firsts.values()
            board.outputs_to_check[path] = None
