"""Times as people say them: 10m, 14:05, tomorrow's date; and back."""

import re
from datetime import UTC, datetime, timedelta
from typing import Final

_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_SPAN: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([smhdw])")
_WORDS: Final = ((86400 * 2, 86400, "days"), (7200, 3600, "h"), (120, 60, "min"), (0, 1, "s"))
SPAN_EXAMPLES: Final = "30s, 10m, 2h, 1h30m, 7d"


def span_from(text: str) -> timedelta:
    """Read a length of time such as 1h30m."""
    parts = _SPAN.findall(text)
    if not parts or _SPAN.sub("", text).strip():
        raise ValueError(f'"{text}" is not a length of time; write it as in {SPAN_EXAMPLES}')
    try:
        return timedelta(seconds=sum(float(amount) * _UNITS[unit] for amount, unit in parts))
    except OverflowError:
        raise ValueError(f'"{text}" is longer than time is counted') from None


def ago(text: str) -> datetime:
    """Read a length of time, and go back so far from now."""
    return _moved(text, -span_from(text))


def ahead(text: str) -> datetime:
    """Read a length of time, and go forward so far from now."""
    return _moved(text, span_from(text))


def _moved(text: str, distance: timedelta) -> datetime:
    try:
        return datetime.now(UTC) + distance
    except OverflowError:
        raise ValueError(f'"{text}" leads out of the years that are counted, 1 to 9999') from None


def instant_from(text: str, *, now: datetime | None = None) -> datetime:
    """Read a time: 14:05 (the next one), 2026-11-20, 2026-11-20T14:05, with or without a zone."""
    here = (now or datetime.now(UTC)).astimezone()
    clock = re.fullmatch(r"(\d{1,2}):(\d{2})", text)
    try:
        if clock is not None:
            hour, minute = map(int, clock.groups())
            at = here.replace(hour=hour, minute=minute, second=0, microsecond=0)
            return at if at > here else at + timedelta(days=1)
        at = datetime.fromisoformat(text)
        return at if at.tzinfo is not None else at.astimezone()
    except (ValueError, OverflowError):
        raise ValueError(
            f'"{text}" is not a time; write 14:05, 2026-11-20 or 2026-11-20T14:05'
        ) from None


def parsed(text: str | None) -> datetime | None:
    """Read a time of an answer."""
    return None if text is None else datetime.fromisoformat(text)


def span(seconds: float) -> str:
    """Say a length of time in one unit."""
    for least, unit, word in _WORDS:
        if seconds >= least:
            return f"{seconds / unit:.0f} {word}"
    return "0 s"


def relative(text: str | None, *, now: datetime | None = None) -> str:
    """Say how long ago, or in how long."""
    at = parsed(text)
    if at is None:
        return ""
    seconds = (at - (now or datetime.now(UTC))).total_seconds()
    if abs(seconds) < 1:
        return "now"
    return f"in {span(seconds)}" if seconds > 0 else f"{span(-seconds)} ago"


def clock(text: str | None, *, now: datetime | None = None) -> str:
    """Say a time by the local clock, with its date unless it is today's."""
    at = parsed(text)
    if at is None:
        return ""
    today = (now or datetime.now(UTC)).astimezone()
    try:
        local = at.astimezone()
    except OverflowError:
        local = at  # so near to the last of all years that a zone would leave it
    if local.date() == today.date():
        return f"{local:%H:%M:%S}"
    return f"{local:%Y-%m-%d %H:%M:%S}"


def between(start: str | None, end: str | None, *, now: datetime | None = None) -> str:
    """Say how long something took, or has taken up to now."""
    begun, ended = parsed(start), parsed(end)
    if begun is None:
        return ""
    return span(((ended or now or datetime.now(UTC)) - begun).total_seconds())
