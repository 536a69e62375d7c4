"""The newest encoded events: bounded, without a gap, shared by all followers."""

from bisect import bisect_right
from collections.abc import Iterator
from operator import attrgetter
from typing import Final

from fairlane.api.event_stream.batch import EventBatch

MOST_EVENTS: Final = 10_000
MOST_BYTES: Final = 8 * 1024 * 1024

_last: Final = attrgetter("last")


class EventWindow:
    """Batches of events from `first` to `last`. A follower below `first` has fallen behind."""

    def __init__(self, last: int) -> None:
        self.last = last
        self._batches: list[EventBatch] = []
        self._dropped = 0  # batches at the front that are deleted from the list later
        self._bytes = 0

    @property
    def first(self) -> int:
        left = len(self._batches) > self._dropped
        return self._batches[self._dropped].first if left else self.last + 1

    def append(self, batch: EventBatch) -> None:
        self._batches.append(batch)
        self._bytes += batch.bytes
        self.last = batch.last
        while self._is_over_limit():
            self._bytes -= self._batches[self._dropped].bytes
            self._dropped += 1
        if self._dropped > len(self._batches) // 2:
            del self._batches[: self._dropped]
            self._dropped = 0

    def _is_over_limit(self) -> bool:
        is_newest = self._dropped == len(self._batches) - 1
        events = self.last - self._batches[self._dropped].last  # that would be left without it
        return not is_newest and (events >= MOST_EVENTS or self._bytes > MOST_BYTES)

    def prepend(self, batches: list[EventBatch]) -> None:
        """Add older events in front, unless that leaves a gap or exceeds `MOST_BYTES`."""
        size = sum(batch.bytes for batch in batches)
        if batches and batches[-1].last == self.first - 1 and self._bytes + size <= MOST_BYTES:
            self._batches[: self._dropped] = batches
            self._dropped = 0
            self._bytes += size

    def batches_after(self, cursor: int) -> Iterator[EventBatch]:
        """Yield the batches that contain events above the cursor, the oldest first."""
        index = bisect_right(self._batches, cursor, lo=self._dropped, key=_last)
        while index < len(self._batches):
            yield self._batches[index]
            index += 1
