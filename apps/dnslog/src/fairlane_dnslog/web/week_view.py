"""The week of the rules: for each weekday the stretches of its day, in the zone of the page."""

from collections.abc import Iterable
from datetime import date, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from msgspec import Struct

from fairlane_dnslog.rules.rule import Rule
from fairlane_dnslog.rules.window import FIRST_YEAR, LAST_YEAR, intervals

MINUTES: Final = 24 * 60
MOST_INTERVALS: Final = 50  # of one rule in one week
MOST_LANES: Final = 12


class Stretch(Struct, frozen=True, kw_only=True):
    """A part of a day; `start` and `end` are minutes of its clock, `lane` counts from the top."""

    rule: Rule
    start: int
    end: int
    lane: int

    @property
    def left(self) -> float:
        return round(self.start / MINUTES * 100, 3)

    @property
    def width(self) -> float:
        return round(max(self.end - self.start, 4) / MINUTES * 100, 3)

    @property
    def times(self) -> str:
        return f"{_clock(self.start)}–{_clock(self.end)}"


class WeekDay(Struct, frozen=True, kw_only=True):
    day: date
    stretches: tuple[Stretch, ...]
    hidden: int  # rules for which there is no room
    now: float | None  # percent of the day that has passed, today

    @property
    def lanes(self) -> int:
        return max((one.lane + 1 for one in self.stretches), default=1)


def monday_of(day: date) -> date:
    return day - timedelta(days=day.weekday())


def week_of(text: str, today: date) -> date:
    """Return the Monday of a week such as "2026-W47"; of this week if there is none.

    Years without rules are refused, so that the weeks before and after exist in the calendar.
    """
    try:
        monday = datetime.strptime(f"{text}-1", "%G-W%V-%u").date()  # noqa: DTZ007 - a day
    except ValueError:
        return monday_of(today)
    return monday if FIRST_YEAR < monday.year < LAST_YEAR else monday_of(today)


def week_days(rules: Iterable[Rule], *, monday: date, zone: ZoneInfo, now: float) -> list[WeekDay]:
    """Return the seven days of a week with the stretches of the enabled rules."""
    known = [rule for rule in rules if rule.enabled]
    return [_week_day(known, monday + timedelta(days=n), zone, now) for n in range(7)]


def _week_day(rules: list[Rule], day: date, zone: ZoneInfo, now: float) -> WeekDay:
    stretches: list[Stretch] = []
    hidden = 0
    for rule in rules:
        parts = _parts(rule, day, zone)
        lane = _free_lane(stretches, parts)
        if lane == MOST_LANES:
            hidden += bool(parts)
            continue
        stretches += [Stretch(rule=rule, start=a, end=b, lane=lane) for a, b in parts]
    local = datetime.fromtimestamp(now, zone)
    passed = (local.hour * 60 + local.minute) / MINUTES * 100 if local.date() == day else None
    return WeekDay(day=day, stretches=tuple(stretches), hidden=hidden, now=passed)


def _free_lane(taken: list[Stretch], parts: list[tuple[int, int]]) -> int:
    """Return the first lane on which no stretch overlaps with these parts of a rule."""
    for lane in range(MOST_LANES):
        busy = [(one.start, one.end) for one in taken if one.lane == lane]
        if not any(a < end and start < b for a, b in parts for start, end in busy):
            return lane
    return MOST_LANES


def _parts(rule: Rule, day: date, zone: ZoneInfo) -> list[tuple[int, int]]:
    """Return the minutes of a day at which a rule is in force, by the clock on the wall."""
    first = datetime(day.year, day.month, day.day, tzinfo=zone).timestamp()
    following = day + timedelta(days=1)
    last = datetime(following.year, following.month, following.day, tzinfo=zone).timestamp()
    found: list[tuple[int, int]] = []
    for start, end in intervals(rule.window, since=first):
        if start >= last or len(found) == MOST_INTERVALS:
            break
        begin = 0 if start <= first else _minute(start, zone)
        finish = MINUTES if end >= last else _minute(end, zone)
        if finish > begin:
            found.append((begin, finish))
    return found


def _minute(at: float, zone: ZoneInfo) -> int:
    local = datetime.fromtimestamp(at, zone)
    return local.hour * 60 + local.minute


def _clock(minute: int) -> str:
    return f"{minute // 60:02d}:{minute % 60:02d}"
