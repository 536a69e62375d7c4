"""Times, durations and numbers as people read them; times are in the zone of the settings."""

import time
from datetime import datetime
from typing import Final

from markupsafe import Markup

from fairlane_dnslog.rules.window import WEEKDAYS
from fairlane_dnslog.web.language import text
from fairlane_dnslog.web.visitor import program

NEAR_DAYS: Final = 6
DATE_AND_TIME: Final = "%Y-%m-%d %H:%M:%S"  # the one form of a date on all pages


def local_time(at: float | None) -> datetime | None:
    """Return an instant in the zone of the settings, or None if no calendar has it."""
    if at is None:
        return None
    try:
        return datetime.fromtimestamp(at, program().settings.zone)
    except (OverflowError, ValueError, OSError):
        return None


def instant(at: float | None, pattern: str = DATE_AND_TIME) -> Markup:
    """Return a `<time>` element."""
    local = local_time(at)
    if local is None:
        return Markup("–")
    return Markup('<time datetime="{}">{}</time>').format(
        local.isoformat(timespec="seconds"), local.strftime(pattern)
    )


def clock_time(at: float | None) -> Markup:
    """Return the time of an instant today, and the date of another day."""
    local, today = local_time(at), local_time(time.time())
    if local is None or today is None:
        return Markup("–")
    is_today = local.date() == today.date()
    return instant(at, "%H:%M:%S" if is_today else DATE_AND_TIME)


def short_time(at: float | None) -> Markup:
    """Return the clock of an instant today, with its weekday in the days around, or its date."""
    return instant(at, _short_pattern(at))


def short_text(at: float) -> str:
    """Return the same as `short_time` without markup, for a sentence."""
    local = local_time(at)
    return "–" if local is None else local.strftime(_short_pattern(at))


def _short_pattern(at: float | None) -> str:
    local, today = local_time(at), local_time(time.time())
    if local is None or today is None:
        return ""
    days = abs((local.date() - today.date()).days)
    if days >= NEAR_DAYS:
        return "%Y-%m-%d %H:%M"
    weekday = text(f"weekday.short.{WEEKDAYS[local.weekday()]}")
    return "%H:%M" if days == 0 else f"{weekday} %H:%M"


def stretch(from_at: float | None, until_at: float | None) -> Markup:
    """Return the time between two instants, of which one may be missing."""
    start, end = local_time(from_at), local_time(until_at)
    is_one_day = start is not None and end is not None and start.date() == end.date()
    first = Markup("") if start is None else instant(from_at, "%Y-%m-%d %H:%M")
    if end is None:
        return Markup("{} –").format(first)
    if is_one_day:
        return Markup("{}–{}").format(first, instant(until_at, "%H:%M"))
    return Markup("{} – {}").format(first, instant(until_at, "%Y-%m-%d %H:%M"))


def duration(seconds: float | None) -> str:
    """Return a duration in its largest fitting unit: 350 ms, 12 s, 3 min, 5 h, 2 d."""
    if seconds is None:
        return "–"
    if seconds < 1:
        return text("unit.ms", count=number(round(max(seconds, 0) * 1000)))
    for unit, size, limit in (("s", 1, 100), ("min", 60, 120 * 60), ("h", 3600, 48 * 3600)):
        if seconds < limit:
            return text(f"unit.{unit}", count=number(round(seconds / size)))
    return text("unit.d", count=number(round(seconds / 86_400)))


def milliseconds(microseconds: float) -> str:
    amount = microseconds / 1000
    return text("unit.ms", count=f"{amount:.1f}" if amount < 10 else number(round(amount)))


def number(count: float) -> str:
    return f"{count:,}"


def percent(share: float, digits: int = 1) -> str:
    return f"{share * 100:.{digits}f}%"


def process_label(name: str) -> str:
    """Return the host and the id of a process, without the start time that makes it unique."""
    parts = name.split(" ")
    return f"{parts[1]} · {parts[2]}" if len(parts) == 4 and parts[0] == "dnslog" else name
