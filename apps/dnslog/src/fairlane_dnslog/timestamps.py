"""AdGuard's times: RFC 3339 with up to nine fractional digits, exact to the nanosecond."""

import re
from datetime import UTC, datetime, timedelta
from typing import Final

SECOND_NS: Final = 1_000_000_000
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_RFC_3339: Final = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?"
    r"(?:[Zz]|([+-])([01]\d|2[0-3]):([0-5]\d))",
    re.ASCII,
)
_MOST_NS: Final = (1 << 63) - 1


class BadTime(ValueError):
    """A text is not a time that this program can store."""

    def __init__(self, text: str) -> None:
        super().__init__(
            f"{text[:60]!r} is not a time of RFC 3339 from 1970 to 2262, "
            "such as 2026-11-18T09:00:00.123456789+01:00"
        )
        self.text = text[:60]


def parse_time_ns(text: str) -> int:
    """Return the nanoseconds since 1970 of a time; raise BadTime for other texts.

    A datetime would lose the last three digits, by which AdGuard's rows differ.
    """
    found = _RFC_3339.fullmatch(text)
    if found is None:
        raise BadTime(text)
    year, month, day, hour, minute, second = (int(part) for part in found.groups()[:6])
    try:
        local = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        raise BadTime(text) from None
    seconds = (local - _EPOCH) // timedelta(seconds=1)
    if found[8]:
        offset = int(found[9]) * 3600 + int(found[10]) * 60
        seconds += offset if found[8] == "-" else -offset
    at_ns = seconds * SECOND_NS + int((found[7] or "").ljust(9, "0"))
    if not 0 <= at_ns <= _MOST_NS:
        raise BadTime(text)
    return at_ns


def format_time_ns(at_ns: int, *, offset_minutes: int = 0) -> str:
    """Return a time as AdGuard writes it: zeros at the end of the fraction are omitted."""
    seconds, fraction = divmod(at_ns, SECOND_NS)
    local = _EPOCH + timedelta(seconds=seconds, minutes=offset_minutes)
    digits = f".{fraction:09d}".rstrip("0").rstrip(".")
    hours, minutes = divmod(abs(offset_minutes), 60)
    zone = (
        f"{'-' if offset_minutes < 0 else '+'}{hours:02d}:{minutes:02d}" if offset_minutes else "Z"
    )
    return f"{local:%Y-%m-%dT%H:%M:%S}{digits}{zone}"
