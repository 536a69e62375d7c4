"""Putting files in their place, as many at a time as have arrived meanwhile.

To make one file durable takes the disk as long as to make a dozen so. While a batch is under way
the next one gathers, and downloads go on.
"""

import asyncio
from collections.abc import Callable
from typing import Final

from fairlane_archiver.account_folder import AccountFolder
from fairlane_archiver.downloads import CompleteFile
from fairlane_archiver.errors import FileError
from fairlane_archiver.index import Item
from fairlane_archiver.threads import in_thread

MOST: Final = 64  # files that wait for their place, with up to a quarter of a megabyte each


class FilePlacement:
    """`done` hears of every file that lies in its place, also while everything is stopped."""

    def __init__(self, shelf: AccountFolder, done: Callable[[Item, CompleteFile], None]) -> None:
        self._shelf = shelf
        self._done = done
        self._room = asyncio.Semaphore(MOST)
        self._waiting: list[tuple[Item, CompleteFile, asyncio.Future[FileError | None]]] = []
        self._working: asyncio.Task[None] | None = None

    async def put(self, item: Item, whole: CompleteFile) -> None:
        """Return when the file is in its place, or raise Trouble about it."""
        async with self._room:
            outcome: asyncio.Future[FileError | None] = asyncio.get_running_loop().create_future()
            self._waiting.append((item, whole, outcome))
            if self._working is None:
                self._working = asyncio.create_task(self._work())
            trouble = await outcome
        if trouble is not None:
            raise trouble

    async def finish(self) -> None:
        """Return when nothing is under way any more; what waits is dropped."""
        self._waiting.clear()
        if self._working is not None:
            await asyncio.wait([self._working])

    async def _work(self) -> None:
        batch: list[tuple[Item, CompleteFile, asyncio.Future[FileError | None]]] = []
        try:
            while self._waiting:
                batch, self._waiting = self._waiting, []
                arrived = [(item, whole) for item, whole, _ in batch]
                outcomes = await in_thread(self._shelf.put, arrived)
                for (item, whole, told), trouble in zip(batch, outcomes, strict=True):
                    if trouble is None:
                        self._done(item, whole)
                    if not told.done():
                        told.set_result(trouble)
        except Exception as error:  # noqa: BLE001 - whoever waits has to hear of it
            for _, _, told in [*batch, *self._waiting]:
                if not told.done():
                    told.set_exception(error)
        finally:
            self._working = None
