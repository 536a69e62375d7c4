"""A journal that jobs write themselves, so that tests do not depend on the queue's own reports.

Each line is appended in one write and is on disk before the writer continues: it holds exactly the
steps that a killed process has done.
"""

import json
import os
import time
from pathlib import Path

from msgspec import Struct


class Entry(Struct):
    what: str  # "start", "end", or a name that a task chose
    name: str
    lane: str
    job: str
    attempt: int
    at: float
    pid: int


def write(path: Path, what: str, *, name: str, lane: str, job: str, attempt: int) -> None:
    entry = {
        "what": what, "name": name, "lane": lane, "job": job, "attempt": attempt,
        "at": time.time(), "pid": os.getpid(),
    }  # fmt: skip
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(descriptor, json.dumps(entry).encode() + b"\n")
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read(path: Path, what: str | None = None) -> list[Entry]:
    """Return all entries, in the order of writing."""
    if not path.exists():
        return []
    entries = [Entry(**json.loads(line)) for line in path.read_text().splitlines()]
    return [entry for entry in entries if what in (None, entry.what)]


def names(path: Path, what: str) -> list[str]:
    return [entry.name for entry in read(path, what)]


def overlaps(entries: list[Entry]) -> list[str]:
    """Return where two attempts of one lane ran at once.

    An attempt without an end was cut off by a kill: it does not overlap later attempts of other
    processes, but in its own process no other attempt of its lane may have started meanwhile.
    """
    found: list[str] = []
    running: dict[str, Entry] = {}
    for entry in entries:
        before = running.get(entry.lane)
        if entry.what == "start":
            if before is not None and before.pid == entry.pid:
                found.append(f"{entry.name} started beside {before.name} in lane {entry.lane}")
            running[entry.lane] = entry
        elif entry.what == "end":
            if before is None or (before.job, before.attempt) != (entry.job, entry.attempt):
                found.append(f"{entry.name} ended and was not what ran in lane {entry.lane}")
            running.pop(entry.lane, None)
    return found
