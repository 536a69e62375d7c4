"""Windows as instants, compared with a clock that is read minute by minute."""

import math
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlane_dnslog.rules.errors import InvalidRule
from fairlane_dnslog.rules.window import (
    WEEKDAYS,
    Window,
    boundary_after,
    checked_window,
    intervals,
    is_active,
    once,
)

MINUTE = 60
DAYS = 5  # the length of a clock

# The first of four days around a clock change, or around none.
CHANGES = (
    ("Europe/Berlin", date(2026, 3, 27)),
    ("Europe/Berlin", date(2026, 10, 23)),
    ("America/New_York", date(2026, 3, 6)),
    ("America/New_York", date(2026, 10, 30)),
    ("Australia/Lord_Howe", date(2026, 4, 3)),
    ("Australia/Lord_Howe", date(2026, 10, 2)),
    ("Asia/Kathmandu", date(2026, 6, 1)),
    ("America/Sao_Paulo", date(2018, 11, 2)),  # from 00:00 to 01:00
    ("America/Sao_Paulo", date(2018, 2, 15)),  # from 00:00 back to 23:00
    ("Pacific/Apia", date(2011, 12, 28)),  # without the 30th
    ("UTC", date(2026, 1, 1)),
)


class Clock:
    """The local time of each minute of some days; slow and simple.

    At a minute the clock "has shown" a time if it or a later one was shown before, and "will show"
    a time if an earlier one comes again: a window is between the two.
    """

    def __init__(self, zone: str, first: date) -> None:
        begin = datetime(first.year, first.month, first.day, tzinfo=ZoneInfo(zone))
        self.start = int(begin.timestamp()) - 24 * 3600
        self.minutes = range(self.start, self.start + (DAYS + 2) * 24 * 3600, MINUTE)
        shown = [datetime.fromtimestamp(at, ZoneInfo(zone)).replace(tzinfo=None)
                 for at in self.minutes]  # fmt: skip
        self.latest = list(shown)
        for number in range(1, len(shown)):
            self.latest[number] = max(shown[number], self.latest[number - 1])
        self.earliest = list(shown)
        for number in reversed(range(len(shown) - 1)):
            self.earliest[number] = min(shown[number], self.earliest[number + 1])

    def is_active(self, window: Window, number: int) -> bool:
        at = self.minutes[number]
        if window.from_at is not None and at < window.from_at:
            return False
        if window.until_at is not None and at >= window.until_at:
            return False
        near = self.latest[number].date()
        return any(
            self._is_part(window, near + timedelta(days=days), number) for days in (-2, -1, 0, 1)
        )

    def _is_part(self, window: Window, day: date, number: int) -> bool:
        if window.weekdays and WEEKDAYS[day.weekday()] not in window.weekdays:
            return False
        if window.first_date is not None and day < window.first_date:
            return False
        if window.last_date is not None and day > window.last_date:
            return False
        start, end = on(day, window.start or "00:00"), on(day, window.end or "24:00")
        if end <= start:
            end += timedelta(days=1)
        return self.latest[number] >= start and self.earliest[number] < end


def on(day: date, clock: str) -> datetime:
    hours, minutes = clock.split(":")
    midnight = datetime(day.year, day.month, day.day)  # noqa: DTZ001 - a time of a local clock
    return midnight + timedelta(hours=int(hours), minutes=int(minutes))


@cache
def clock_of(zone: str, first: date) -> Clock:
    return Clock(zone, first)


@st.composite
def windows(draw: st.DrawFn, zone: str, first: date) -> Window:
    start, end = draw(
        st.tuples(st.integers(0, 95), st.integers(1, 96)).filter(lambda pair: pair[0] != pair[1])
        | st.none()
        | st.sampled_from([(6, 12), (8, 10), (94, 3), (0, 96), (92, 95), (94, 0)])
    ) or (None, None)
    dates = [first + timedelta(days=days) for days in range(DAYS)]
    a, b = sorted([draw(st.sampled_from(dates)), draw(st.sampled_from(dates))])
    begin = clock_of(zone, first).start
    from_at = draw(st.none() | st.integers(0, DAYS * 1440).map(lambda n: begin + n * 60))
    minutes = draw(st.none() | st.integers(1, 3000))
    return checked_window(
        Window(
            weekdays=tuple(draw(st.sets(st.sampled_from(WEEKDAYS)))),
            start="" if start is None else quarter(start),
            end="" if end is None else quarter(end),
            first_date=draw(st.sampled_from([None, a])),
            last_date=draw(st.sampled_from([None, b])),
            timezone=zone,
            from_at=from_at,
            until_at=None if minutes is None else (from_at or begin + 86400) + minutes * 60,
        )
    )


def quarter(number: int) -> str:
    return f"{number // 4:02d}:{number % 4 * 15:02d}"


@pytest.mark.parametrize(("zone", "first"), CHANGES)
@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_a_window_is_active_at_the_minutes_that_a_clock_shows(
    zone: str, first: date, data: st.DataObject
) -> None:
    window = data.draw(windows(zone, first))
    clock = clock_of(zone, first)
    inside = range(1440, len(clock.minutes) - 1440)
    expected = {clock.minutes[number] for number in inside if clock.is_active(window, number)}
    found = set()
    for start, end in intervals(window, since=clock.minutes[inside[0]]):
        if start > clock.minutes[inside[-1]]:
            break
        low, high = max(start, clock.minutes[inside[0]]), min(end, clock.minutes[inside[-1]] + 1)
        found |= set(range(int(low), math.ceil(high), MINUTE))
    assert found == expected


