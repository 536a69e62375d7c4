"""The journal of a run, written by the submitters and task bodies themselves.

Submitters record submissions and acknowledgements, task bodies record their begin and end, and the
programs they run record heartbeats. Each line is one append, so it is complete even if its writer
is killed at once. All checks read this journal; Fairlane's tables are only queried for the final
state of a job.

Stamps are nanoseconds of CLOCK_BOOTTIME, which all processes of a machine share.
"""

import os
import time
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct


class Entry(Struct, omit_defaults=True):
    what: str
    at: int
    pid: int
    program: int = 0  # the process whose engine it belongs to
    job: str = ""
    attempt: int = 0
    queue: str = ""
    lane: str | None = None
    key: str = ""  # a dedupe key, or the name of a command
    value: int | None = None
    wall: float = 0.0
    text: str = ""


NANO = 1_000_000_000


def now() -> int:
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


class Journal:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None
        self._read_to = 0
        self._entries: list[Entry] = []

    def note(self, what: str, **facts: Any) -> Entry:
        if self._descriptor is None:
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
            self._descriptor = os.open(self._path, flags, 0o666)
        entry = Entry(what, now(), os.getpid(), **facts)
        os.write(self._descriptor, msgspec.json.encode(entry) + b"\n")
        return entry

    def size(self) -> int:
        """Return the number of bytes written so far by all processes: a measure of activity."""
        return self._path.stat().st_size if self._path.exists() else 0

    def entries(self) -> list[Entry]:
        """Return all complete entries; a line that is being written is read next time."""
        if self._path.exists():
            with self._path.open("rb") as file:
                file.seek(self._read_to)
                text = file.read()
            whole = text[: text.rfind(b"\n") + 1]
            self._read_to += len(whole)
            decoder = msgspec.json.Decoder(Entry)
            self._entries += [decoder.decode(line) for line in whole.splitlines()]
        return self._entries
