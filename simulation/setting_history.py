"""A setting over time, as those who changed it know it.

Who changes a setting knows when it was sent and when the answer came. Between the two it may or may
not be in force, and an answer that never came leaves that open for good. So at any moment there is
a set of values that are possible, and a promise is broken only if it is broken under all of them.
"""

from typing import Generic, TypeVar

from msgspec import Struct

V = TypeVar("V")


class Change(Struct, eq=False):
    value: object
    sent_at: float
    acknowledged_at: float | None = None
    refused: bool = False


class SettingHistory(Generic[V]):
    def __init__(self, value: V) -> None:
        self._changes = [Change(value, float("-inf"), float("-inf"))]

    def record_sent(self, value: V, at: float) -> Change:
        change = Change(value, at)
        self._changes.append(change)
        return change

    def possible_values(self, at: float, *, since: float | None = None) -> set[V]:
        """Return every value that may have been in force at some moment between the two."""
        since = at if since is None else since
        changes = [c for c in self._changes if c.sent_at <= at and not c.refused]
        return {c.value for c in changes if not self._is_over(c, changes, since)}  # type: ignore[misc]

    @staticmethod
    def _is_over(change: Change, changes: list[Change], since: float) -> bool:
        """Tell whether another was put in its place for sure: sent after it was heard of."""
        return change.acknowledged_at is not None and any(
            later.acknowledged_at is not None
            and later.sent_at > change.acknowledged_at
            and later.acknowledged_at < since
            for later in changes
        )
