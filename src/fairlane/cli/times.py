"""Parse and format times and durations, such as 10m, 14:05 and 2026-11-20."""

import re
from datetime import UTC, datetime, timedelta
from typing import Final

_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_SPAN: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([smhdw])")
_WORDS: Final = ((86400 * 2, 86400, "days"), (7200, 3600, "h"), (120, 60, "min"), (0, 1, "s"))
SPAN_EXAMPLES: Final = "30s, 10m, 2h, 1h30m, 7d"


def parse_span(text: str) -> timedelta:
    """Parse a duration such as 1h30m."""
    parts = _SPAN.findall(text)
    if not parts or _SPAN.sub("", text).strip():
        raise ValueError(f'"{text}" is not a duration; expected one such as {SPAN_EXAMPLES}')
    try:
        return timedelta(seconds=sum(float(amount) * _UNITS[unit] for amount, unit in parts))
    except OverflowError:
        raise ValueError(f'"{text}" is too long; the maximum is 999999999 days') from None


def time_ago(text: str) -> datetime:
    """Parse a duration and return the time that long ago."""
    return _from_now(text, -parse_span(text))


def time_ahead(text: str) -> datetime:
    """Parse a duration and return the time that far ahead."""
    return _from_now(text, parse_span(text))


def _from_now(text: str, distance: timedelta) -> datetime:
    try:
        return datetime.now(UTC) + distance
    except OverflowError:
        raise ValueError(f'"{text}" from now is outside of the years 1 to 9999') from None


def parse_time(text: str, *, now: datetime | None = None) -> datetime:
    """Parse a time: 14:05 (the next one), 2026-11-20, 2026-11-20T14:05, with or without a zone."""
    here = (now or datetime.now(UTC)).astimezone()
    format_clock = re.fullmatch(r"(\d{1,2}):(\d{2})", text)
    try:
        if format_clock is not None:
            hour, minute = map(int, format_clock.groups())
            at = here.replace(hour=hour, minute=minute, second=0, microsecond=0)
            return at if at > here else at + timedelta(days=1)
        at = datetime.fromisoformat(text)
        return at if at.tzinfo is not None else at.astimezone()
    except (ValueError, OverflowError):
        raise ValueError(
            f'"{text}" is not a time; expected 14:05, 2026-11-20 or 2026-11-20T14:05'
        ) from None


def parse_timestamp(text: str | None) -> datetime | None:
    """Parse a timestamp of an API response."""
    return None if text is None else datetime.fromisoformat(text)


def format_span(seconds: float) -> str:
    """Return a duration in one unit, such as "5 min"."""
    for least, unit, word in _WORDS:
        if seconds >= least:
            return f"{seconds / unit:.0f} {word}"
    return "0 s"


def format_relative(text: str | None, *, now: datetime | None = None) -> str:
    """Return a time relative to now, such as "in 5 min" or "2 h ago"."""
    at = parse_timestamp(text)
    if at is None:
        return ""
    seconds = (at - (now or datetime.now(UTC))).total_seconds()
    if abs(seconds) < 1:
        return "now"
    return f"in {format_span(seconds)}" if seconds > 0 else f"{format_span(-seconds)} ago"


def format_clock(text: str | None, *, now: datetime | None = None) -> str:
    """Return a time in the local zone, with its date unless that is today."""
    at = parse_timestamp(text)
    if at is None:
        return ""
    today = (now or datetime.now(UTC)).astimezone()
    try:
        local = at.astimezone()
    except OverflowError:
        local = at  # so close to the year 9999 that the local time overflows
    if local.date() == today.date():
        return f"{local:%H:%M:%S}"
    return f"{local:%Y-%m-%d %H:%M:%S}"


def format_duration(start: str | None, end: str | None, *, now: datetime | None = None) -> str:
    """Return the duration between two times; without an end, until now."""
    begun, ended = parse_timestamp(start), parse_timestamp(end)
    if begun is None:
        return ""
    return format_span(((ended or now or datetime.now(UTC)) - begun).total_seconds())
