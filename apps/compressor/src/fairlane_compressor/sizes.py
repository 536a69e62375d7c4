"""Sizes as text."""

import re
from typing import Final

_UNITS: Final = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_WRITTEN: Final = re.compile(r"\s*(\d{1,15}(?:\.\d*)?)\s*([kmgt]?)b?\s*", re.IGNORECASE)


def format_size(size: float) -> str:
    """Format a size in powers of 1000: `3.2 MB`."""
    sign = "-" if size < 0 else ""
    value = abs(float(size))
    for unit in ("bytes", "kB", "MB", "GB"):
        if round(value, 1) < 1000:
            return f"{sign}{value:.0f} {unit}" if unit == "bytes" else f"{sign}{value:.1f} {unit}"
        value /= 1000
    return f"{sign}{value:.1f} TB"


def parse_size(text: str) -> int:
    """Parse `25MB`, `1.5 g` or `300000`; raise ValueError otherwise."""
    found = _WRITTEN.fullmatch(text)
    size = int(float(found[1]) * _UNITS[found[2].lower()]) if found is not None else 0
    if size < 1:
        raise ValueError(f"{text!r} is not a size; write one such as 25MB")
    return size


def counted(number: int, noun: str) -> str:
    """Format `1 file`, `2 files`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
