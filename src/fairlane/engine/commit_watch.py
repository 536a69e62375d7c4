"""Commits, as the callers of this process notice them: jobs that ended, events to be read.

The process that leads is notified of its own commits. Where another process leads, the version of
the store is polled, but only while a caller waits for a job or follows the events.
"""

from collections.abc import Callable

from fairlane.core.decisions import Decisions, Stop
from fairlane.core.live_job import JobId
from fairlane.engine.event_feed import EventFeed
from fairlane.engine.job_waiters import JobWaiters
from fairlane.runtime.service import Service
from fairlane.store.protocol import Store


class CommitWatch:
    def __init__(
        self,
        store: Store,
        waits: JobWaiters,
        feed: EventFeed,
        *,
        poll_seconds: Callable[[], float],
        is_leading: Callable[[], bool],
    ) -> None:
        self._store = store
        self._waits = waits
        self._feed = feed
        self._poll_seconds = poll_seconds
        self._is_leading = is_leading
        self._version = -1
        self._ended: set[JobId] = set()
        self._any_may_have_ended = False
        self.service = Service("waits", self.run_once)

    def receive_commit(self, decisions: Decisions) -> None:
        awaited = self._waits.awaited(decisions.changes.ended)
        if awaited:
            self._ended.update(awaited)
            self.service.wake()

    def receive_reload(self, _: list[Stop]) -> None:
        self._any_may_have_ended = True
        self.service.wake()

    async def run_once(self) -> float | None:
        ended, self._ended = self._ended, set()
        any_ended, self._any_may_have_ended = self._any_may_have_ended, False
        if self._is_leading():
            try:
                await self._waits.notify(None if any_ended else ended)
            except BaseException:
                self._any_may_have_ended = True  # the next run must check all jobs
                raise
            return None
        if self._waits.has_waiters or self._feed.has_followers:
            version = await self._store.version()
            if version != self._version:
                self._version = version
                await self._waits.notify(None)
                await self._feed.wake_followers()
        return self._poll_seconds()
