"""The counters of this process since its start: plain numbers for the metrics.

Counting happens between two decisions or two attempts, so it is only an addition; derived numbers
are computed when the metrics are read. The leader's thread counts decisions, the loop of the
program counts attempts, and no number is counted by both.
"""

from bisect import bisect_left
from collections.abc import Hashable
from itertools import accumulate
from typing import Final, Generic, TypeVar

from fairlane.core.decisions import Changes, Event, Start
from fairlane.core.lifecycle import State
from fairlane.core.live_job import JobId

Key = TypeVar("Key", bound=Hashable)
Of = tuple[str, str]  # a task and a queue

LONG_SECONDS: Final = (
    0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3_600.0, 14_400.0, 86_400.0,
)  # fmt: skip
SHORT_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
SIZES: Final = (1.0, 2.0, 5.0, 10.0, 25.0, 50.0, 100.0, 250.0, 500.0, 1_000.0, 2_500.0)

OTHERS: Final[Of] = ("", "")  # names of tasks and queues are never empty
_MOST_KEYS: Final = 1_000
_MOST_READY: Final = 100_000
_QUEUED: Final = State.QUEUED
_RETRYING: Final = State.RETRYING
_INTERRUPTED: Final = State.INTERRUPTED
_NOT_YET: Final = frozenset({State.SCHEDULED, State.BLOCKED})


class Histogram:
    """The number of values up to each bound, and the sum of all values."""

    __slots__ = ("_bounds", "_counts", "total")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def add(self, value: float) -> None:
        self._counts[bisect_left(self._bounds, value)] += 1
        self.total += value

    def below(self) -> list[tuple[float, int]]:
        """Return each bound, the last of them infinite, with the count of values up to it."""
        return list(zip((*self._bounds, float("inf")), accumulate(self._counts), strict=True))


class Histograms:
    """A histogram for each task and queue; above a limit, one for the rest."""

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self._bounds = bounds
        self._spreads: dict[Of, Histogram] = {}

    def add(self, task: str, queue: str, value: float) -> None:
        of = (task, queue)
        (self._spreads.get(of) or self._new(of)).add(value)

    def _new(self, of: Of) -> Histogram:
        of = of if len(self._spreads) < _MOST_KEYS else OTHERS
        return self._spreads.setdefault(of, Histogram(self._bounds))

    def items(self) -> list[tuple[Of, Histogram]]:
        return list(self._spreads.items())


class Counts(Generic[Key]):
    """A number for each key; above a limit, one for the rest."""

    def __init__(self, others: Key) -> None:
        self._others = others
        self._counts: dict[Key, int] = {}

    def add(self, key: Key) -> None:
        try:
            self._counts[key] += 1
        except KeyError:
            key = key if len(self._counts) < _MOST_KEYS else self._others
            self._counts[key] = self._counts.get(key, 0) + 1

    def items(self) -> list[tuple[Key, int]]:
        return list(self._counts.items())


class Counters:
    def __init__(self) -> None:
        # by the leader
        self.waits = Histograms(LONG_SECONDS)
        self.ended: Counts[tuple[str, str, str]] = Counts((*OTHERS, ""))
        self.retries: Counts[Of] = Counts(OTHERS)
        self.interruptions: Counts[Of] = Counts(OTHERS)
        self.commit_seconds = Histogram(SHORT_SECONDS)
        self.commit_jobs = Histogram(SIZES)
        self.elections = 0
        self.epoch = 0
        self.leader_lag = Histogram(SHORT_SECONDS)
        self._ready: dict[JobId, float] = {}  # when it became ready, if after its submission
        # by the worker, on the loop of the program
        self.runs = Histograms(LONG_SECONDS)
        self.attempts: Counts[tuple[str, str, str]] = Counts((*OTHERS, ""))
        self.program_lag = Histogram(SHORT_SECONDS)

    def elected(self, epoch: int) -> None:
        self.elections += 1
        self.epoch = epoch
        self._ready.clear()  # another leader may have started these jobs

    def committed(self, changes: Changes, starts: list[Start], seconds: float) -> None:
        """Count the changes of a durable commit."""
        self.commit_seconds.add(seconds)
        live = len(changes.entered) + len(changes.changed)
        self.commit_jobs.add(live + len(changes.ended))
        self._follow(changes)
        if starts:
            self._count_waits(changes, starts)
        for ended in changes.ended.values():
            job = ended.job
            self.ended.add((job.task, job.queue, job.state))
        if self._ready:
            for id in changes.ended:
                self._ready.pop(id, None)

    def _follow(self, changes: Changes) -> None:
        for event in changes.events:
            state = event.data.get("state")  # most events have none of these states
            if state is _QUEUED:
                self._queued(event)
            elif state is _RETRYING:
                self._count(self.retries, changes, event.job)
            elif state is _INTERRUPTED:
                self._count(self.interruptions, changes, event.job)

    def _queued(self, event: Event) -> None:
        """Note when a job became ready; before that it was scheduled or blocked."""
        waited_before = event.data.get("from") not in _NOT_YET
        if event.job is not None and not waited_before and len(self._ready) < _MOST_READY:
            self._ready[event.job] = event.at

    def _count(self, counts: Counts[Of], changes: Changes, id: JobId | None) -> None:
        if id is not None:
            ended = changes.ended.get(id)
            job = changes.changed.get(id) if ended is None else ended.job
            if job is not None:
                counts.add((job.task, job.queue))

    def _count_waits(self, changes: Changes, starts: list[Start]) -> None:
        ready, changed, add = self._ready, changes.changed, self.waits.add
        for start in starts:
            job = changed.get(start.job) or changes.entered.get(start.job)
            if start.first and job is not None and job.started_at is not None:
                since = ready.pop(job.id, job.created_at) if ready else job.created_at
                add(job.task, job.queue, max(0.0, job.started_at - since))

    def ran(self, start: Start, result: str, seconds: float) -> None:
        """Count an attempt that has ended in this process."""
        self.attempts.add((start.task, start.queue, result))
        if result not in ("refused", "skipped"):  # they never began
            self.runs.add(start.task, start.queue, seconds)