@pytest.mark.parametrize(("zone", "first"), CHANGES)
@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_between_two_boundaries_a_window_does_not_change(
    zone: str, first: date, data: st.DataObject
) -> None:
    window = data.draw(windows(zone, first))
    at = float(clock_of(zone, first).minutes[1440] + data.draw(st.integers(0, 2 * 86400)))
    boundary = boundary_after(window, at)
    after = at + 3 * 86400 if boundary is None else boundary
    assert after > at
    for part in (0.25, 0.5, 0.999):
        assert is_active(window, at + (after - at) * part) == is_active(window, at)
    if boundary is not None:
        assert is_active(window, boundary) != is_active(window, at)


def at(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def shown(window: Window, *, since: str, number: int = 3) -> list[tuple[str, str]]:
    found: Iterator[tuple[float, float]] = intervals(window, since=at(since))
    texts = []
    for _, (start, end) in zip(range(number), found, strict=False):
        texts.append((_text(start), _text(end)))
    return texts


def _text(instant: float) -> str:
    return datetime.fromtimestamp(instant, UTC).strftime("%m-%d %H:%M")


def test_an_overnight_window_belongs_to_the_day_on_which_it_starts() -> None:
    window = Window(weekdays=("fri",), start="22:00", end="06:00", timezone="Europe/Berlin")
    assert is_active(window, at("2026-01-03T05:59:00+01:00"))  # a Saturday
    assert not is_active(window, at("2026-01-03T06:00:00+01:00"))
    assert not is_active(window, at("2026-01-02T05:00:00+01:00"))  # the morning of the Friday


def test_a_start_that_is_skipped_is_the_jump_and_an_end_that_is_repeated_its_second_time() -> None:
    spring = Window(start="02:30", end="04:00", timezone="Europe/Berlin")
    assert shown(spring, since="2026-03-29T00:00:00+01:00", number=1) == [
        ("03-29 01:00", "03-29 02:00")
    ]
    autumn = Window(start="02:15", end="02:45", timezone="Europe/Berlin")
    assert shown(autumn, since="2026-10-25T00:00:00+02:00", number=1) == [
        ("10-25 00:15", "10-25 01:45")
    ]


def test_a_window_inside_the_skipped_hour_does_not_occur_on_that_day() -> None:
    window = Window(start="02:10", end="02:40", timezone="Europe/Berlin")
    assert shown(window, since="2026-03-29T00:00:00+01:00", number=1) == [
        ("03-30 00:10", "03-30 00:40")
    ]


def test_whole_days_are_joined_and_last_from_midnight_to_midnight() -> None:
    window = Window(weekdays=("sat", "sun"), timezone="Europe/Berlin")
    assert shown(window, since="2026-03-27T00:00:00+01:00", number=2) == [
        ("03-27 23:00", "03-29 22:00"),  # an hour less
        ("04-03 22:00", "04-05 22:00"),
    ]


def test_a_window_of_all_days_has_no_boundary() -> None:
    assert boundary_after(Window(), 1e9) is None
    assert is_active(Window(), 1e9)
    assert boundary_after(Window(weekdays=WEEKDAYS, start="00:00", end="24:00"), 1e9) is None


def test_dates_are_inclusive_and_concern_the_start() -> None:
    window = Window(
        start="22:00", end="02:00", first_date=date(2026, 7, 1), last_date=date(2026, 7, 2)
    )
    assert shown(window, since="2020-01-01T00:00:00+00:00") == [
        ("07-01 22:00", "07-02 02:00"),
        ("07-02 22:00", "07-03 02:00"),
    ]
    assert boundary_after(window, at("2026-07-03T02:00:00+00:00")) is None


def test_thirty_minutes_from_now_end_after_thirty_minutes() -> None:
    window = checked_window(once(from_at=1000.5, seconds=1800))
    assert not is_active(window, 1000.0)
    assert is_active(window, 1000.5)
    assert not is_active(window, 2800.5)
    assert (boundary_after(window, 0), boundary_after(window, 1001)) == (1000.5, 2800.5)
    assert boundary_after(window, 2800.5) is None


@pytest.mark.parametrize(
    ("window", "field"),
    [
        (Window(timezone="Mars/Olympus"), "timezone"),
        (Window(timezone="../../etc/passwd"), "timezone"),
        (Window(timezone=""), "timezone"),
        (Window(timezone="Europe"), "timezone"),
        (Window(timezone="a\x00b"), "timezone"),
        (Window(start="8:00", end="09:00"), "start"),
        (Window(start="08:00", end="25:00"), "end"),
        (Window(start="08:00", end="08:00"), "end"),
        (Window(start="24:00", end="08:00"), "start"),
        (Window(start="08:00"), "end"),
        (Window(end="08:00"), "start"),
        (Window(weekdays=("monday",)), "weekdays"),  # type: ignore[arg-type]
        (Window(first_date=date(2026, 2, 1), last_date=date(2026, 1, 1)), "last_date"),
        (Window(first_date=date(9999, 1, 1)), "first_date"),
        (Window(from_at=5.0, until_at=5.0), "until_at"),
        (Window(from_at=math.nan), "from_at"),
        (Window(until_at=math.inf), "until_at"),
        (Window(until_at=1e300), "until_at"),
    ],
)
def test_a_window_that_makes_no_sense_is_refused_with_the_name_of_its_field(
    window: Window, field: str
) -> None:
    with pytest.raises(InvalidRule) as refused:
        checked_window(window)
    assert refused.value.field == field


def test_weekdays_are_stored_in_the_order_of_the_week() -> None:
    assert checked_window(Window(weekdays=("sun", "mon", "sun"))).weekdays == ("mon", "sun")
