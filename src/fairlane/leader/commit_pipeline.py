"""The commit that is on its way to the disk while the next one is decided.

To decide takes this process, to write takes the database: one after the other, each would stand
idle while the other works. So there is one commit on its way at most, and one batch may be decided
on top of it. If the commit fails, what was decided on top of it is void as well.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from msgspec import Struct

from fairlane.core.inputs import Input
from fairlane.store.protocol import InboxRow

Carry = Callable[[], Awaitable[None]]


class Batch(Struct, eq=False, frozen=True):
    """What happened, here and elsewhere, that is decided together."""

    happened: Sequence[Input]
    rows: Sequence[InboxRow] = ()


class CommitPipeline:
    def __init__(self, landed: Callable[[], None]) -> None:
        self._landed = landed  # called when a commit has ended, well or not
        self._carrying: asyncio.Task[None] | None = None
        self._unsettled: list[Batch] = []

    def __bool__(self) -> bool:
        """Tell whether a commit is on its way."""
        return self._carrying is not None

    @property
    def has_ended(self) -> bool:
        return self._carrying is not None and self._carrying.done()

    @property
    def is_overtaken(self) -> bool:
        """Tell whether more has been decided than is on its way."""
        return len(self._unsettled) > 1

    async def begin(self, batch: Batch, decide: Callable[[Batch], Awaitable[Carry]]) -> None:
        """Decide a batch, wait for the commit before it, and send off its own."""
        self._unsettled.append(batch)
        try:
            carry = await decide(batch)
        except Exception:  # but who is told to end does not wait
            await self.land()
            raise
        await self.land()
        self._carrying = asyncio.ensure_future(carry())
        self._carrying.add_done_callback(lambda _: self._landed())
        await asyncio.sleep(0)  # what needs no waiting is over now

    async def land(self) -> None:
        """Return when nothing is on its way; raise what kept the last commit from succeeding."""
        carrying = self._carrying
        if carrying is not None:
            try:
                await carrying
            finally:
                self._carrying = None
            self._unsettled.pop(0)

    def give_up(self) -> None:
        """Wait no longer for what is on its way."""
        carrying, self._carrying = self._carrying, None
        if carrying is not None:
            carrying.cancel()

    def void(self) -> Batch:
        """Return everything that came to nothing as one batch, the oldest first."""
        batches, self._unsettled = self._unsettled, []
        return Batch(
            [said for batch in batches for said in batch.happened],
            [row for batch in batches for row in batch.rows],
        )
