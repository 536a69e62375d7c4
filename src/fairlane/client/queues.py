"""`app.queues`: settings, pauses, the jobs in line, and the forecast."""

import asyncio
from typing import Any, Final, Unpack

from fairlane.client.commands import Commands
from fairlane.core.forecast import Forecast, forecast
from fairlane.core.inputs import ChangeSetting, Pause, Resume
from fairlane.core.queues import QueueChanges, QueueOptions, settings_from
from fairlane.core.scheduler import Scheduler
from fairlane.core.validation import bounded_limit, check_text
from fairlane.errors import BadSetting, UnknownName
from fairlane.ids import new_id
from fairlane.snapshot import QueueInfo, QueueView, queue_infos, queue_view, snapshot_from
from fairlane.store.views import FRONT, Page, Place

_FORECAST_JOBS: Final = 10_000


class Queues:
    """The queues of the database, while an engine runs."""

    def __init__(self, commands: Commands) -> None:
        self._commands = commands

    async def list(self) -> dict[str, QueueView]:
        """Return every queue with its settings, by name."""
        stored = await self._commands.records("queue")
        return {name: queue_view(name, stored[name]) for name in sorted(stored)}

    async def counts(self) -> dict[str, dict[str, int]]:
        """Return how many live jobs each queue has, by state."""
        return await self._commands.on_loop(self._commands.store.counts())

    async def info(self, *, limit: int = 200) -> dict[str, QueueInfo]:
        """Return every queue with its running jobs and the first `limit` waiting jobs in order.

        All of it is read at one moment: a job is in one list only.
        """
        store, limit = self._commands.store, bounded_limit(limit, least=0, most=10_000)
        picture = await self._commands.on_loop(store.read_snapshot(waiting=limit, ended=0, lanes=0))
        return queue_infos(snapshot_from(picture, self._commands.clock.now()))

    async def line(self, queue: str, *, limit: int = 50, cursor: str | None = None) -> Page:
        """List the jobs that stand in a queue's order, the next one first.

        A job that waits for its dependencies stands in no order yet.
        """
        await self._commands.check_queue(queue)
        after = FRONT if cursor is None else Place.read(cursor)
        if after is None:
            raise BadSetting(f'"{cursor}" is not a cursor; pass `next` of the page before')
        limit = bounded_limit(limit)
        store = self._commands.store
        rows = await self._commands.on_loop(store.jobs_behind(queue, after=after, limit=limit + 1))
        page = rows[:limit]
        return Page(page, str(Place.of(page[-1])) if len(rows) > limit else None)

    async def pause(self, queue: str) -> dict[str, Any]:
        """Start no further job of a queue; running jobs go on."""
        return await self._commands.call(Pause(new_id(), queue))

    async def stop_after_current(self, queue: str) -> dict[str, Any]:
        """Pause a queue, and let `app.drain` return when its last running job has ended.

        Until then the queue is `after_current`, then `paused`.
        """
        return await self._commands.call(Pause(new_id(), queue, after_current=True))

    async def resume(self, queue: str) -> dict[str, Any]:
        """End the pause of a queue."""
        return await self._commands.call(Resume(new_id(), queue))

    async def set(self, queue: str, **settings: Unpack[QueueChanges]) -> dict[str, Any]:
        """Change settings of a queue; None clears one, so that the declared value counts again."""
        values: dict[str, Any] = {**settings}
        return await self._commands.call(
            ChangeSetting(new_id(), "queue", queue, "operator", values)
        )

    async def forecast(self, queue: str | None = None, **what_if: Unpack[QueueOptions]) -> Forecast:
        """Return when each waiting job will start; `what_if` are other settings of the queue."""
        if what_if and queue is None:
            raise BadSetting(f"name the queue that would have {', '.join(what_if)}")
        if queue is not None:
            check_text("queue", queue)
        store = self._commands.store
        image, durations = await asyncio.gather(
            self._commands.on_loop(store.read_image(queue=queue, limit=_FORECAST_JOBS)),
            self._commands.on_loop(store.durations()),
        )
        now = self._commands.clock.now()
        if queue is not None:
            known = [name for kind, name in image.records if kind == "queue"]
            if queue not in known:
                raise UnknownName("queue", queue, known)
            settings_from(queue, what_if)

        def run() -> Forecast:
            scheduler = Scheduler()
            scheduler.load(
                jobs=image.jobs, dependencies=image.dependencies, records=image.records,
                rate_starts=image.rate_starts, grants=image.grants, seq=image.seq, now=now,
            )  # fmt: skip
            return forecast(scheduler, now=now, durations=durations, queue=queue, what_if=what_if)

        return await asyncio.to_thread(run)
