"""The workers of other processes, as a leader sees them: by their leases alone.

A process lives for as long as its lease is counted up, and so do the devices it carries. It is dead
when the count has stood still for longer than it can have gone on working, on the leader's own
clock and counted anew by every leader.
"""

from collections.abc import Callable, Iterable, Mapping

from fairlane.core.inputs import Input, WorkerGone, WorkerJoined
from fairlane.core.live_job import WorkerId, carrier_of


class LeaseWatch:
    def __init__(self, patience_seconds: float, now: Callable[[], float]) -> None:
        self._patience = patience_seconds
        self._now = now
        self._silent: dict[WorkerId, WorkerJoined] = {}
        self._seen: dict[WorkerId, tuple[int, float]] = {}

    def load(self, known: Iterable[WorkerJoined]) -> None:
        """Begin with those whom a former leader knew; none gets work before it shows that it
        lives."""
        self._silent = {joined.id: joined for joined in known}
        self._seen.clear()

    def mark_introduced(self, worker: WorkerId) -> None:
        """It spoke for itself: what it said counts, not what was stored of it."""
        self._silent.pop(worker, None)

    def check(self, beats: Mapping[WorkerId, int], known: Iterable[WorkerId]) -> list[Input]:
        """Return who has come back to life and who is dead."""
        now = self._now()
        inputs: list[Input] = [
            WorkerGone(worker) for worker in known if carrier_of(worker) not in beats
        ]
        for worker, count in beats.items():
            before = self._seen.get(worker)
            if before is None or before[0] != count:
                self._seen[worker] = (count, now)
                if before is not None:
                    inputs += self._woken(worker)
            elif now - before[1] > self._patience:
                inputs.append(WorkerGone(worker))
        for worker in [worker for worker in self._seen if worker not in beats]:
            del self._seen[worker]
        return inputs

    def _woken(self, carrier: WorkerId) -> list[WorkerJoined]:
        """Take a process that lives, and what it carries, from those who have not been seen yet."""
        woken = [worker for worker in self._silent if carrier_of(worker) == carrier]
        return [self._silent.pop(worker) for worker in sorted(woken)]
