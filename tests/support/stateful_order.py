"""The next job to start, as simply as possible: lists, and loops over lists.

This model is neither fast nor stored. The central function is `_next`; the other functions change
the state of jobs.
"""

from dataclasses import dataclass, field
from typing import Any, Final, Literal

from tests.support.stateful_wishes import (
    AMOUNT,
    PER_SECONDS,
    PRIORITIES,
    QUEUES,
    STARTS,
    TASKS,
    PriorityLevel,
    Wish,
)

FINAL: Final = {"completed", "failed", "cancelled", "skipped"}


@dataclass(eq=False)
class Entry:
    """A job in the model."""

    wish: Wish
    priority: PriorityLevel
    state: str = "created"
    attempt: int = 0
    failures: int = 0
    crashes: int = 0
    due_at: float | None = None
    stopping: bool = False
    holds_lane: bool = False
    waits_on: set[str] = field(default_factory=set)

    @property
    def is_live(self) -> bool:
        return self.state not in FINAL

    @property
    def lane(self) -> tuple[str, str] | None:
        return None if self.wish.lane is None else (self.wish.queue, self.wish.lane)

    @property
    def bucket(self) -> tuple[str, str | None]:
        return self.wish.queue, self.wish.lane

    def option(self, name: str, otherwise: Any) -> Any:
        return TASKS[self.wish.task].get(name, otherwise)


