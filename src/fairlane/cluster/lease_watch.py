"""The leases of the workers of other processes, as the leader watches them.

A process is alive while the counter of its lease increases, and so are its devices. It is dead when
the counter has not changed for longer than the process could have continued to work. The leader
measures that on its own clock, and every new leader starts the measurement again.

The leader reads the leases rarely, so a change may be some seconds old when it is seen. The
database says how old. A wrong clock of the database can make this age too large, so it counts only
as far as the margin: no worker is dead before its lease has ended.
"""

from collections.abc import Callable, Iterable, Mapping

from fairlane.core.inputs import Input, WorkerGone, WorkerJoined
from fairlane.core.live_job import WorkerId, carrier_of
from fairlane.store.shared_protocol import LeaseCount


class LeaseWatch:
    def __init__(
        self, lease_seconds: float, margin_seconds: float, now: Callable[[], float]
    ) -> None:
        self._patience = lease_seconds + margin_seconds
        self._margin = margin_seconds
        self._now = now
        self._unconfirmed: dict[WorkerId, WorkerJoined] = {}
        self._seen: dict[WorkerId, tuple[int, float]] = {}

    def load(self, known: Iterable[WorkerJoined]) -> None:
        """Start with the workers of a former leader; none gets jobs before its lease is renewed."""
        self._unconfirmed = {joined.id: joined for joined in known}
        self._seen.clear()

    def mark_introduced(self, worker: WorkerId) -> None:
        """Prefer the introduction that a worker sent over the stored one."""
        self._unconfirmed.pop(worker, None)

    def seconds_left(self) -> float:
        """Return the seconds until the first worker is dead, unless its counter changes."""
        oldest = min((at for _, at in self._seen.values()), default=self._now())
        return oldest + self._patience - self._now()

    def check(self, beats: Mapping[WorkerId, LeaseCount], known: Iterable[WorkerId]) -> list[Input]:
        """Return `WorkerJoined` for workers that are alive again, `WorkerGone` for dead ones."""
        now = self._now()
        inputs: list[Input] = [
            WorkerGone(worker) for worker in known if carrier_of(worker) not in beats
        ]
        for worker, lease in beats.items():
            before = self._seen.get(worker)
            if before is None or before[0] != lease.count:
                age = min(max(0.0, lease.age_seconds), self._margin) if before is not None else 0.0
                self._seen[worker] = (lease.count, now - age)
                if before is not None:
                    inputs += self._revive(worker)
            elif now - before[1] > self._patience:
                inputs.append(WorkerGone(worker))
        for worker in [worker for worker in self._seen if worker not in beats]:
            del self._seen[worker]
        return inputs

    def _revive(self, carrier: WorkerId) -> list[WorkerJoined]:
        """Return the stored introductions of a process that is alive, and of its devices."""
        revived = [worker for worker in self._unconfirmed if carrier_of(worker) == carrier]
        return [self._unconfirmed.pop(worker) for worker in sorted(revived)]
