"""Free disk space, for preconditions of jobs."""

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from fairlane.core.live_job import Reason
from fairlane.task.definition import Precondition, Template, fill

_UNITS: Final = ("bytes", "kB", "MB", "GB", "TB", "PB")


def free_bytes(path: str | os.PathLike[str]) -> int:
    """Return the bytes that this user may still write at `path`, which need not exist yet."""
    return shutil.disk_usage(_existing(path)).free


def missing_bytes(path: str | os.PathLike[str], needed: int) -> int:
    """Return how many bytes are missing; 0 if enough are free."""
    return max(0, needed - free_bytes(path))


def shortage(path: str | os.PathLike[str], needed: int) -> Reason | None:
    """Return the reason why a job must wait, with the missing amount; None if enough is free."""
    free = free_bytes(path)
    if free >= needed:
        return None
    folder = _existing(path)
    facts: dict[str, str | int] = {
        "folder": str(folder),
        "needed_bytes": needed,
        "free_bytes": free,
    }
    return Reason("disk_space", shortage_message(folder, needed=needed, free=free), facts)


def shortage_message(folder: str | os.PathLike[str], *, needed: int, free: int) -> str:
    """Return `needs 3.2 GB free in /videos, 1.1 GB is free: 2.1 GB too little`."""
    needs, has = amount(needed), amount(free)
    if needs == has:  # equal when rounded, which would hide the difference
        needs, has = f"{needed:,} bytes", f"{free:,} bytes"
    missing = amount(needed - free)
    return f"needs {needs} free in {os.fspath(folder)}, {has} is free: {missing} too little"


def amount(size: int) -> str:
    """Return a size in powers of 1000: `3.2 GB`."""
    value = float(size)
    for unit in _UNITS[:-1]:
        if round(value, 1) < 1000:
            return f"{value:.0f} {unit}" if unit == "bytes" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} {_UNITS[-1]}"


def _existing(path: str | os.PathLike[str]) -> Path:
    """Return the nearest parent folder that exists."""
    folder = Path(path).absolute()
    while not folder.is_dir() and folder != folder.parent:
        folder = folder.parent
    return folder


def free_space(
    folder: Template, *, at_least: int | Callable[[Mapping[str, Any]], int]
) -> Precondition:
    """Return a precondition: so many bytes must be free at `folder`, a template like "{folder}"."""

    def check(values: Mapping[str, Any]) -> Reason | None:
        needed = at_least(values) if callable(at_least) else at_least
        try:
            return shortage(fill(folder, values) or ".", needed)
        except OSError:
            return None  # the folder cannot be examined: the attempt fails on it with its own error

    return check
