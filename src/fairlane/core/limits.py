"""Capacities that can run short: starts per window, amounts of a resource, slots of workers.

Rules:

- A job or stage that lacks capacities waits at the first one it lacks, and is checked again only
  when that capacity has room.
- Stages of running jobs wait in `waiting_stages`, first come, first served, and go before new jobs:
  a running job holds other capacities while it waits.
- Demands of queues wait in `parked`, in one heap for each priority of each queue. One heap for
  all would hide that a lower priority could start, and its starvation turn would never come.
"""

from abc import ABC, abstractmethod
from bisect import insort
from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any

from fairlane.core.lifecycle import Priority
from fairlane.core.live_job import JobId, Reason

if TYPE_CHECKING:
    from fairlane.core.inputs import EnterStage
    from fairlane.core.queues import Demand


class Capacity(ABC):
    """A capacity that can run short, with the stages and demands that wait for it."""

    def __init__(self) -> None:
        self.waiting_stages: deque[EnterStage] = deque()
        self.parked: dict[tuple[str, Priority], list[tuple[int, str, int, Demand]]] = {}
        self._serial = 0

    @abstractmethod
    def has_room(self, now: float) -> bool: ...

    @abstractmethod
    def reason(self, now: float) -> Reason:
        """Return the reason to show for a job that waits for this capacity."""

    def park(self, demand: "Demand", turn: int, position: str) -> None:
        self._serial += 1
        heap = self.parked.setdefault((demand.queue, demand.priority), [])
        heappush(heap, (turn, position, self._serial, demand))
        demand.parked_on = self

    def unpark_best(self, queue: str, priority: Priority) -> "tuple[int, str, Demand] | None":
        """Remove and return the best demand, with the place it was parked at.

        Its first job may have left since, so its present place may be a later one.
        """
        heap = self.parked.get((queue, priority), [])
        while heap:
            turn, position, _, demand = heappop(heap)
            if demand.parked_on is self:
                demand.parked_on = None
                return turn, position, demand
        self.parked.pop((queue, priority), None)
        return None

    @property
    def is_idle(self) -> bool:
        return not self.waiting_stages and not self.parked


class Rate(Capacity):
    """At most `starts` in every window of `per_seconds`."""

    def __init__(self, key: str, starts: int, per_seconds: float) -> None:
        super().__init__()
        self.key = key
        self.starts = starts
        self.per_seconds = per_seconds
        self.recent_starts: deque[float] = deque()
        self.alarm_at: float | None = None  # when its waiters are woken, if an alarm is set

    def _drop_old_starts(self, now: float) -> None:
        # The same sum as in `next_start_at`: a difference could round the other way, and an alarm
        # at that instant would find no room.
        while self.recent_starts and self.recent_starts[0] + self.per_seconds <= now:
            self.recent_starts.popleft()

    def has_room(self, now: float) -> bool:
        self._drop_old_starts(now)
        return len(self.recent_starts) < self.starts

    def has_recent_starts(self, now: float) -> bool:
        """Return whether any start still counts in the present window."""
        self._drop_old_starts(now)
        return bool(self.recent_starts)

    def next_start_at(self, now: float) -> float | None:
        """Return the time of the next allowed start; None if the limit is zero."""
        self._drop_old_starts(now)
        if len(self.recent_starts) < self.starts:
            return now
        if self.starts <= 0:
            return None
        return self.recent_starts[len(self.recent_starts) - self.starts] + self.per_seconds

    def add_start(self, at: float) -> None:
        if self.recent_starts and at < self.recent_starts[-1]:
            insort(self.recent_starts, at)  # the clock was set back; starts must stay sorted
        else:
            self.recent_starts.append(at)

    def remove_start(self, at: float) -> None:
        if at in self.recent_starts:
            self.recent_starts.remove(at)

    def shift_back(self, seconds: float) -> None:
        self.recent_starts = deque(at - seconds for at in self.recent_starts)

    @property
    def rule(self) -> Reason:
        """Return the reason without the time of the next start."""
        return Reason(
            "rate_limit",
            f'limit "{self.key}" allows {self.starts} starts per {self.per_seconds:g} s',
        )

    def reason(self, now: float) -> Reason:
        free_at = self.next_start_at(now)
        wait = f"next start in {free_at - now:.0f} s" if free_at is not None else "no start allowed"
        return Reason("rate_limit", f"{self.rule.message}: {wait}")


class Resource:
    """An amount that running jobs and stages hold parts of."""

    def __init__(self, name: str, total: int) -> None:
        self.name = name
        self.total = total
        self.held: dict[tuple[JobId, str], int] = {}
        self.used = 0
        self.shares: dict[int, ResourceShare] = {}

    def hold(self, job: JobId, token: str, amount: int) -> None:
        self.release(job, token)
        self.held[job, token] = amount
        self.used += amount

    def release(self, job: JobId, token: str) -> bool:
        amount = self.held.pop((job, token), 0)
        self.used -= amount
        return amount > 0

    def share(self, amount: int) -> "ResourceShare":
        """Return the capacity for jobs and stages that need exactly this amount."""
        if amount not in self.shares:
            self.shares[amount] = ResourceShare(self, amount)
        return self.shares[amount]

    def shares_to_wake(self) -> "list[ResourceShare]":
        """Return the shares that fit now and have waiters; drop the shares without waiters."""
        free = self.total - self.used
        fitting = [share for amount, share in self.shares.items() if amount <= free]
        for share in fitting:
            if share.is_idle:
                del self.shares[share.amount]
        return [share for share in fitting if not share.is_idle]


class ResourceShare(Capacity):
    def __init__(self, resource: Resource, amount: int) -> None:
        super().__init__()
        self.resource = resource
        self.amount = amount

    def has_room(self, now: float) -> bool:  # noqa: ARG002  # one signature for all capacities
        return self.resource.used + self.amount <= self.resource.total

    def reason(self, now: float) -> Reason:  # noqa: ARG002
        resource = self.resource
        if self.amount > resource.total:
            return Reason(
                "resource",
                f'needs {self.amount} of "{resource.name}" and there are only {resource.total} '
                "in all: raise the amount or lower the need",
            )
        return Reason(
            "resource",
            f'needs {self.amount} of "{resource.name}": {resource.used} of {resource.total} in use',
        )


class WorkerSlots(Capacity):
    """A free slot on a worker that may run this kind of job."""

    def __init__(self, describe: Callable[[], Reason], free: Callable[[], Any]) -> None:
        super().__init__()
        self._describe = describe
        self._free = free

    def has_room(self, now: float) -> bool:  # noqa: ARG002
        return self._free() is not None

    def reason(self, now: float) -> Reason:  # noqa: ARG002
        return self._describe()
