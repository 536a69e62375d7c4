"""Callers that wait for the end of a job."""

import asyncio
from collections.abc import Iterable

from fairlane.core.lifecycle import FINAL, State
from fairlane.core.live_job import JobId
from fairlane.errors import NotFound, NotStarted
from fairlane.store.protocol import Store
from fairlane.store.views import JobView


class JobWaiters:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiting: dict[JobId, list[asyncio.Future[JobView]]] = {}

    @property
    def has_waiters(self) -> bool:
        return bool(self._waiting)

    def awaited(self, ended: Iterable[JobId]) -> list[JobId]:
        """Return the jobs among these that have a waiting caller."""
        return [job for job in ended if job in self._waiting] if self._waiting else []

    async def wait_for_end(self, job: JobId) -> JobView:
        """Return the view of a job once the job has ended."""
        waiting: asyncio.Future[JobView] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(job, []).append(waiting)
        try:
            # The job may have ended before its future was added.
            view = (await self._store.jobs([job])).get(job)
            if view is None:
                raise NotFound(f"job {job} does not exist")
            return view if view.state in FINAL else await waiting
        finally:
            others = [other for other in self._waiting.get(job, []) if other is not waiting]
            if others:
                self._waiting[job] = others
            else:
                self._waiting.pop(job, None)

    def close(self) -> None:
        """Fail every waiting caller: the engine stops, and ends are no longer noticed."""
        for futures in self._waiting.values():
            for waiting in futures:
                if not waiting.done():
                    problem = "the engine stopped before the job had ended; wait again when it runs"
                    waiting.set_exception(NotStarted(problem))

    async def notify(self, ended: Iterable[JobId] | None) -> None:
        """Resolve the futures of these ended jobs; None checks all awaited jobs."""
        names = self._waiting if ended is None else self._waiting.keys() & set(ended)
        # Not the futures that are added during the read: their callers may have restarted the job.
        asked = {job: list(self._waiting[job]) for job in names}
        if not asked:
            return
        views = await self._store.jobs(list(asked))
        for job, view in views.items():
            if State(view.state) in FINAL:
                for waiting in asked[job]:
                    if not waiting.done():
                        waiting.set_result(view)
