"""A slow disk: writes and syncs take a random time, as on a worn card or a busy array."""

import random
import time

import apsw

BASE = "unix"


class SlowFile(apsw.VFSFile):
    def __init__(self, name: apsw.URIFilename | str | None, flags: list[int], most: float) -> None:
        super().__init__(BASE, name, flags)
        self._most = most

    def _delay(self, share: float) -> None:
        # Mostly a small part of the delay, sometimes all of it.
        time.sleep(self._most * share * random.random() ** 4)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802 - SQLite's own name
        if random.random() < 0.05:
            self._delay(0.5)
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:  # noqa: N802
        self._delay(1.0)
        super().xSync(flags)


class SlowVFS(apsw.VFS):
    def __init__(self, most_seconds: float) -> None:
        super().__init__("slow", BASE, makedefault=True)
        self._most = most_seconds

    def xOpen(self, name: apsw.URIFilename | str | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        return SlowFile(name, flags, self._most)


_installed: list[SlowVFS] = []


def install(most_seconds: float) -> None:
    """Make every database that this process opens from now on slow."""
    _installed.append(SlowVFS(most_seconds))  # SQLite holds only a pointer to it
