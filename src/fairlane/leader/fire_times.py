"""The trigger of a schedule: pure arithmetic on instants, without a clock.

An instant is seconds since 1970 in UTC. The same trigger gives the same instants in every process
and after every restart, because an instant is half of the key that makes a firing unique.

Clock changes follow Debian's cron, as cronsim has it. A cron expression that names its minute and
its hour means a nominal time of day, and fires once for it: where the clock jumps over that time,
at the first minute after the gap; where the clock shows it twice, the first time. An expression
whose minute or hour field starts with `*` means a rhythm, and follows real time through both.

Work is bounded for every expression and span. A cron expression that never fires is refused when it
is created. After a long outage only the newest firings are listed; older ones are counted by whole
days, not one by one.
"""

import difflib
import math
import zoneinfo
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from itertools import takewhile
from typing import Final

from cronsim import CronSim, CronSimError
from msgspec import Struct

from fairlane.core.validation import shown
from fairlane.errors import BadSetting

ALIASES: Final[Mapping[str, str]] = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
}

LONGEST_CRON: Final = 200
DAY_SECONDS: Final = 86_400
LONGEST_SECONDS: Final = 3_660.0 * DAY_SECONDS  # ten years: the longest interval and look back
FIRST_INSTANT: Final = -62_000_000_000.0  # the year 5
LAST_INSTANT: Final = 221_845_392_000.0  # the year 9000; datetime ends soon after
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_ANY_MONDAY: Final = datetime(2001, 1, 1, tzinfo=UTC)


class Due(Struct, frozen=True):
    """The newest firings in order, and how many there were with the older ones."""

    times: list[float]
    count: int


