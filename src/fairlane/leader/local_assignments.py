"""The jobs that the leader assigned to the worker of its own process."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from fairlane.core.decisions import Start, Stop
from fairlane.core.inputs import Input, Outcome
from fairlane.core.lifecycle import State
from fairlane.core.live_job import JobId, LiveJob, WorkerId

_NO_WORKER: Final = WorkerId("")


class LocalAssignments:
    """Remembers which assignments reached the worker, to repair them after a reload."""

    def __init__(self, is_own: Callable[[str], bool]) -> None:
        self._is_own = is_own
        self._fences: dict[JobId, int] = {}  # of the assignments that the worker holds

    def update(self, inputs: Sequence[Input], starts: Sequence[Start]) -> None:
        """Add the assignments of a durable commit, and drop those with an outcome in it."""
        for input in inputs:
            if type(input) is Outcome and self._fences.get(input.job) == input.fence:
                del self._fences[input.job]
        for start in starts:
            self._fences[start.job] = start.fence

    def refuse_undelivered(self, jobs: Iterable[LiveJob]) -> list[Input]:
        """Return refusals of the assignments that are stored but never reached the worker.

        A commit that raised an error may have stored them.
        """
        return [
            Outcome(job.id, job.worker or _NO_WORKER, job.fence, "refused")
            for job in self._own_running(jobs)
            if self._fences.get(job.id) != job.fence
        ]

    def repeat_stops(self, jobs: Iterable[LiveJob]) -> list[Stop]:
        """Return a stop for each cancelled job that runs here; the first one may be lost."""
        return [
            Stop(job.id, job.worker or _NO_WORKER, job.fence, job.cancel_outputs, False)
            for job in self._own_running(jobs)
            if job.cancel_outputs is not None
        ]

    def _own_running(self, jobs: Iterable[LiveJob]) -> Iterator[LiveJob]:
        return (j for j in jobs if j.state is State.RUNNING and self._is_own(j.worker or ""))
