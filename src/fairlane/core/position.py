"""Positions: sortable texts, with room for a new one between any two, without renumbering.

A position is twelve hex digits that count arrivals. A job that was moved between two neighbours has
further digits, as a fraction. The texts compare in the order of the jobs, in Python and in every
database.
"""

from typing import Final

DIGITS: Final = 12
MIDDLE: Final = 0x800000000000  # the first arrival; heads count down from it, tails up


def numbered(number: int) -> str:
    return f"{number:0{DIGITS}x}"


def number(position: str) -> int:
    return int(position[:DIGITS], 16)


def between(low: str, high: str) -> str:
    """Return the shortest position above `low` and below `high`."""
    digits: list[str] = []
    bounded = True
    for index in range(max(len(low), len(high)) + 1):
        if bounded and index == len(high):
            break
        floor = int(low[index], 16) if index < len(low) else 0
        ceiling = int(high[index], 16) if bounded else 16
        if ceiling - floor > 1:
            digits.append(f"{(floor + ceiling) // 2:x}")
            return "".join(digits)
        digits.append(f"{floor:x}")
        bounded = bounded and ceiling == floor
    raise ValueError(f"no position between {low!r} and {high!r}: the first must be the smaller")
