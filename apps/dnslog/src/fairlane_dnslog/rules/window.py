"""The time at which a rule is in force.

A window is a condition over days (weekdays, dates), over the clock (from–to, in a time zone) and
over instants (`from_at`, `until_at`); a rule is in force while all of them hold. The part of a
window that begins on a day belongs to that day, also after midnight: "Friday 22:00–06:00" ends on
Saturday. The conditions are turned into intervals of instants, start included and end excluded.
"""

import math
import re
from collections.abc import Iterator
from datetime import MAXYEAR, MINYEAR, date, timedelta
from typing import Final, Literal

from msgspec import Struct

from fairlane_dnslog.rules.errors import InvalidRule
from fairlane_dnslog.rules.local_time import (
    MINUTES_PER_DAY,
    end_instant,
    local_day,
    start_instant,
    zone_of,
)

Weekday = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
WEEKDAYS: Final[tuple[Weekday, ...]] = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
FIRST_YEAR: Final = 1970
LAST_YEAR: Final = 2200
LAST_INSTANT: Final = 7_258_118_400.0  # the year 2200

# A part can begin on the day before, and a day can be missing where the date line moved.
_DAYS_BACK: Final = 3
_CLOCK: Final = re.compile(r"([01][0-9]|2[0-3]):[0-5][0-9]|24:00")

Interval = tuple[float, float]


class Window(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A condition over time; the default is always true.

    `start` and `end` are `HH:MM` (`24:00` is the end of a day), both or neither; an end at or
    before its start is on the next day. `first_date` and `last_date` are inclusive and concern the
    day on which a part begins. `from_at` and `until_at` are seconds since 1970.
    """

    weekdays: tuple[Weekday, ...] = ()
    start: str = ""
    end: str = ""
    first_date: date | None = None
    last_date: date | None = None
    timezone: str = "UTC"
    from_at: float | None = None
    until_at: float | None = None


def once(*, from_at: float, seconds: float) -> Window:
    """Return the window of a single stretch, such as "for 30 minutes"."""
    return Window(from_at=from_at, until_at=from_at + seconds)


def checked_window(window: Window) -> Window:
    """Return the window in its normal form; refuse one that makes no sense."""
    zone_of(window.timezone)
    unknown = [day for day in window.weekdays if day not in WEEKDAYS]
    if unknown:
        raise InvalidRule(
            "weekdays", f"got {unknown[0]!r}, expected names among {', '.join(WEEKDAYS)}"
        )
    _check_clock(window)
    _check_dates(window)
    _check_instants(window)
    return Window(
        weekdays=tuple(day for day in WEEKDAYS if day in window.weekdays),
        start=window.start,
        end=window.end,
        first_date=window.first_date,
        last_date=window.last_date,
        timezone=window.timezone,
        from_at=window.from_at,
        until_at=window.until_at,
    )


def _check_clock(window: Window) -> None:
    if bool(window.start) != bool(window.end):
        given, missing = ("start", "end") if window.start else ("end", "start")
        raise InvalidRule(missing, f"got only {given}; give both times, or neither for whole days")
    for field, text in (("start", window.start), ("end", window.end)):
        if text and not _CLOCK.fullmatch(text):
            raise InvalidRule(field, f"got {text[:20]!r}, expected a time such as 16:00")
    if window.start == "24:00":
        raise InvalidRule("start", "got 24:00, expected at most 23:59; use 00:00 of the next day")
    if window.start and window.start == window.end:
        raise InvalidRule(
            "end", f"got {window.end}, the same as the start; leave both empty for whole days"
        )


def _check_dates(window: Window) -> None:
    for field, day in (("first_date", window.first_date), ("last_date", window.last_date)):
        if day is not None and not FIRST_YEAR <= day.year < LAST_YEAR:
            raise InvalidRule(
                field, f"got {day.isoformat()}, expected a year from {FIRST_YEAR} to "
                f"{LAST_YEAR - 1}"
            )  # fmt: skip
    first, last = window.first_date, window.last_date
    if first is not None and last is not None and last < first:
        raise InvalidRule(
            "last_date", f"got {last.isoformat()}, expected {first.isoformat()} or a later day"
        )


def _check_instants(window: Window) -> None:
    for field, at in (("from_at", window.from_at), ("until_at", window.until_at)):
        if at is not None and not (math.isfinite(at) and 0 <= at < LAST_INSTANT):
            raise InvalidRule(field, f"got {at!r}, expected seconds since 1970")
    start, end = window.from_at, window.until_at
    if start is not None and end is not None and end <= start:
        raise InvalidRule("until_at", f"got {end!r}, expected an instant after {start!r}")


def intervals(window: Window, *, since: float) -> Iterator[Interval]:
    """Yield the intervals that end after `since`, in order; touching ones are joined.

    The iterator is endless for a window that comes back each week. It ends when there is no further
    interval.
    """
    low = -math.inf if window.from_at is None else window.from_at
    high = math.inf if window.until_at is None else window.until_at
    pending: Interval | None = None
    for start, end in _parts(window, since=max(since, low)):
        start, end = max(start, low), min(end, high)
        if start >= high:
            break
        if end <= start or end <= since:
            continue
        if pending is not None and start > pending[1]:
            yield pending
            pending = None
        pending = (start, end) if pending is None else (pending[0], max(end, pending[1]))
    if pending is not None:
        yield pending


def interval_at(window: Window, at: float) -> Interval | None:
    """Return the interval that contains the instant, or None."""
    for start, end in intervals(window, since=at):
        return (start, end) if start <= at else None
    return None


def is_active(window: Window, at: float) -> bool:
    return interval_at(window, at) is not None


def boundary_after(window: Window, after: float) -> float | None:
    """Return the next instant at which the window begins or ends, or None."""
    for start, end in intervals(window, since=after):
        boundary = start if start > after else end
        return boundary if boundary < math.inf else None
    return None


def _parts(window: Window, *, since: float) -> Iterator[Interval]:
    """Yield the part of each day, without the condition over instants."""
    zone = zone_of(window.timezone)
    start, end = _minutes(window.start or "00:00"), _minutes(window.end or "24:00")
    if end <= start:
        end += MINUTES_PER_DAY
    weekdays = {WEEKDAYS.index(day) for day in window.weekdays} or set(range(7))
    if end - start == MINUTES_PER_DAY and len(weekdays) == 7:
        yield _stretch(window)
        return
    since = min(max(since, 0.0), LAST_INSTANT)
    day = local_day(since, zone) - timedelta(days=_DAYS_BACK)
    day = max(day, window.first_date or date(MINYEAR, 1, 1))
    last = window.last_date or date(MAXYEAR, 1, 1)
    while day <= last and day.year <= LAST_YEAR:
        if day.weekday() in weekdays:
            yield start_instant(day, start, zone), end_instant(day, end, zone)
        day += timedelta(days=1)


def _stretch(window: Window) -> Interval:
    """Return the one interval of a window without a gap between its days."""
    zone = zone_of(window.timezone)
    first, last = window.first_date, window.last_date
    start = -math.inf if first is None else start_instant(first, 0, zone)
    end = math.inf if last is None else end_instant(last, MINUTES_PER_DAY, zone)
    return start, end


def _minutes(clock: str) -> int:
    hours, minutes = clock.split(":")
    return int(hours) * 60 + int(minutes)
