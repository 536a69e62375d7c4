"""Looking on: the present as a whole, and everything that happens after it."""

import contextlib
from collections.abc import AsyncGenerator
from typing import TypeVar

from fairlane.client.commands import Calling
from fairlane.core.live_job import JobId
from fairlane.snapshot import Snapshot, WorkerView, snapshot_from, worker_view
from fairlane.store.views import EventView

R = TypeVar("R")


class Looking(Calling):
    async def leader(self) -> str | None:
        """Say which process leads now, for people; None if none does."""
        return await self._on_loop(self._store.leader())  # type: ignore[no-any-return]

    async def snapshot(self, *, waiting: int = 200, ended: int = 50, lanes: int = 200) -> Snapshot:
        """Return the present, true at its `seq`; follow with `events(after=snapshot.seq)`.

        Of each queue it shows the first jobs that wait, of all the last that ended, and so many
        lanes: those in which something happens first.
        """
        look = self._store.picture(waiting=waiting, ended=ended, lanes=lanes)
        picture = await self._on_loop(look)
        return snapshot_from(picture, self.clock.now())

    async def workers(self) -> list[WorkerView]:
        """List the places where jobs run now."""
        stored = await self._on_loop(self._store.records("worker"))
        return sorted(map(worker_view, stored.values()), key=lambda worker: worker.name)

    async def events(
        self, *, after: int | None = None, job: str | None = None, queue: str | None = None
    ) -> AsyncGenerator[EventView, None]:
        """Give events as they are committed; a `resync` at the end means: take a snapshot again."""
        wanted = None if job is None else JobId(job)
        following = self._followed(self._engine.feed.follow(after, job=wanted, queue=queue))
        async with contextlib.aclosing(following) as events:
            async for event in events:
                yield event

    async def event_batches(
        self, *, after: int, limit: int = 500
    ) -> AsyncGenerator[list[EventView], None]:
        """Give all events above `after`, as many at a time as there are, for who passes them on."""
        following = self._followed(self._engine.feed.batches(after, limit=limit))
        async with contextlib.aclosing(following) as batches:
            async for batch in batches:
                yield batch

    async def _followed(self, following: AsyncGenerator[R, None]) -> AsyncGenerator[R, None]:
        """Go through what lives on the engine's loop."""

        async def next_one() -> R | None:
            return await anext(following, None)

        async def close() -> None:
            await following.aclose()

        try:
            while (one := await self._on_loop(next_one())) is not None:
                yield one
        finally:
            await self._on_loop(close())

    async def stored_events(self, *, after: int, limit: int = 500) -> list[EventView] | None:
        """Return stored events above `after` in order; None if that is too old or never was."""
        return await self._on_loop(self._store.events(after, limit))  # type: ignore[no-any-return]

    async def newest_event(self) -> int:
        """Return the `seq` of the newest event."""
        return await self._on_loop(self._store.seq())  # type: ignore[no-any-return]
