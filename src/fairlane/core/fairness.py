"""No band starves: after enough picks that passed it by, or enough time, a lower band has a turn.

For each band below the highest: how many picks in a row came from higher bands while this one could
have started something, and since when. Both are stored, so a restart forgets neither. A turn is had
only by starting: what a band was owed comes back when the worker refuses the job that took the
turn.
"""

import msgspec
from msgspec import Struct, field

from fairlane.core.lifecycle import Priority
from fairlane.core.live_job import JobId


class Turn(Struct, array_like=True):
    """What a band was owed when this job took its turn."""

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
        self.turns: dict[Priority, Turn] = {}  # the last one of each band

    def choose(self, able: list[Priority], now: float, *, picks: int, seconds: float) -> Priority:
        """Choose among bands that could start something now, highest first in `able`."""
        starving = [
            priority
            for priority in able[1:]
            if self.passed.get(priority, 0) >= picks
            or (priority in self.since and now - self.since[priority] >= seconds)
        ]
        # The one that was passed by most often waits longest; of two equals the lower band does.
        return max(
            starving, key=lambda priority: (self.passed.get(priority, 0), priority), default=able[0]
        )

    def count_pick(self, job: JobId, priority: Priority, able: list[Priority], now: float) -> bool:
        """Count a pick; return whether anything changed that must be stored."""
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
        """Give a band back what it was owed, if this job had its turn; return whether it had."""
        turn = self.turns.get(priority)
        if turn is None or turn.job != job:
            return False
        del self.turns[priority]
        self.passed[priority] = self.passed.get(priority, 0) + turn.passed
        self.since[priority] = min(turn.since, self.since.get(priority, turn.since))
        return True

    def forget(self, priority: Priority) -> bool:
        """Owe nothing to a band where nobody waits any more; return whether anything changed."""
        self.since.pop(priority, None)
        return self.passed.pop(priority, None) is not None

    def shift_back(self, seconds: float) -> None:
        self.since = {priority: at - seconds for priority, at in self.since.items()}

    def clip(self, now: float) -> None:
        """Nobody has waited since a time that is still to come: the clock was set back."""
        self.since = {priority: min(at, now) for priority, at in self.since.items()}

    def encode(self) -> str:
        return msgspec.json.encode(StoredFairness(self.passed, self.since, self.turns)).decode()

    def restore(self, text: str) -> None:
        stored = msgspec.json.decode(text, type=StoredFairness)
        self.passed, self.since, self.turns = stored.passed, stored.since, stored.turns
