"""The leader's lock: the process that locks the file `<database>.lock` leads.

The lock is on a separate file, because closing any descriptor of the database file would release
SQLite's locks on it.
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

    def acquire(self) -> bool:
        """Try once to acquire the lock; return whether this process holds it now."""
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
        try:
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, msgspec.json.encode(me), 0)
        except OSError as error:
            self.drop()
            raise StoreUnavailable(
                f"the lock file {self._path} cannot be written ({error.strerror}); free some space",
                path=str(self._path),
            ) from error
        return True

    def release(self) -> None:
        # Cleared first: a leader that resigns and a program that closes may both call this.
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.ftruncate(descriptor, 0)
            fcntl.flock(descriptor, fcntl.LOCK_UN)
            os.close(descriptor)

    def drop(self) -> None:
        """Close the descriptor; in a forked child, the parent still holds the lock."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def holder(self) -> LockHolder | None:
        """Return the process that holds the lock, this one or another."""
        descriptor = open_lock_file(self._path)
        try:
            if self._descriptor is None:
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
                except BlockingIOError:
                    pass
                else:
                    return None  # not locked: the text is of a process that died
            text = os.pread(descriptor, 4096, 0)
        finally:
            os.close(descriptor)
        try:
            return msgspec.json.decode(text, type=LockHolder)
        except msgspec.DecodeError:
            return None  # the holder has not yet written its name


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
