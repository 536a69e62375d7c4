"""The newest events as they are told: bounded, without a gap, and in one place for everybody."""

from bisect import bisect_right
from collections.abc import Iterator
from operator import attrgetter
from typing import Final

from fairlane.api.event_batch import EventBatch

MOST_EVENTS: Final = 10_000
MOST_BYTES: Final = 8 * 1024 * 1024

_last: Final = attrgetter("last")


class Window:
    """Batches up to the number `last`. Whoever needs what is below `first` has fallen behind."""

    def __init__(self, last: int) -> None:
        self.last = last
        self._batches: list[EventBatch] = []
        self._dropped = 0  # at the front, of which the list is freed now and then
        self._bytes = 0

    @property
    def first(self) -> int:
        left = len(self._batches) > self._dropped
        return self._batches[self._dropped].first if left else self.last + 1

    def append(self, batch: EventBatch) -> None:
        self._batches.append(batch)
        self._bytes += batch.bytes
        self.last = batch.last
        while self._has_too_much():
            self._bytes -= self._batches[self._dropped].bytes
            self._dropped += 1
        if self._dropped > len(self._batches) // 2:
            del self._batches[: self._dropped]
            self._dropped = 0

    def _has_too_much(self) -> bool:
        is_newest = self._dropped == len(self._batches) - 1
        events = self.last - self._batches[self._dropped].last  # that would be left without it
        return not is_newest and (events >= MOST_EVENTS or self._bytes > MOST_BYTES)

    def prepend(self, batches: list[EventBatch]) -> None:
        """Put older events in front, unless that would leave a gap or is more than we keep."""
        size = sum(batch.bytes for batch in batches)
        if batches and batches[-1].last == self.first - 1 and self._bytes + size <= MOST_BYTES:
            self._batches[: self._dropped] = batches
            self._dropped = 0
            self._bytes += size

    def after(self, cursor: int) -> Iterator[EventBatch]:
        """Give the batches with anything above the cursor, the oldest first."""
        index = bisect_right(self._batches, cursor, lo=self._dropped, key=_last)
        while index < len(self._batches):
            yield self._batches[index]
            index += 1