class Trigger(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Fire by exactly one of a cron expression, an interval, or a single instant.

    `cron` has five fields, or is one of @hourly @daily @weekly @monthly @yearly, and is read in
    `timezone`. `every_seconds` fires at `anchor_at` and at each whole interval after it, so that a
    restart does not shift the grid; it counts real seconds and ignores the zone. `at` fires once.
    """

    cron: str | None = None
    every_seconds: float | None = None
    at: float | None = None
    anchor_at: float = 0.0
    timezone: str = "UTC"

    def __post_init__(self) -> None:
        given = [
            f"{name}={shown(value)}"
            for name, value in (
                ("cron", self.cron),
                ("every_seconds", self.every_seconds),
                ("at", self.at),
            )
            if value is not None
        ]
        if len(given) != 1:
            raise BadSetting(
                f"a schedule needs exactly one of cron, every_seconds and at; got "
                f"{' and '.join(given) or 'none of them'}"
            )
        _zone(self.timezone)
        _check_number("anchor_at", self.anchor_at, least=0.0, most=LAST_INSTANT)
        if self.every_seconds is None and self.anchor_at != 0:
            raise BadSetting(
                f"anchor_at={self.anchor_at!r} only goes with every_seconds; got {given[0]}"
            )
        if self.every_seconds is not None:
            _check_number("every_seconds", self.every_seconds, least=1.0, most=LONGEST_SECONDS)
        elif self.at is not None:
            _check_number("at", self.at, least=0.0, most=LAST_INSTANT)
        else:
            _check_cron(self.cron)

    @classmethod
    def once(cls, moment: datetime, *, timezone: str = "UTC") -> "Trigger":
        """Fire at this moment; one without a time zone is read in `timezone`."""
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=_zone(timezone))
        return cls(at=moment.timestamp(), timezone=timezone)

    def next_after(self, instant: float) -> float | None:
        """Return the first firing strictly after the instant, or None if there is none."""
        _check_number("instant", instant, least=FIRST_INSTANT, most=math.inf)
        if instant >= LAST_INSTANT:
            return None
        if self.cron is not None:
            return next(_cron_after(self.cron, _zone(self.timezone), instant), None)
        if self.every_seconds is not None:
            ticks = _ticks_until(instant, self.anchor_at, self.every_seconds)
            return self.anchor_at + ticks * self.every_seconds
        return self.at if self.at is not None and self.at > instant else None

    def due(self, after: float, until: float, *, most: int = 1000) -> Due:
        """Return the firings after `after` up to `until`: the newest `most`, and the count.

        A cron expression is evaluated over the last ten years before `until` at most.
        """
        _check_number("after", after, least=FIRST_INSTANT, most=math.inf)
        _check_number("until", until, least=FIRST_INSTANT, most=math.inf)
        until = min(until, LAST_INSTANT)
        if after >= until:
            return Due([], 0)
        if self.cron is not None:
            after = max(after, until - LONGEST_SECONDS)
            return _cron_due(self.cron, _zone(self.timezone), after, until, most)
        if self.every_seconds is not None:
            first = _ticks_until(after, self.anchor_at, self.every_seconds)
            end = _ticks_until(until, self.anchor_at, self.every_seconds)
            shown = range(max(first, end - most), end)
            return Due([self.anchor_at + n * self.every_seconds for n in shown], end - first)
        hits = [self.at] if self.at is not None and after < self.at <= until else []
        return Due(hits[:most], len(hits))


def _ticks_until(instant: float, anchor_at: float, every_seconds: float) -> int:
    """Count the ticks at or before the instant, which is also the number of the next one."""
    count = max(0, math.floor((instant - anchor_at) / every_seconds) + 1)
    # The division may round to a neighbour of the true answer; the ticks themselves decide.
    while count > 0 and anchor_at + (count - 1) * every_seconds > instant:
        count -= 1
    while anchor_at + count * every_seconds <= instant:
        count += 1
    return count


def _cron_after(cron: str, zone: tzinfo, instant: float) -> Iterator[float]:
    """Give the firings after the instant, each later than the one before."""
    pattern = CronSim(_expression(cron), _local(instant, zone))
    is_rhythm = pattern.fixup_tz is None
    last = instant
    for moment in pattern:
        fire_at = moment.timestamp()
        if fire_at >= LAST_INSTANT:
            return
        # Where the clock is set back, cronsim does not tell the two equal hours apart and, started
        # in the second, begins with times of the first.
        if fire_at <= last:
            continue
        # Where the clock jumps over midnight, cronsim starts a day at a midnight that never was.
        shown = _local(fire_at, zone)
        if is_rhythm and (shown.hour not in pattern.hours or shown.minute not in pattern.minutes):
            continue
        last = fire_at
        yield fire_at


def _cron_due(cron: str, zone: tzinfo, after: float, until: float, most: int) -> Due:
    pattern = CronSim(_expression(cron), _ANY_MONDAY)
    a_day = len(pattern.hours) * len(pattern.minutes)
    newest_first: list[float] = []
    count = 0
    for day, opens, closes in _days_back(after, until, zone):
        is_regular = closes - opens == DAY_SECONDS
        if is_regular and not (day.month in pattern.months and pattern.match_day(day)):
            continue
        if is_regular and count >= most and after < opens and closes <= until:
            count += a_day
            continue
        found = _cron_between(cron, zone, max(after, opens - 1), min(until, closes - 1))
        newest_first.extend(reversed(found))
        count += len(found)
    return Due(newest_first[: max(0, most)][::-1], count)


def _cron_between(cron: str, zone: tzinfo, after: float, until: float) -> list[float]:
    return list(takewhile(lambda fire_at: fire_at <= until, _cron_after(cron, zone, after)))


def _days_back(after: float, until: float, zone: tzinfo) -> Iterator[tuple[date, float, float]]:
    """Give each local day that the span touches, the newest first, with its two midnights."""
    day = _local(until, zone).date()
    closes = _midnight(day + timedelta(days=1), zone)
    while closes > after:
        opens = _midnight(day, zone)
        yield day, opens, closes
        day, closes = day - timedelta(days=1), opens


def _local(instant: float, zone: tzinfo) -> datetime:
    return (_EPOCH + timedelta(seconds=instant)).astimezone(zone)


def _midnight(day: date, zone: tzinfo) -> float:
    return datetime.combine(day, time(), zone).timestamp()


def _expression(cron: str) -> str:
    return ALIASES.get(cron.strip().lower(), cron)


def _check_cron(cron: object) -> None:
    if not isinstance(cron, str) or len(cron) > LONGEST_CRON:
        raise BadSetting(f"cron must be text of up to {LONGEST_CRON} characters; got {cron!r:.80}")
    expression = _expression(cron)
    if expression.startswith("@"):
        raise BadSetting(
            f'cron "{cron}" is not known; {_guess(cron.lower(), list(ALIASES))}'
            f"(known: {', '.join(ALIASES)}, or five fields)"
        )
    fields = expression.split()
    if len(fields) != 5:
        raise BadSetting(
            f'cron "{cron}" has {len(fields)} fields and needs five: minute, hour, day of month, '
            'month and day of week, such as "30 2 * * 1-5"'
        )
    try:
        next(CronSim(expression, _ANY_MONDAY))
    except CronSimError as error:
        field = str(error).removeprefix("Bad ")
        raise BadSetting(
            f'the {field} field of cron "{cron}" cannot be used: it is malformed, out of range or, '
            "for a day, in none of the months"
        ) from error
    except StopIteration:
        raise BadSetting(
            f'cron "{cron}" would never fire: no day in 50 years fits all of its fields'
        ) from None


def _check_number(name: str, value: object, *, least: float, most: float) -> None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not least <= value <= most:  # type: ignore[operator]  # NaN fails here too
        raise BadSetting(
            f"{name} must be a number from {least:,.0f} to {most:,.0f}; got {shown(value)}"
        )


def _zone(name: str) -> tzinfo:
    if name == "UTC":
        return UTC  # known even where no time zone data is installed
    try:
        return zoneinfo.ZoneInfo(name)
    except (LookupError, ValueError, TypeError, OSError) as error:
        known = sorted(zoneinfo.available_timezones())
        if not known:
            raise BadSetting(
                f'time zone "{name}" cannot be looked up: this machine has no time zone data; '
                "install the Python package tzdata"
            ) from error
        raise BadSetting(
            f'time zone "{name!s:.80}" is not known; {_guess(str(name)[:80], known)}'
            '(names are those of the IANA list, such as "Europe/Berlin" or "UTC")'
        ) from error


def _guess(wrong: str, known: list[str]) -> str:
    folded = {name.lower(): name for name in known}
    close = difflib.get_close_matches(wrong.lower(), list(folded), n=1)
    return f'did you mean "{folded[close[0]]}"? ' if close else ""
