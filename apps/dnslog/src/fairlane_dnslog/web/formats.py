"""Times, durations and numbers as people read them; times are in the zone of the settings."""

import time
from datetime import datetime

from markupsafe import Markup

from fairlane_dnslog.web.language import text
from fairlane_dnslog.web.visitor import program


def local_time(at: float | None) -> datetime | None:
    """Return an instant in the zone of the settings, or None if no calendar has it."""
    if at is None:
        return None
    try:
        return datetime.fromtimestamp(at, program().settings.zone)
    except (OverflowError, ValueError, OSError):
        return None


def instant(at: float | None, pattern: str = "%Y-%m-%d %H:%M:%S") -> Markup:
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
    return instant(at, "%H:%M:%S" if is_today else "%m-%d %H:%M:%S")


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


def percent(share: float) -> str:
    return f"{share * 100:.1f}%"
