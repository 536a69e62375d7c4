"""The commit that is being written while the next batch is decided.

Deciding a batch keeps this process busy, writing it keeps the database busy; one after the other,
each would be idle while the other works. So at most one commit is being written, and one batch may
be decided on top of it. If the commit fails, the batch that was decided on top of it is discarded
as well.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from msgspec import Struct

from fairlane.core.inputs import Input
from fairlane.store.protocol import InboxRow

Commit = TypeVar("Commit")


class Batch(Struct, eq=False, frozen=True):
    """Inputs of this process, and inbox rows of other processes, that are decided together."""

    inputs: Sequence[Input]
    rows: Sequence[InboxRow] = ()
    resent: bool = False  # some of the inputs may have been decided before

    def __bool__(self) -> bool:
        return bool(self.inputs or self.rows)


class CommitPipeline:
    def __init__(self, on_end: Callable[[], None]) -> None:
        self._on_end = on_end  # called when a commit has ended, with or without an error
        self._writing: asyncio.Task[None] | None = None
        self._batches: list[Batch] = []  # decided or being decided, and not durable yet

    def __bool__(self) -> bool:
        """Tell whether a commit is being written."""
        return self._writing is not None

    @property
    def has_ended(self) -> bool:
        return self._writing is not None and self._writing.done()

    @property
    def is_ahead(self) -> bool:
        """Tell whether a batch was decided on top of the commit that is being written."""
        return len(self._batches) > 1

    async def submit(
        self,
        batch: Batch,
        decide: Callable[[Batch], Awaitable[Commit]],
        write: Callable[[Commit], Awaitable[None]],
    ) -> None:
        """Decide a batch, wait until the commit before it is written, and start writing its own."""
        self._batches.append(batch)
        try:
            commit = await decide(batch)
        except Exception:  # a cancelled leader does not wait
            await self.wait()
            raise
        await self.wait()
        self._writing = asyncio.ensure_future(write(commit))
        self._writing.add_done_callback(lambda _: self._on_end())
        await asyncio.sleep(0)  # a write that waits for no disk ends here

    async def wait(self) -> None:
        """Return when no commit is being written; raise the error of the last one."""
        writing = self._writing
        if writing is not None:
            try:
                await writing
            finally:
                self._writing = None
            self._batches.pop(0)

    def cancel(self) -> None:
        """Stop waiting for the commit that is being written."""
        writing, self._writing = self._writing, None
        if writing is not None:
            writing.cancel()

    def discard(self) -> Batch:
        """Return all inputs that did not become durable as one batch, the oldest first."""
        batches, self._batches = self._batches, []
        return Batch(
            [input for batch in batches for input in batch.inputs],
            [row for batch in batches for row in batch.rows],
        )
