"""The number of begun jobs in this and a second process, and their rate."""

import time
from collections.abc import Iterator

from benchmarks.second_process import SecondProcess

LOOK_SECONDS = 0.005


class StartCounter:
    def __init__(self) -> None:
        self.began: list[float] = []
        self.second: SecondProcess | None = None
        self._counted_from = (0.0, 0)

    def note(self) -> None:
        self.began.append(time.perf_counter())

    @property
    def here(self) -> int:
        return len(self.began)

    @property
    def count(self) -> int:
        return self.here + (self.second.count if self.second is not None else 0)

    def waits(self, jobs: int) -> Iterator[float]:
        """Yield pauses until `jobs` jobs have begun.

        The clock starts when every process has begun: the start-up time of a contestant (to be
        noticed, to connect) is not counted, and neither are the jobs of that time.
        """
        while not self.here or (self.second is not None and not self.second.count):
            yield LOOK_SECONDS / 5
        self._counted_from = (time.perf_counter(), self.count)
        while self.count < jobs:
            yield LOOK_SECONDS

    def per_second(self, jobs: int) -> float:
        """Return the rate of `jobs` jobs, of which the last end is durable now."""
        from_at, from_count = self._counted_from
        return (jobs - from_count) / (time.perf_counter() - from_at)
