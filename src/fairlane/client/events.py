"""`app.events`: the stored events, and those that are committed from now on."""

import asyncio
import builtins
import contextlib
from collections.abc import AsyncGenerator
from typing import TypeVar

from fairlane.client.commands import Commands
from fairlane.core.live_job import JobId
from fairlane.core.validation import bounded_limit, is_count
from fairlane.errors import BadSetting
from fairlane.store.views import EventView

T = TypeVar("T")


class Events:
    """The events of the database, in the order of their commits."""

    def __init__(self, commands: Commands) -> None:
        self._commands = commands

    async def follow(
        self, *, after: int | None = None, job: str | None = None, queue: str | None = None
    ) -> AsyncGenerator[EventView, None]:
        """Yield events as they are committed, from `after` on or from now.

        A last event of type `resync` means that events were missed: read `app.snapshot()` again.
        """
        if after is not None:
            _check_after(after)
        job_id = None if job is None else JobId(job)
        feed = self._commands.engine.feed
        async with contextlib.aclosing(
            self._on_loop(feed.follow(after, job=job_id, queue=queue))
        ) as events:
            async for event in events:
                yield event

    async def batches(
        self, *, after: int, limit: int = 500
    ) -> AsyncGenerator[builtins.list[EventView], None]:
        """Yield all events above `after`, each time as many as there are, up to `limit`."""
        _check_after(after)
        limit = bounded_limit(limit)
        feed = self._commands.engine.feed
        async with contextlib.aclosing(self._on_loop(feed.batches(after, limit=limit))) as batches:
            async for batch in batches:
                yield batch

    async def _on_loop(self, generator: AsyncGenerator[T, None]) -> AsyncGenerator[T, None]:
        """Yield the items of a generator that lives on the engine's loop.

        A caller on another loop that is cancelled does not wait for the step that it cancels there,
        and a generator cannot be closed during a step: the close waits for it.
        """
        step = asyncio.Lock()

        async def next_item() -> T | None:
            async with step:
                return await anext(generator, None)

        async def close() -> None:
            async with step:
                await generator.aclose()

        try:
            while (item := await self._commands.on_loop(next_item())) is not None:
                yield item
        finally:
            await self._commands.on_loop(close())

    async def stored(self, *, after: int, limit: int = 500) -> builtins.list[EventView] | None:
        """Return stored events above `after` in order; None if `after` is too old or too new."""
        _check_after(after)
        limit = bounded_limit(limit)
        return await self._commands.on_loop(self._commands.store.events(after, limit))

    async def newest(self) -> int:
        """Return the `seq` of the newest event."""
        return await self._commands.on_loop(self._commands.store.last_seq())


def _check_after(after: int) -> None:
    if not is_count(after):
        raise BadSetting(f"after is {after!r:.80}; it must be the seq of an event, or 0")
