"""Place downloaded files in the account folder, in batches.

One fsync of a dozen files takes about as long as of one. While a batch is written the next one
gathers, and downloads continue.
"""

import asyncio
from collections.abc import Callable
from typing import Final

from fairlane_archiver.account_folder import AccountFolder
from fairlane_archiver.downloads import CompleteFile
from fairlane_archiver.errors import FileError
from fairlane_archiver.index import Item
from fairlane_archiver.threads import in_thread

MOST: Final = 64  # waiting files, with up to a quarter of a megabyte in memory each


class FilePlacement:
    """Place files in batches; `done` is called for every placed file, also during a stop."""

    def __init__(
        self, account_folder: AccountFolder, done: Callable[[Item, CompleteFile], None]
    ) -> None:
        self._folder = account_folder
        self._done = done
        self._room = asyncio.Semaphore(MOST)
        self._waiting: list[tuple[Item, CompleteFile, asyncio.Future[FileError | None]]] = []
        self._working: asyncio.Task[None] | None = None

    async def put(self, item: Item, whole: CompleteFile) -> None:
        """Return when the file is placed, or raise its FileError."""
        async with self._room:
            outcome: asyncio.Future[FileError | None] = asyncio.get_running_loop().create_future()
            self._waiting.append((item, whole, outcome))
            if self._working is None:
                self._working = asyncio.create_task(self._work())
            trouble = await outcome
        if trouble is not None:
            raise trouble

    async def finish(self) -> None:
        """Drop the waiting files, and wait for the current batch."""
        self._waiting.clear()
        if self._working is not None:
            await asyncio.wait([self._working])

    async def _work(self) -> None:
        batch: list[tuple[Item, CompleteFile, asyncio.Future[FileError | None]]] = []
        try:
            while self._waiting:
                batch, self._waiting = self._waiting, []
                arrived = [(item, whole) for item, whole, _ in batch]
                outcomes = await in_thread(self._folder.put, arrived)
                for (item, whole, told), trouble in zip(batch, outcomes, strict=True):
                    if trouble is None:
                        self._done(item, whole)
                    if not told.done():
                        told.set_result(trouble)
        except Exception as error:  # noqa: BLE001 - raised in every waiting caller
            for _, _, told in [*batch, *self._waiting]:
                if not told.done():
                    told.set_exception(error)
        finally:
            self._working = None
