"""Local times as instants, on days with clock changes as well.

An instant is a number of seconds since 1970. A local time that does not exist is the instant of
the jump. A local time that exists twice is its first occurrence as the start of a window and its
second as the end, so that a window covers every instant whose local time lies in it.
"""

from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from fairlane_dnslog.rules.errors import InvalidRule

MINUTES_PER_DAY: Final = 24 * 60
_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001 - local times are computed without a zone


@lru_cache(maxsize=1024)
def zone_of(name: str) -> ZoneInfo:
    """Return the time zone of this name; refuse an unknown one."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise InvalidRule(
            "timezone",
            f"got {name[:80]!r}, expected the name of a time zone such as 'Europe/Berlin'",
        ) from None


def start_instant(day: date, minutes: int, zone: ZoneInfo) -> float:
    """Return the first instant at which the clock shows this time or a later one."""
    return _instant(day, minutes, zone, fold=0)


def end_instant(day: date, minutes: int, zone: ZoneInfo) -> float:
    """Return the first instant after which the clock never shows an earlier time again."""
    return _instant(day, minutes, zone, fold=1)


def local_day(at: float, zone: ZoneInfo) -> date:
    return datetime.fromtimestamp(at, zone).date()


def _instant(day: date, minutes: int, zone: ZoneInfo, *, fold: int) -> float:
    midnight = datetime(day.year, day.month, day.day)  # noqa: DTZ001 - the zone is an argument
    local = midnight + timedelta(minutes=minutes)
    seconds = (local - _EPOCH).total_seconds()
    before = _offset(local.replace(tzinfo=zone, fold=0))
    after = _offset(local.replace(tzinfo=zone, fold=1))
    if before < after:  # the clock jumps over this time
        return _jump(seconds - after, seconds - before, zone)
    return seconds - (after if fold else before)


def _jump(low: float, high: float, zone: ZoneInfo) -> float:
    """Return the instant of the clock change in (low, high], to the second."""
    old = _offset_at(low, zone)
    first, last = int(low), int(high)
    while last - first > 1:
        middle = (first + last) // 2
        if _offset_at(middle, zone) == old:
            first = middle
        else:
            last = middle
    return float(last)


def _offset(local: datetime) -> float:
    offset = local.utcoffset()
    assert offset is not None
    return offset.total_seconds()


def _offset_at(at: float, zone: ZoneInfo) -> float:
    return _offset(datetime.fromtimestamp(at, UTC).astimezone(zone))
