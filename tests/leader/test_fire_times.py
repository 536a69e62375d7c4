import math
from datetime import UTC, datetime
from itertools import pairwise
from zoneinfo import ZoneInfo

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlane.errors import BadSetting
from fairlane.leader.fire_times import ALIASES, LAST_INSTANT, LONGEST_CRON, Due, Trigger

BERLIN = "Europe/Berlin"
HOUR = 3600.0
DAY = 24 * HOUR


def utc(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def local(text: str, zone: str, *, fold: int = 0) -> float:
    moment = datetime.fromisoformat(text)
    return moment.replace(tzinfo=ZoneInfo(zone), fold=fold).timestamp()


def one_by_one(trigger: Trigger, after: float, until: float) -> list[float]:
    """Return the firings of a span by repeated calls of `next_after`."""
    times: list[float] = []
    fire_at = trigger.next_after(after)
    while fire_at is not None and fire_at <= until:
        times.append(fire_at)
        fire_at = trigger.next_after(fire_at)
    return times


def test_a_cron_expression_fires_strictly_after_the_given_instant() -> None:
    trigger = Trigger(cron="0 3 * * *")
    assert trigger.next_after(utc("2026-05-01 02:59:59")) == utc("2026-05-01 03:00")
    assert trigger.next_after(utc("2026-05-01 03:00") - 0.001) == utc("2026-05-01 03:00")
    assert trigger.next_after(utc("2026-05-01 03:00")) == utc("2026-05-02 03:00")
    assert trigger.next_after(utc("2026-05-01 03:00") + 0.001) == utc("2026-05-02 03:00")


def test_a_cron_expression_is_read_in_its_time_zone() -> None:
    trigger = Trigger(cron="0 3 * * *", timezone=BERLIN)
    assert trigger.next_after(utc("2026-01-10 00:00")) == utc("2026-01-10 02:00")
    assert trigger.next_after(utc("2026-07-10 00:00")) == utc("2026-07-10 01:00")


def test_day_zero_of_the_week_is_sunday() -> None:
    fire_at = Trigger(cron="0 0 * * 0").next_after(utc("2026-05-01 00:00"))
    assert fire_at is not None
    assert datetime.fromtimestamp(fire_at, UTC).strftime("%A") == "Sunday"


@pytest.mark.parametrize(
    ("alias", "expected"),
    [
        ("@hourly", "2026-05-13 11:00"),
        ("@daily", "2026-05-14 00:00"),
        ("@weekly", "2026-05-17 00:00"),
        ("@monthly", "2026-06-01 00:00"),
        ("@yearly", "2027-01-01 00:00"),
        ("@Daily", "2026-05-14 00:00"),
    ],
)
def test_an_alias_stands_for_its_expression(alias: str, expected: str) -> None:
    assert Trigger(cron=alias).next_after(utc("2026-05-13 10:20")) == utc(expected)


def test_every_alias_is_itself_a_valid_expression() -> None:
    for expression in ALIASES.values():
        assert Trigger(cron=expression).next_after(0.0) is not None


def test_a_leap_day_is_found_years_ahead() -> None:
    trigger = Trigger(cron="0 0 29 2 *")
    assert trigger.next_after(utc("2026-05-01 00:00")) == utc("2028-02-29 00:00")


def test_a_nominal_time_in_the_hour_that_the_clock_skips_fires_once_right_after_the_gap() -> None:
    trigger = Trigger(cron="30 2 * * *", timezone=BERLIN)
    due = trigger.due(local("2026-03-28 12:00", BERLIN), local("2026-03-30 12:00", BERLIN))
    assert due.times == [local("2026-03-29 03:00", BERLIN), local("2026-03-30 02:30", BERLIN)]


def test_a_nominal_time_in_the_hour_that_the_clock_repeats_fires_the_first_time_only() -> None:
    trigger = Trigger(cron="30 2 * * *", timezone=BERLIN)
    due = trigger.due(local("2026-10-24 12:00", BERLIN), local("2026-10-26 12:00", BERLIN))
    assert due.times == [
        local("2026-10-25 02:30", BERLIN, fold=0),
        local("2026-10-26 02:30", BERLIN),
    ]


@pytest.mark.parametrize("minutes", [-30.0, 0.0, 15.0, 30.0, 45.0, 59.0])
def test_a_leader_that_starts_anywhere_in_the_repeated_hour_does_not_fire_again(
    minutes: float,
) -> None:
    trigger = Trigger(cron="30 2 * * *", timezone=BERLIN)
    second_two_o_clock = local("2026-10-25 02:00", BERLIN, fold=1)
    started_at = second_two_o_clock + minutes * 60
    assert trigger.next_after(started_at) == local("2026-10-26 02:30", BERLIN)


def test_two_nominal_times_in_the_skipped_hour_fire_as_one() -> None:
    trigger = Trigger(cron="0,30 2 * * *", timezone=BERLIN)
    day = local("2026-03-29 00:00", BERLIN), local("2026-03-29 23:59", BERLIN)
    assert trigger.due(*day) == Due([local("2026-03-29 03:00", BERLIN)], 1)


def test_a_repeating_cron_expression_follows_real_time_through_both_clock_changes() -> None:
    trigger = Trigger(cron="*/15 * * * *", timezone=BERLIN)
    for day in ("2026-03-29", "2026-10-25"):
        noon = local(f"{day} 12:00", BERLIN)
        times = trigger.due(noon - 12 * HOUR, noon).times
        assert {later - earlier for earlier, later in pairwise(times)} == {15 * 60.0}


def test_an_hourly_cron_expression_fires_in_both_of_the_repeated_hours() -> None:
    trigger = Trigger(cron="30 * * * *", timezone=BERLIN)
    first = local("2026-10-25 02:30", BERLIN, fold=0)
    assert trigger.next_after(first) == local("2026-10-25 02:30", BERLIN, fold=1) == first + HOUR


def test_an_expression_for_the_midnight_hour_does_not_fire_on_a_day_without_that_hour() -> None:
    # In Beirut the clock goes from 23:59 on Saturday to 01:00 on Sunday.
    trigger = Trigger(cron="*/30 0 * * *", timezone="Asia/Beirut")
    saturday_noon = local("2026-03-28 12:00", "Asia/Beirut")
    assert trigger.next_after(saturday_noon) == local("2026-03-30 00:00", "Asia/Beirut")
    assert trigger.due(saturday_noon, saturday_noon + DAY) == Due([], 0)


def test_a_daily_schedule_fires_at_the_first_minute_of_a_day_without_midnight() -> None:
    trigger = Trigger(cron="@daily", timezone="Asia/Beirut")
    saturday_noon = local("2026-03-28 12:00", "Asia/Beirut")
    assert trigger.next_after(saturday_noon) == local("2026-03-29 01:00", "Asia/Beirut")


ZONES = [
    "UTC", BERLIN, "America/New_York", "America/Santiago", "America/Havana", "Asia/Beirut",
    "Asia/Kathmandu", "Africa/Casablanca", "Atlantic/Azores", "Australia/Lord_Howe",
]  # fmt: skip
EXPRESSIONS = [
    "* * * * *", "*/20 2 * * *", "30 2 * * *", "0,30 0-3 * * *", "@daily", "15 */2 * * 1",
    "0 0 1 * *", "5 4 L * *", "30 23 * * *", "*/30 0 * * 0", "0 12 13 * 5",
]  # fmt: skip
crons = st.builds(Trigger, cron=st.sampled_from(EXPRESSIONS), timezone=st.sampled_from(ZONES))
intervals = st.builds(
    Trigger,
    every_seconds=st.floats(min_value=20_000.0, max_value=1e7) | st.integers(20_000, 10**6),
    anchor_at=st.floats(min_value=0.0, max_value=1.9e9),
)
onces = st.builds(Trigger, at=st.floats(min_value=1.7e9, max_value=1.9e9))
instants = st.floats(min_value=1.7e9, max_value=1.9e9)


@given(
    trigger=crons | intervals | onces,
    after=instants,
    span=st.floats(min_value=0.0, max_value=4 * DAY),
    most=st.integers(0, 50),
)
def test_due_returns_the_times_that_repeated_calls_of_next_after_return(
    trigger: Trigger, after: float, span: float, most: int
) -> None:
    expected = one_by_one(trigger, after, after + span)
    due = trigger.due(after, after + span, most=most)
    assert due.count == len(expected)
    assert due.times == expected[max(0, len(expected) - most) :]


@given(trigger=crons | intervals | onces, instant=instants)
def test_the_next_firing_is_later_and_no_other_firing_lies_between(
    trigger: Trigger, instant: float
) -> None:
    fire_at = trigger.next_after(instant)
    if fire_at is not None:
        assert fire_at > instant
        halfway = instant + (fire_at - instant) / 2
        assert trigger.next_after(halfway) == fire_at or halfway >= fire_at


@given(trigger=crons | intervals | onces)
def test_a_trigger_survives_a_round_trip_through_json(trigger: Trigger) -> None:
    assert msgspec.json.decode(msgspec.json.encode(trigger), type=Trigger) == trigger


def test_an_interval_stays_on_its_grid_from_any_instant() -> None:
    trigger = Trigger(every_seconds=90, anchor_at=1000.0)
    assert one_by_one(trigger, 1000.0, 1400.0) == [1090.0, 1180.0, 1270.0, 1360.0]
    assert trigger.next_after(1234.5) == 1270.0
    assert trigger.next_after(1270.0) == 1360.0


def test_an_interval_first_fires_at_its_anchor_and_never_before() -> None:
    trigger = Trigger(every_seconds=60, anchor_at=1000.0)
    assert trigger.next_after(10.0) == 1000.0
    assert trigger.due(0.0, 999.0) == Due([], 0)
    assert trigger.due(0.0, 1060.0) == Due([1000.0, 1060.0], 2)


def test_an_interval_that_no_float_holds_exactly_returns_the_same_instants_each_time() -> None:
    trigger = Trigger(every_seconds=1.1, anchor_at=0.3)
    walked = one_by_one(trigger, 1_700_000_000.0, 1_700_000_100.0)
    assert walked == trigger.due(1_700_000_000.0, 1_700_000_100.0).times
    assert all(later > earlier for earlier, later in pairwise(walked))


def test_a_gap_of_decades_at_one_second_is_counted_without_a_loop() -> None:
    due = Trigger(every_seconds=1).due(0.0, 1_800_000_000.0, most=3)
    assert due == Due([1_799_999_998.0, 1_799_999_999.0, 1_800_000_000.0], 1_800_000_000)


def test_a_gap_of_years_at_one_minute_is_counted_exactly_in_a_zone_that_changes_its_clock() -> None:
    after, until = local("2020-01-01 00:00", BERLIN), local("2026-01-01 00:00", BERLIN)
    due = Trigger(cron="* * * * *", timezone=BERLIN).due(after, until, most=2)
    assert due == Due([until - 60, until], round((until - after) / 60))


def test_at_most_ten_years_of_missed_cron_firings_are_counted() -> None:
    until = utc("2026-06-01 12:00")
    assert Trigger(cron="@yearly").due(0.0, until).count == 10


def test_a_rare_cron_expression_is_evaluated_quickly_over_a_long_gap() -> None:
    # A fifth Monday in February comes every 28 years.
    trigger = Trigger(cron="0 0 * 2 MON#5", timezone=BERLIN)
    due = trigger.due(utc("2036-01-01 00:00"), utc("2045-01-01 00:00"))
    assert due == Due([local("2044-02-29 00:00", BERLIN)], 1)


def test_a_one_off_fires_once() -> None:
    trigger = Trigger(at=500.0)
    assert trigger.next_after(499.0) == 500.0
    assert trigger.next_after(500.0) is None
    assert trigger.due(499.0, 500.0) == Due([500.0], 1)
    assert trigger.due(500.0, 900.0) == Due([], 0)


def test_a_one_off_without_a_time_zone_is_read_in_the_time_zone_of_the_schedule() -> None:
    naive = datetime.fromisoformat("2026-07-01 09:00")
    assert Trigger.once(naive, timezone=BERLIN).at == utc("2026-07-01 07:00")
    aware = datetime.fromisoformat("2026-07-01T09:00:00+09:00")
    assert Trigger.once(aware, timezone=BERLIN).at == utc("2026-07-01 00:00")


def test_the_end_of_the_span_is_due_and_its_beginning_is_not() -> None:
    trigger = Trigger(cron="0 * * * *")
    assert trigger.due(HOUR, 3 * HOUR).times == [2 * HOUR, 3 * HOUR]


@pytest.mark.parametrize("trigger", [Trigger(cron="@hourly"), Trigger(every_seconds=5)])
def test_no_firing_is_due_in_a_span_that_ends_before_it_begins(trigger: Trigger) -> None:
    assert trigger.due(1000.0, 1000.0) == trigger.due(1e9, 0.0) == Due([], 0)


@pytest.mark.parametrize("instant", [LAST_INSTANT, 1e300, math.inf])
def test_no_trigger_fires_after_the_end_of_the_calendar(instant: float) -> None:
    for trigger in (Trigger(cron="@hourly"), Trigger(every_seconds=5), Trigger(at=7.0)):
        assert trigger.next_after(instant) is None
        assert trigger.due(instant, math.inf) == Due([], 0)


def test_a_span_without_an_end_returns_the_requested_number_of_firings() -> None:
    assert len(Trigger(cron="@hourly").due(0.0, math.inf, most=7).times) == 7
    assert len(Trigger(every_seconds=1).due(0.0, math.inf, most=7).times) == 7


def test_a_trigger_needs_exactly_one_of_cron_every_seconds_and_at() -> None:
    with pytest.raises(BadSetting, match="exactly one of cron, every_seconds and at; got none"):
        Trigger()
    with pytest.raises(BadSetting, match=r"got cron='@daily' and every_seconds=60"):
        Trigger(cron="@daily", every_seconds=60)


@pytest.mark.parametrize(
    ("cron", "complaint"),
    [
        ("0 0 30 2 *", "day-of-month field"),
        ("0 0 LW * */7", "would never fire"),
        ("61 * * * *", "minute field"),
        ("* * * * MONDAY", "day-of-week field"),
        ("* * * *", "has 4 fields and needs five"),
        ("0 * * * * *", "has 6 fields and needs five"),
        ("", "has 0 fields"),
        ("@dayly", 'did you mean "@daily"'),
        ("@reboot", "known: @hourly, @daily"),
        ("1," * LONGEST_CRON + "1 * * * *", f"up to {LONGEST_CRON} characters"),
    ],
)
def test_a_cron_expression_that_cannot_fire_is_refused_with_the_reason(
    cron: str, complaint: str
) -> None:
    with pytest.raises(BadSetting, match=complaint):
        Trigger(cron=cron)


@pytest.mark.parametrize("seconds", [0, 0.999, -5, math.nan, math.inf, 1e12, True, "60"])
def test_an_interval_under_a_second_or_not_a_number_is_refused(seconds: float) -> None:
    with pytest.raises(BadSetting, match="every_seconds must be a number from 1 to"):
        Trigger(every_seconds=seconds)


@pytest.mark.parametrize("at", [-1.0, math.nan, math.inf, 1e15])
def test_a_one_off_outside_the_calendar_is_refused(at: float) -> None:
    with pytest.raises(BadSetting, match="at must be a number"):
        Trigger(at=at)


def test_an_anchor_without_an_interval_is_refused() -> None:
    with pytest.raises(BadSetting, match="only goes with every_seconds"):
        Trigger(cron="@daily", anchor_at=5.0)


@pytest.mark.parametrize(
    ("zone", "complaint"),
    [
        ("Europe/Berln", 'did you mean "Europe/Berlin"'),
        ("asia/shanghai", 'did you mean "Asia/Shanghai"'),
        ("Europe", "is not known"),
        ("", "is not known"),
        ("../../etc/localtime", "is not known"),
        ("nul\0", "is not known"),
        ("x" * 5000, "is not known"),
    ],
)
def test_an_unknown_time_zone_is_refused_with_the_nearest_known_one(
    zone: str, complaint: str
) -> None:
    with pytest.raises(BadSetting, match=complaint):
        Trigger(cron="@daily", timezone=zone)


def test_a_stored_trigger_that_never_fires_is_refused_when_it_is_decoded() -> None:
    with pytest.raises(BadSetting, match="would never fire"):
        msgspec.json.decode(b'{"cron": "0 0 LW * */7"}', type=Trigger)


@given(
    st.text(max_size=30)
    | st.text(alphabet="0123456789*/,-L#W @", min_size=5, max_size=40)
    | st.lists(
        st.sampled_from(["*", "*/7", "0", "30", "L", "LW", "1-5", "2", "5L", "MON#5", "1#2/3"]),
        min_size=5,
        max_size=5,
    ).map(" ".join)
)
def test_any_text_is_either_refused_or_fires(cron: str) -> None:
    try:
        trigger = Trigger(cron=cron, timezone=BERLIN)
    except BadSetting:
        return
    assert trigger.next_after(1_800_000_000.0) is not None
