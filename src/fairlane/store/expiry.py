"""Old rows that a commit deletes, a few at a time, so that no large deletion is ever needed."""

from typing import Final

from msgspec import Struct

EVERY_EVENTS: Final = 5_000
EVERY_SECONDS: Final = 60.0
CHUNK_EVENTS: Final = 20_000


class Expiry(Struct, frozen=True):
    """The bounds of a deletion: events below a number, answers and rate starts before a time."""

    events: int | None = None
    answers: float | None = None
    rate_starts: float | None = None


class ExpirySchedule:
    """Decides for each commit which rows have become old. Most commits delete no old rows."""

    def __init__(self, *, keep_events: int, keep_seconds: float) -> None:
        self._keep_events = keep_events
        self._keep_seconds = keep_seconds
        self._oldest: int | None = None
        self._swept_at = float("-inf")

    def restart(self, oldest_event: int | None) -> None:
        """Start with the oldest event in the database."""
        self._oldest = oldest_event
        self._swept_at = float("-inf")

    def due(self, *, newest_event: int | None, at: float) -> Expiry:
        events = self._events(newest_event)
        if at - self._swept_at < EVERY_SECONDS:
            return Expiry(events=events)
        self._swept_at = at
        before = at - self._keep_seconds
        return Expiry(events=events, answers=before, rate_starts=before)

    def _events(self, newest: int | None) -> int | None:
        if newest is None:
            return None
        if self._oldest is None:
            self._oldest = newest
        bound = min(newest - self._keep_events + 1, self._oldest + CHUNK_EVENTS)
        if bound - self._oldest < min(EVERY_EVENTS, self._keep_events):
            return None
        self._oldest = bound
        return bound