class Order:
    """The jobs of a story:

    `lines` holds the jobs of a queue that have a position, running or not.
    """

    def __init__(self, now: float) -> None:
        self.now = now
        self.jobs: dict[str, Entry] = {}
        self.lines: dict[str, list[Entry]] = {queue: [] for queue in QUEUES}
        self.operator: dict[str, dict[str, Any]] = {queue: {} for queue in QUEUES}
        self.paused: dict[str, str | None] = dict.fromkeys(QUEUES)
        self.starts, self.amount = STARTS, AMOUNT
        self.taken: list[float] = []  # times of counted starts, moved with the clock
        self.stored_taken: list[float] = []  # the same times as stored
        self.turns: dict[tuple[str, str | None], int] = {}
        self.turn = 0
        self.passed: dict[tuple[str, str], int] = {}

    # the next start

    def settle(self) -> None:
        """Wake the jobs that are due, then start all that can start."""
        asleep = [j for j in self._live() if j.state in ("scheduled", "retrying")]
        for job in sorted(asleep, key=lambda job: (job.due_at or 0.0, job.wish.id)):
            if (job.due_at or 0.0) <= self.now:
                job.due_at = None
                self._queue(job)
        for queue in QUEUES:
            while (chosen := self._next(queue)) is not None:
                self._start(chosen)

    def _next(self, queue: str) -> Entry | None:
        most = self.setting(queue, "max_concurrent")
        if self.paused[queue] or (most is not None and len(self.running(queue)) >= most):
            return None
        if self.setting(queue, "order") == "strict":
            return self._strict_head(queue)
        tops: dict[PriorityLevel, Entry] = {}
        for priority in PRIORITIES:
            able = [
                job
                for job in self.lines[queue]
                if job.priority == priority and self._can_start(job)
            ]
            if able:
                tops[priority] = min(able, key=self._turn)
        return tops[self._fair(queue, list(tops))] if tops else None

    def _strict_head(self, queue: str) -> Entry | None:
        """Return the head of a strict queue, which only the holder of the lane it waits for may
        pass."""
        for head in self.lines[queue]:
            if head.state in ("queued", "retrying"):
                job = self._holder(head) or head if head.state == "queued" else head
                able = job.state == "queued" and self._has_what_it_needs(job)
                return job if able else None
        return None

    def _fair(self, queue: str, able: list[PriorityLevel]) -> PriorityLevel:
        """Return the highest priority, unless a lower one was passed by too often."""
        if not self.setting(queue, "anti_starvation", True):
            return able[0]
        most = self.setting(queue, "starvation_picks")
        starving = [
            priority for priority in able[1:] if self.passed.get((queue, priority), 0) >= most
        ]
        chosen = max(
            starving,
            key=lambda priority: (self.passed[queue, priority], rank(priority)),
            default=able[0],
        )
        self.passed.pop((queue, chosen), None)
        for priority in able[able.index(chosen) + 1 :]:
            self.passed[queue, priority] = self.passed.get((queue, priority), 0) + 1
        return chosen

    def _can_start(self, job: Entry) -> bool:
        return job.state == "queued" and self._is_head(job) and self._has_what_it_needs(job)

    def _is_head(self, job: Entry) -> bool:
        """Return whether a job is the next of its lane and priority."""
        if job.lane is None:
            return True
        holder = self._holder(job)
        if holder is not None:
            return holder is job
        mates = [j for j in self.lines[job.wish.queue] if j.lane == job.lane]
        return job is next(j for j in mates if j.priority == job.priority and j.state == "queued")

    def _holder(self, job: Entry) -> Entry | None:
        if job.lane is None:
            return None
        return next((j for j in self._live() if j.lane == job.lane and j.holds_lane), None)

    def _has_what_it_needs(self, job: Entry) -> bool:
        lately = [at for at in self.taken if at + PER_SECONDS > self.now]
        if job.option("limits", []) and len(lately) >= self.starts:
            return False
        used = sum(_need(j) for j in self._live() if j.state == "running")
        return _need(job) == 0 or used + _need(job) <= self.amount

    def _turn(self, job: Entry) -> int:
        return self.turns.get(job.bucket, 0)

    def _take_turn(self, job: Entry) -> None:
        if self.setting(job.wish.queue, "order") == "round_robin":
            self.turn += 1
            self.turns[job.bucket] = self.turn

    # changes of a job

    def _start(self, job: Entry) -> None:
        job.state = "running"
        job.attempt += 1
        job.holds_lane = job.lane is not None
        if job.option("limits", []):
            self.taken.append(self.now)
            self.stored_taken.append(self.now)
        self._take_turn(job)
        self._forget_band(job)

    def _queue(self, job: Entry) -> None:
        job.state = "queued"
        if job.bucket not in self.turns:
            self._take_turn(job)

    def _admit(self, job: Entry, place: Literal["head", "tail"] = "tail") -> None:
        """Give a job its position in the line."""
        line = self.lines[job.wish.queue]
        line.insert(0 if place == "head" else len(line), job)
        if job.due_at is not None and job.due_at > self.now:
            job.state = "scheduled"
        else:
            job.due_at = None
            self._queue(job)

    def _end(self, first: Entry, state: str) -> None:
        ending = [(first, state)]
        while ending:
            job, ended_as = ending.pop(0)
            job.state = ended_as
            job.holds_lane = job.stopping = False
            job.due_at = None
            if ended_as != "cancelled":  # a retry of a cancelled job waits for them again
                job.waits_on = set()
            if job in self.lines[job.wish.queue]:
                self.lines[job.wish.queue].remove(job)
            if not any(other.bucket == job.bucket for other in self._live()):
                self.turns.pop(job.bucket, None)
            self._forget_band(job)
            for other in self.jobs.values():
                if other.state == "cancelled" and ended_as == "completed":
                    other.waits_on.discard(job.wish.id)
            for other in [j for j in self._live() if job.wish.id in j.waits_on]:
                other.waits_on.discard(job.wish.id)
                if job.state != "completed" and not other.wish.run_anyway:
                    other.state = "skipped"
                    ending.append((other, "skipped"))
                elif not other.waits_on:
                    self._admit(other)

    def _forget_band(self, job: Entry) -> None:
        """Reset the passed picks of a priority without waiting jobs."""
        queue = job.wish.queue
        waiting = [j for j in self._live() if j.wish.queue == queue and j.state != "running"]
        for priority in PRIORITIES:
            if not any(j.priority == priority for j in waiting):
                self.passed.pop((queue, priority), None)

    def _let_go_of_lane(self, job: Entry) -> None:
        job.holds_lane = job.lane is not None and job.option("hold_lane", True)

    # queries

    def setting(self, queue: str, name: str, otherwise: Any = None) -> Any:
        return self.operator[queue].get(name, QUEUES[queue].get(name, otherwise))

    def _live(self) -> list[Entry]:
        return [job for job in self.jobs.values() if job.is_live]

    def running(self, queue: str) -> list[Entry]:
        return [job for job in self.lines[queue] if job.state == "running"]


def rank(priority: PriorityLevel) -> int:
    return PRIORITIES.index(priority)


def _need(job: Entry) -> int:
    return int(job.option("uses", {}).get("gpu", 0))
