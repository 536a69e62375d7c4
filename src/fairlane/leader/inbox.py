"""Where everything that happens in this process waits for the leader to look at it.

Many threads put, one loop takes. A put wakes the loop only if it sleeps, so a busy leader costs its
callers an append and nothing more, and finds all that came meanwhile as one batch.
"""

import asyncio
from collections import deque
from collections.abc import Iterable

from fairlane.core.inputs import Input, Submit
from fairlane.runtime.threads import resolve_future


class Inbox:
    def __init__(self) -> None:
        self._items: deque[Input] = deque()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._woken: asyncio.Future[None] | None = None
        self._promised: asyncio.Future[None] | None = None  # will be woken when a loop comes round

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def put(self, *inputs: Input) -> None:
        self._items.extend(inputs)
        self.wake()

    def put_coalesced(self, *inputs: Input) -> None:
        """Put, and wake the leader only when the loop that puts has gone round once.

        A hundred jobs that end together are one commit then; otherwise the first would be one
        alone, and the rest would wait for its disk.
        """
        self._items.extend(inputs)
        woken = self._woken
        if woken is not None and woken is not self._promised:
            try:
                loop = asyncio.get_running_loop()
            except RuntimeError:
                self.wake()  # a thread without a loop comes round to nothing
            else:
                self._promised = woken
                loop.call_soon(self.wake)

    def put_front(self, inputs: Iterable[Input]) -> None:
        self._items.extendleft(reversed(list(inputs)))

    def not_queued(self, inputs: Iterable[Input]) -> list[Input]:
        """Return those that do not lie here: what does has its place among what else was said."""
        here = {id(said) for said in list(self._items)}
        return [said for said in inputs if id(said) not in here]

    def wake(self) -> None:
        """Have the leader look round, also when nothing new lies here."""
        woken, self._woken = self._woken, None
        if woken is not None and self._loop is not None:
            try:
                self._loop.call_soon_threadsafe(resolve_future, woken)
            except RuntimeError:
                pass  # the leader's loop has closed; the next one will look

    def wake_same_loop(self) -> None:
        """Do the same on the leader's own loop, which need not be woken for it."""
        woken, self._woken = self._woken, None
        if woken is not None:
            resolve_future(woken)

    def pop_batch(self, most: int) -> list[Input]:
        """Take what came first, as much as is decided together; a job that is submitted counts."""
        items, taken, weight = self._items, [], 0
        while items and weight < most:
            said = items.popleft()
            weight += len(said.jobs) if type(said) is Submit else 1
            taken.append(said)
        return taken

    def pop_all(self) -> list[Input]:
        items = self._items
        return [items.popleft() for _ in range(len(items))]

    async def wait(self, seconds: float) -> None:
        """Return when something lies here, on a poke, or after so many seconds.

        A bare future and timer: the leader comes by here between any two decisions.
        """
        loop = asyncio.get_running_loop()
        woken = loop.create_future()
        self._woken = woken  # before looking: what is put from now on wakes us
        if self._items:
            self._woken = None
            return
        await self._until(woken, seconds)

    async def wait_for_wake(self, seconds: float) -> None:
        """Return on a poke or after so many seconds, whatever lies here for a leader."""
        self._woken = woken = asyncio.get_running_loop().create_future()
        await self._until(woken, seconds)

    async def _until(self, woken: "asyncio.Future[None]", seconds: float) -> None:
        timer = asyncio.get_running_loop().call_later(seconds, resolve_future, woken)
        try:
            await woken
        finally:
            timer.cancel()
            self._woken = None

    def __len__(self) -> int:
        return len(self._items)
