"""Retention of the history: the leader deletes old jobs, a few at a time."""

from collections.abc import Callable
from datetime import timedelta
from typing import Final

from fairlane.core.validation import is_count, shown
from fairlane.errors import BadSetting
from fairlane.runtime.clock import Clock
from fairlane.runtime.service import Service
from fairlane.store.protocol import Store
from fairlane.store.prune import BEGINNING, Pruning

EVERY_SECONDS: Final = 60.0
PAUSE_SECONDS: Final = 0.1  # between two deletions, so that other processes can write

HistoryLimit = timedelta | int | None


def check_history_limit(kept: HistoryLimit) -> None:
    is_time = isinstance(kept, timedelta) and kept >= timedelta(0)
    if kept is not None and not is_count(kept) and not is_time:
        raise BadSetting(
            f"keep_history is {shown(kept)}; it must be a timedelta such as timedelta(days=30), a "
            "number of jobs such as 100_000, or None to keep everything"
        )


class HistoryRetention:
    def __init__(
        self, store: Store, clock: Clock, kept: HistoryLimit, *, is_leading: Callable[[], bool]
    ) -> None:
        self._store = store
        self._clock = clock
        self._kept = kept
        self._is_leading = is_leading
        self._since = BEGINNING
        self.service = Service("history", self.run_once)

    async def run_once(self) -> float | None:
        """Delete one portion of old jobs; return the seconds until the next."""
        if self._kept is None or not self._is_leading():
            return None  # an election wakes this service
        piece = await self._store.prune(self._wanted(), self._since)
        self._since = BEGINNING if piece.is_done else piece
        return EVERY_SECONDS if piece.is_done else PAUSE_SECONDS

    def _wanted(self) -> Pruning:
        if isinstance(self._kept, timedelta):
            return Pruning(before=self._clock.now() - self._kept.total_seconds())
        return Pruning(keep=self._kept)
