"""Starvation protection: lower priorities of a queue get a turn after enough time or enough starts.

Rules:

- A higher priority starts first, unless a lower one starves.
- A priority starves if `starvation_picks` picks in a row came from higher priorities while it could
  have started a job, or if that has gone on for `starvation_seconds`.
- A priority in which no job waits is owed no turn.
- A refused job used no turn: if a worker refuses the job that used the turn of its priority, the
  counts come back.
- Counts and times are stored, so a restart loses neither.
"""

import msgspec
from msgspec import Struct, field

from fairlane.core.lifecycle import Priority
from fairlane.core.live_job import JobId


class Turn(Struct, array_like=True):
    """The counts of a priority at the moment when this job used its turn."""

    job: JobId
    passed: int
    since: float


class StoredFairness(Struct, omit_defaults=True):
    passed: dict[Priority, int] = field(default_factory=dict)
    since: dict[Priority, float] = field(default_factory=dict)
    turns: dict[Priority, Turn] = field(default_factory=dict)


class Fairness:
    def __init__(self) -> None:
        self.passed: dict[Priority, int] = {}
        self.since: dict[Priority, float] = {}
        self.turns: dict[Priority, Turn] = {}  # the last turn of each priority

    def choose(self, able: list[Priority], now: float, *, picks: int, seconds: float) -> Priority:
        """Choose among the priorities that can start a job now, highest first in `able`."""
        starving = [
            priority
            for priority in able[1:]
            if self.passed.get(priority, 0) >= picks
            or (priority in self.since and now - self.since[priority] >= seconds)
        ]
        # The priority with the most passed picks goes first; of two equal ones, the lower.
        return max(
            starving, key=lambda priority: (self.passed.get(priority, 0), priority), default=able[0]
        )

    def count_pick(self, job: JobId, priority: Priority, able: list[Priority], now: float) -> bool:
        """Count a pick; return whether the stored record changed."""
        passed = self.passed.pop(priority, None)
        changed = passed is not None
        if passed is not None:
            self.turns[priority] = Turn(job, passed, self.since.pop(priority, now))
        for lower in able:
            if lower > priority:
                self.passed[lower] = self.passed.get(lower, 0) + 1
                self.since.setdefault(lower, now)
                changed = True
        return changed

    def return_turn(self, job: JobId, priority: Priority) -> bool:
        """Restore the counts of a priority if this job used its turn; return whether it did."""
        turn = self.turns.get(priority)
        if turn is None or turn.job != job:
            return False
        del self.turns[priority]
        self.passed[priority] = self.passed.get(priority, 0) + turn.passed
        self.since[priority] = min(turn.since, self.since.get(priority, turn.since))
        return True

    def forget(self, priority: Priority) -> bool:
        """Drop the counts of a priority without waiting jobs; return whether the record changed."""
        self.since.pop(priority, None)
        return self.passed.pop(priority, None) is not None

    def shift_back(self, seconds: float) -> None:
        self.since = {priority: at - seconds for priority, at in self.since.items()}

    def clip(self, now: float) -> None:
        """Limit waiting times to `now`, after the clock was set back while no leader ran."""
        self.since = {priority: min(at, now) for priority, at in self.since.items()}

    def encode(self) -> str:
        return msgspec.json.encode(StoredFairness(self.passed, self.since, self.turns)).decode()

    def restore(self, text: str) -> None:
        stored = msgspec.json.decode(text, type=StoredFairness)
        self.passed, self.since, self.turns = stored.passed, stored.since, stored.turns
