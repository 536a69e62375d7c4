"""The values of a setting over time, as known to the users that changed it.

A user knows when a change was sent and when it was acknowledged. In between it may or may not be in
force, and without an acknowledgement that stays open forever. So at each moment there is a set of
possible values, and a rule is violated only if it is violated under all of them.
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
        """Return every value that may have been in force between `since` and `at`."""
        since = at if since is None else since
        changes = [c for c in self._changes if c.sent_at <= at and not c.refused]
        return {c.value for c in changes if not self._is_over(c, changes, since)}  # type: ignore[misc]

    @staticmethod
    def _is_over(change: Change, changes: list[Change], since: float) -> bool:
        """Return whether a later change, sent after this one was acknowledged, replaced it."""
        return change.acknowledged_at is not None and any(
            later.acknowledged_at is not None
            and later.sent_at > change.acknowledged_at
            and later.acknowledged_at < since
            for later in changes
        )
