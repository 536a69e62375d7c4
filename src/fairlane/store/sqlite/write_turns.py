"""Turns for writers next to a leader that commits without a pause.

A writer holds a shared lock on the file `<database>.inbox` while it tries to write. The leader
tries the exclusive lock on that file before each commit; if another process holds the shared lock,
the leader waits for a moment.

SQLite has no queue for its write lock: the process that tries at the right moment gets it, and next
to a leader that commits in a loop, the other writers would never get it.
"""

import asyncio
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Final

from fairlane.store.sqlite.leader_lock import open_lock_file

PATIENCE_SECONDS: Final = 0.003
STEP_SECONDS: Final = 0.0003


class WriteTurns:
    """One side of the lock, writer or leader; locks of one descriptor never conflict."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    @contextmanager
    def requested(self) -> Iterator[None]:
        """Request a turn for the duration of the block."""
        fcntl.flock(self._open(), fcntl.LOCK_SH)
        try:
            yield
        finally:
            fcntl.flock(self._open(), fcntl.LOCK_UN)

    async def let_writers_pass(self) -> None:
        """Let waiting writers write first, but not for long."""
        deadline = monotonic() + PATIENCE_SECONDS
        while self.is_requested() and monotonic() < deadline:  # noqa: ASYNC110 - it is a lock
            await asyncio.sleep(STEP_SECONDS)

    def is_requested(self) -> bool:
        descriptor = self._open()
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        return False

    def _open(self) -> int:
        if self._descriptor is None:
            self._descriptor = open_lock_file(self._path)
        return self._descriptor
