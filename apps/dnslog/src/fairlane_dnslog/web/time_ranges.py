"""Time ranges of the pages: the last hour, day, week, month or year."""

from typing import Final

RANGES: Final = {
    "hour": 3600,
    "day": 86_400,
    "week": 7 * 86_400,
    "month": 30 * 86_400,
    "year": 365 * 86_400,
}
DEFAULT: Final = "day"


def known_range(name: str) -> str:
    return name if name in RANGES else DEFAULT
