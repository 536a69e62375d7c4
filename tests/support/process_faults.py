"""A store whose commits fail on demand, before or after they are executed."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal

from fairlane.core.decisions import Changes
from fairlane.core.live_job import JobId
from fairlane.errors import StoreUnavailable
from fairlane.store.protocol import Store, Writing
from fairlane.store.views import JobView

When = Literal["before", "after"]  # an error after the commit: the leader cannot know it is stored


class Fault:
    def __init__(self, error: Callable[[], Exception], when: When) -> None:
        self.error = error
        self.when = when


def unavailable() -> Exception:
    return StoreUnavailable("the test lets this commit fail")


def broken() -> Exception:
    return RuntimeError("the test lets this commit fail")


class FaultyStore:
    """A store that forwards all calls; `judge` sees each commit first and may make it fail."""

    def __init__(self, real: Store) -> None:
        self._real = real
        self.judge: Callable[[Changes], Fault | None] = lambda changes: None
        self.spoiled = 0
        self.can_lead = True
        self.elections = 0
        self.spoiled_reads = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    async def lead(self) -> int | None:
        self.elections += 1
        if not self.can_lead:
            raise StoreUnavailable("the test lets nobody lead")
        return await self._real.lead()

    async def jobs(self, ids: Sequence[JobId]) -> dict[JobId, JobView]:
        if self.spoiled_reads > 0:
            self.spoiled_reads -= 1
            raise StoreUnavailable("the test lets this read fail")
        return await self._real.jobs(ids)

    def commit(self, changes: Changes, at: float) -> Writing:
        return Writing(partial(self._write, self._real.commit(changes, at), self.judge(changes)))

    async def _write(self, writing: Writing, fault: Fault | None) -> None:
        if fault is None:
            await writing
            return
        self.spoiled += 1  # first, because a reader of the commit may check this at once
        if fault.when == "after":
            await writing
        raise fault.error()

    def spoil_once(self, which: Callable[[Changes], object], fault: Fault) -> None:
        """Make the first commit fail for which `which` returns a true value."""

        def judge(changes: Changes) -> Fault | None:
            if not which(changes):
                return None
            self.judge = lambda changes: None
            return fault

        self.judge = judge
