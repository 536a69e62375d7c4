"""Find the segments that are near in time, in a bounded number."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Final, Protocol

BUCKET_SECONDS: Final = 5.0
PAD_SECONDS: Final = 1.0  # recognisers place the ends of a sentence differently
LONGEST_SECONDS: Final = 120.0  # of a segment that is compared
MOST_IN_BUCKET: Final = 32
MOST: Final = 48


class Timed(Protocol):
    @property
    def start(self) -> float: ...
    @property
    def end(self) -> float: ...


class Nearby:
    """Segments in the order of time, found by the time that they cover."""

    def __init__(self, segments: Sequence[Timed]) -> None:
        self._segments = segments
        self._buckets: dict[int, list[int]] = defaultdict(list)
        for index, one in enumerate(segments):
            for number in _buckets(one.start, one.end):
                bucket = self._buckets[number]
                if len(bucket) < MOST_IN_BUCKET:
                    bucket.append(index)

    def of(self, start: float, end: float) -> list[int]:
        """Return the indexes of segments that overlap a time, the nearest begins first."""
        found = {
            index
            for number in _buckets(start - PAD_SECONDS, end + PAD_SECONDS)
            for index in self._buckets.get(number, ())
            if self._segments[index].start < end + PAD_SECONDS
            and self._segments[index].end > start - PAD_SECONDS
        }
        return sorted(found, key=lambda index: (abs(self._segments[index].start - start), index))[
            :MOST
        ]


def _buckets(start: float, end: float) -> range:
    """Return the numbers of the buckets of a time; a very long one has none."""
    if end - start > LONGEST_SECONDS + 2 * PAD_SECONDS:
        return range(0)
    return range(int(start // BUCKET_SECONDS), int(end // BUCKET_SECONDS) + 1)
