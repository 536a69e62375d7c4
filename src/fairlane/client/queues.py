"""Queues and limits: what they are set to, what they would be, and when nothing is left to do."""

import asyncio
from typing import Any, Final, Unpack

import msgspec

from fairlane.client.commands import Calling
from fairlane.core.forecast import Forecast, forecast
from fairlane.core.inputs import ChangeSetting, Pause, QueryState, Resume
from fairlane.core.queues import QueueChanges, QueueOptions, settings_from
from fairlane.core.scheduler import Scheduler
from fairlane.core.validation import check_text
from fairlane.errors import BadSetting, UnknownName
from fairlane.ids import new_id
from fairlane.snapshot import LimitView, QueueView, limit_view, queue_view

_FORECAST_JOBS: Final = 10_000


class Queues(Calling):
    async def queues(self) -> dict[str, QueueView]:
        """Return every queue with its settings, by name."""
        stored = await self._on_loop(self._store.records("queue"))
        return {name: queue_view(name, stored[name]) for name in sorted(stored)}

    async def counts(self) -> dict[str, dict[str, int]]:
        """Return how many live jobs each queue has, by state."""
        return await self._on_loop(self._store.counts())  # type: ignore[no-any-return]

    async def limits(self) -> list[LimitView]:
        """List the rates and resources there are, by name."""
        views = [
            limit_view(kind, key, body)
            for kind in ("rate", "resource")
            for key, body in (await self._on_loop(self._store.records(kind))).items()
        ]
        return sorted(views, key=lambda view: (view.key, view.kind))

    async def pause(self, queue: str) -> dict[str, Any]:
        """Start nothing new; what runs goes on."""
        return await self.call(Pause(new_id(), queue))  # type: ignore[no-any-return]

    async def stop_after_current(self, queue: str) -> dict[str, Any]:
        """Pause, and let `drain` return when the last running job has ended."""
        return await self.call(Pause(new_id(), queue, after_current=True))  # type: ignore[no-any-return]

    async def resume(self, queue: str) -> dict[str, Any]:
        return await self.call(Resume(new_id(), queue))  # type: ignore[no-any-return]

    async def set_queue(self, queue: str, **settings: Unpack[QueueChanges]) -> dict[str, Any]:
        """Change settings while running; None clears a choice, so that the code's counts again."""
        return await self._set("queue", queue, {**settings})

    async def set_limit(
        self, key: str, *, starts: int | None = None, per_seconds: float | None = None
    ) -> dict[str, Any]:
        return await self._set("rate", key, {"starts": starts, "per_seconds": per_seconds})

    async def set_resource(self, name: str, amount: int | None) -> dict[str, Any]:
        return await self._set("resource", name, {"amount": amount})

    async def _set(self, kind: Any, name: str, values: dict[str, Any]) -> dict[str, Any]:
        return await self.call(ChangeSetting(new_id(), kind, name, "operator", values))  # type: ignore[no-any-return]

    async def is_queued(self, dedupe: str) -> bool:
        """Tell whether a job with this dedupe key waits."""
        return bool(await self.call(QueryState(new_id(), queued=dedupe)))

    async def is_running(self, queue: str, lane: str) -> bool:
        """Tell whether a job of this lane runs."""
        return bool(await self.call(QueryState(new_id(), lane=(queue, lane))))

    async def drain(self, queue: str | None = None) -> None:
        """Return when nothing runs and nothing will: all done, or paused and the last one ended."""
        if queue is not None:
            await self._check_queue(queue)
        loop = asyncio.get_running_loop()
        began = loop.time()
        while not await self._is_drained(queue):  # other processes end jobs too
            # To count a long queue takes its time; it must not take all of it.
            await asyncio.sleep(max(0.05, 5 * (loop.time() - began)))
            began = loop.time()

    async def _is_drained(self, queue: str | None) -> bool:
        records = await self._on_loop(self._store.records("queue"))
        for name, counts in (await self._on_loop(self._store.counts())).items():
            if queue in (None, name):
                paused = msgspec.json.decode(records[name])["paused"] if name in records else None
                busy = {"running", "interrupted"} if paused else set(counts) - {"scheduled"}
                if any(counts.get(state) for state in busy):
                    return False
        return True

    async def forecast(self, queue: str | None = None, **what_if: Unpack[QueueOptions]) -> Forecast:
        """Say when each waiting job will start; with a queue's settings, what they would change."""
        if what_if and queue is None:
            raise BadSetting(f"say which queue would have {', '.join(what_if)}: forecast(queue, …)")
        if queue is not None:
            check_text("queue", queue)
        image, durations = await asyncio.gather(
            self._on_loop(self._store.image(queue=queue, limit=_FORECAST_JOBS)),
            self._on_loop(self._store.durations()),
        )
        now = self.clock.now()
        if queue is not None:
            known = [name for kind, name in image.records if kind == "queue"]
            if queue not in known:
                raise UnknownName("queue", queue, known)
            settings_from(queue, what_if)

        def run() -> Forecast:
            scheduler = Scheduler()
            scheduler.load(
                jobs=image.jobs, dependencies=image.dependencies, records=image.records,
                rate_starts=image.takes, grants=image.grants, seq=image.seq, now=now,
            )  # fmt: skip
            return forecast(scheduler, now=now, durations=durations, queue=queue, what_if=what_if)

        return await asyncio.to_thread(run)
