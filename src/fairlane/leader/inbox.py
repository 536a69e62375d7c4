"""The inbox in memory: inputs of this process for the leader.

Many threads put, one loop pops. A put wakes the loop only if it waits. So a put to a busy leader
costs one append, and the leader finds all inputs since its last commit as one batch.
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
        self._promised: asyncio.Future[None] | None = None  # a wake of this future is scheduled

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def put(self, *inputs: Input) -> None:
        self._items.extend(inputs)
        self.wake()

    def put_coalesced(self, *inputs: Input) -> None:
        """Put, and wake the leader in the next iteration of the loop that puts.

        A hundred jobs that end together become one commit; otherwise the first would be a commit
        alone, and the rest would wait for its disk.
        """
        self._items.extend(inputs)
        woken = self._woken
        if woken is not None and woken is not self._promised:
            try:
                loop = asyncio.get_running_loop()
            except RuntimeError:
                self.wake()  # a thread without a loop has no next iteration
            else:
                self._promised = woken
                loop.call_soon(self.wake)

    def put_front(self, inputs: Iterable[Input]) -> None:
        self._items.extendleft(reversed(list(inputs)))

    def not_queued(self, inputs: Iterable[Input]) -> list[Input]:
        """Return the inputs that are not in the inbox; those in it keep their order."""
        here = {id(input) for input in list(self._items)}
        return [input for input in inputs if id(input) not in here]

    def wake(self) -> None:
        """Wake the leader, also if the inbox is empty; from any thread."""
        woken, self._woken = self._woken, None
        if woken is not None and self._loop is not None:
            try:
                self._loop.call_soon_threadsafe(resolve_future, woken)
            except RuntimeError:
                pass  # the leader's loop has closed; the next leader reads the inbox

    def wake_same_loop(self) -> None:
        """Wake the leader from its own loop, which needs no thread-safe call."""
        woken, self._woken = self._woken, None
        if woken is not None:
            resolve_future(woken)

    def pop_batch(self, most: int) -> list[Input]:
        """Remove and return the oldest inputs of one batch; each submitted job counts as one."""
        items, taken, weight = self._items, [], 0
        while items and weight < most:
            input = items.popleft()
            weight += len(input.jobs) if type(input) is Submit else 1
            taken.append(input)
        return taken

    def pop_all(self) -> list[Input]:
        items = self._items
        return [items.popleft() for _ in range(len(items))]

    async def wait(self, seconds: float) -> None:
        """Return when the inbox has an input, on a wake, or after so many seconds.

        It uses a bare future and timer, because the leader waits here between all batches.
        """
        loop = asyncio.get_running_loop()
        woken = loop.create_future()
        self._woken = woken  # before the check below: a put from now on wakes the leader
        if self._items:
            self._woken = None
            return
        await self._until(woken, seconds)

    async def wait_for_wake(self, seconds: float) -> None:
        """Return on a wake or after so many seconds, even if the inbox has inputs."""
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
