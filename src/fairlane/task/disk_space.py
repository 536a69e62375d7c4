"""Free space, for the precondition of a job."""

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from fairlane.task.definition import Precondition, Template, fill

_UNITS: Final = ("bytes", "kB", "MB", "GB", "TB", "PB")


def free_bytes(path: str | os.PathLike[str]) -> int:
    """What this user may still write where `path` is, or would be once its folders are made."""
    return shutil.disk_usage(_existing(path)).free


def missing_bytes(path: str | os.PathLike[str], needed: int) -> int:
    """How much too little is free; 0 if it is enough."""
    return max(0, needed - free_bytes(path))


def shortage(path: str | os.PathLike[str], needed: int) -> str | None:
    """Why a job has to wait, with how much is missing; None if it fits."""
    free = free_bytes(path)
    if free >= needed:
        return None
    return shortage_message(_existing(path), needed=needed, free=free)


def shortage_message(folder: str | os.PathLike[str], *, needed: int, free: int) -> str:
    """`needs 3.2 GB free in /videos, 1.1 GB is free: 2.1 GB too little`."""
    wanted, there = amount(needed), amount(free)
    if wanted == there:  # rounded to the same; the difference is what matters
        wanted, there = f"{needed:,} bytes", f"{free:,} bytes"
    missing = amount(needed - free)
    return f"needs {wanted} free in {os.fspath(folder)}, {there} is free: {missing} too little"


def amount(size: int) -> str:
    """A size as people read it, in powers of 1000: `3.2 GB`."""
    value = float(size)
    for unit in _UNITS[:-1]:
        if round(value, 1) < 1000:
            return f"{value:.0f} {unit}" if unit == "bytes" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} {_UNITS[-1]}"


def _existing(path: str | os.PathLike[str]) -> Path:
    """The nearest folder that exists on the way up."""
    here = Path(path).absolute()
    while not here.is_dir() and here != here.parent:
        here = here.parent
    return here


def free_space(
    folder: Template, *, at_least: int | Callable[[Mapping[str, Any]], int]
) -> Precondition:
    """Return a precondition: so many bytes must be free where `folder` is, e.g. "{folder}"."""

    def check(values: Mapping[str, Any]) -> str | None:
        needed = at_least(values) if callable(at_least) else at_least
        try:
            return shortage(fill(folder, values) or ".", needed)
        except OSError:
            return None  # a place that may not even be asked; the attempt meets it and says so

    return check
