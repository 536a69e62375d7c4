"""Who leads: the process that holds a lock on `<database>.lock`.

The lock is on a file of its own. Closing any descriptor of the database file would drop SQLite's
locks on it, so that file is left to SQLite alone.
"""

import fcntl
import os
import socket
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec import Struct

from fairlane.errors import StoreUnavailable


class LockHolder(Struct):
    pid: int
    host: str
    started_at: str
    id: str

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host} since {self.started_at}"


class LeaderLock:
    def __init__(self, path: Path, *, id: str) -> None:
        self._path = path
        self._id = id
        self._descriptor: int | None = None

    @property
    def held(self) -> bool:
        return self._descriptor is not None

    def take(self) -> bool:
        """Try once to take the lock; say whether this process has it now."""
        if self._descriptor is not None:
            return True
        descriptor = open_lock_file(self._path)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return False
        self._descriptor = descriptor
        now = datetime.now(UTC).isoformat(timespec="seconds")
        me = LockHolder(pid=os.getpid(), host=socket.gethostname(), started_at=now, id=self._id)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, msgspec.json.encode(me), 0)
        return True

    def give_back(self) -> None:
        # Taken first: a leader that resigns and a program that closes may both be here.
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.ftruncate(descriptor, 0)
            fcntl.flock(descriptor, fcntl.LOCK_UN)
            os.close(descriptor)

    def drop(self) -> None:
        """Close this process's descriptor. In a forked child that leaves the parent its lock."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def holder(self) -> LockHolder | None:
        """Read who holds the lock, in this process or another."""
        descriptor = open_lock_file(self._path)
        try:
            if self._descriptor is None:
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
                except BlockingIOError:
                    pass
                else:
                    return None  # nobody: what is written there is from one that died
            text = os.pread(descriptor, 4096, 0)
        finally:
            os.close(descriptor)
        try:
            return msgspec.json.decode(text, type=LockHolder)
        except msgspec.DecodeError:
            return None  # it has the lock and is about to write its name


def open_lock_file(path: Path) -> int:
    """Open a lock file and create it if it is missing; other programs do not inherit it."""
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise StoreUnavailable(
            f"the lock file {path} cannot be opened ({error.strerror}); give this user the right "
            "to write the folder of the database",
            path=str(path),
        ) from error
