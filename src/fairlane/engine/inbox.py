"""Where everything that happens in this process waits for the leader to look at it.

Many threads put, one loop takes. A put wakes the loop only if it sleeps, so a busy leader costs its
callers an append and nothing more, and finds all that came meanwhile as one batch.
"""

import asyncio
from collections import deque
from collections.abc import Iterable

from fairlane.core.inputs import Input


class Inbox:
    def __init__(self) -> None:
        self._items: deque[Input] = deque()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._wake = asyncio.Event()
        self._asleep = False

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def put(self, *inputs: Input) -> None:
        self._items.extend(inputs)
        self.poke()

    def put_first(self, inputs: Iterable[Input]) -> None:
        self._items.extendleft(reversed(list(inputs)))

    def poke(self) -> None:
        """Have the leader look round, also when nothing new lies here."""
        if self._asleep and self._loop is not None:
            self._asleep = False
            try:
                self._loop.call_soon_threadsafe(self._wake.set)
            except RuntimeError:
                pass  # the leader's loop has closed; the next one will look

    def take(self, most: int) -> list[Input]:
        items = self._items
        return [items.popleft() for _ in range(min(most, len(items)))]

    async def wait(self, seconds: float | None) -> None:
        """Return when something lies here, on a poke, or after so many seconds."""
        self._wake.clear()
        self._asleep = True
        if self._items:
            self._asleep = False
            return
        try:
            async with asyncio.timeout(seconds):
                await self._wake.wait()
        except TimeoutError:
            pass
        finally:
            self._asleep = False

    def __len__(self) -> int:
        return len(self._items)
