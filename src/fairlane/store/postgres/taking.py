"""Where the leader begins to read the inbox.

The oldest rows come first, and right before them in the index lie those that were consumed. While
another session keeps a transaction open, PostgreSQL cannot clean those away, and each look would
step over all of them again. So most looks begin above what was consumed a moment ago. A row
gets its number before it is committed, and that of a slow transaction appears below others: now and
then a look begins at the very beginning, as often as that takes a small share of the time at most.
"""

from collections import deque
from typing import Final

LAG_SECONDS: Final = 0.1
SHARE: Final = 0.05


class InboxCursor:
    def __init__(self) -> None:
        self._consumed: deque[tuple[float, int]] = deque()
        self._floor = 0
        self._whole_at = 0.0

    def of_look(self, now: float) -> int:
        """Return the number above which to look; 0 for all of it."""
        while self._consumed and now - self._consumed[0][0] > LAG_SECONDS:
            self._floor = max(self._floor, self._consumed.popleft()[1])
        return 0 if now >= self._whole_at else self._floor

    def looked(self, *, began: float, ended: float) -> None:
        """Remember how long a look from the beginning took."""
        self._whole_at = ended + (ended - began) / SHARE

    def consumed(self, newest: int, now: float) -> None:
        self._consumed.append((now, newest))
