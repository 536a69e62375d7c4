"""Formatting and parsing of times, forecasts and parameters on the command line."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from fairlane.cli.devices import print_devices
from fairlane.cli.exit_codes import UsageProblem
from fairlane.cli.forecast import compare_forecasts
from fairlane.cli.parameters import ParameterTypes, parse_parameters, read_job_lines
from fairlane.cli.terminal import Terminal
from fairlane.cli.times import (
    format_clock,
    format_duration,
    format_relative,
    format_span,
    parse_span,
    parse_time,
    time_ago,
    time_ahead,
)

NOW = datetime(2026, 11, 16, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30s", 30), ("10m", 600), ("2h", 7200), ("1h30m", 5400), ("7d", 604800), ("1.5h", 5400)],
)
def test_lengths_of_time_are_read(text: str, seconds: float) -> None:
    assert parse_span(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["", "10", "m", "10 minutes", "-5m", "1h and a bit"])
def test_what_is_no_length_of_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a duration"):
        parse_span(text)


@pytest.mark.parametrize("text", ["99999999999w", "9" * 400 + "s"])
def test_no_length_of_time_is_longer_than_time(text: str) -> None:
    with pytest.raises(ValueError, match="the maximum is 999999999 days"):
        parse_span(text)


def test_no_length_of_time_leads_out_of_the_calendar() -> None:
    for read in (time_ago, time_ahead):
        with pytest.raises(ValueError, match="outside of the years"):
            read("9999999w")


@pytest.fixture
def far_east(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The clock on the wall is ahead of UTC."""
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("far_east")
def test_the_last_of_all_days_is_shown_in_any_zone() -> None:
    assert format_clock("9999-12-31T23:59:59Z") == "9999-12-31 23:59:59"
    with pytest.raises(ValueError, match="not a time"):
        parse_time("0001-01-01")


def test_times_of_day_are_the_next_ones() -> None:
    here = NOW.astimezone()
    soon, before = here + timedelta(minutes=5), here - timedelta(minutes=5)
    assert parse_time(f"{soon:%H:%M}", now=NOW) == soon
    assert parse_time(f"{before:%H:%M}", now=NOW) == before + timedelta(days=1)
    assert parse_time("2026-11-20T14:05+01:00") == datetime(2026, 11, 20, 13, 5, tzinfo=UTC)
    with pytest.raises(ValueError, match="not a time"):
        parse_time("25:00")


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0, "now"), (-3, "3 s ago"), (90, "in 90 s"), (-600, "10 min ago"), (3 * 86400, "in 3 days")],
)
def test_times_are_said_by_how_far_they_are(seconds: float, said: str) -> None:
    assert format_relative((NOW + timedelta(seconds=seconds)).isoformat(), now=NOW) == said


def test_what_took_no_time_took_none() -> None:
    assert format_span(0.2) == "0 s"
    assert format_duration(NOW.isoformat(), None, now=NOW + timedelta(hours=5)) == "5 h"
    assert format_duration(None, None) == ""


def foreseen(minutes: int | None, waiting: int = 2) -> dict[str, object]:
    at = None if minutes is None else (NOW + timedelta(minutes=minutes)).isoformat()
    return {"empty_at": at, "waiting": waiting, "items": []}


def test_a_comparison_says_how_much_sooner() -> None:
    said = compare_forecasts(foreseen(160), foreseen(5), 6)
    assert said.startswith("with 6 at a time the queue is empty at ")
    assert said.endswith(", 3 h sooner")
    assert compare_forecasts(foreseen(5), foreseen(160), 1).endswith(", 3 h later")
    assert "as without the change" in compare_forecasts(foreseen(5), foreseen(5), 6)
    assert "is unknown" in compare_forecasts(foreseen(None), foreseen(None), 6)
    assert "with 6 at a time" in compare_forecasts(foreseen(None), foreseen(5), 6)
    assert compare_forecasts(foreseen(5, waiting=0), foreseen(5), 6).startswith("no jobs wait")


SCHEMA = {
    "$defs": {"Color": {"enum": ["red"], "type": "string"}},
    "properties": {
        "name": {"type": "string"},
        "count": {"type": "integer"},
        "color": {"$ref": "#/$defs/Color"},
        "either": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "flags": {"type": "array"},
    },
    "required": ["name"],
}


def test_text_stays_text_where_text_is_taken() -> None:
    pairs = ["name=12", "count=12", "color=red", "either=null", "flags=[1]", "other=true"]
    assert parse_parameters(ParameterTypes(SCHEMA), pairs, None) == {
        "name": "12", "count": 12, "color": "red", "either": "null", "flags": [1], "other": True,
    }  # fmt: skip


@pytest.mark.parametrize("pair", ["name", "=x"])
def test_what_is_no_pair_is_refused(pair: str) -> None:
    with pytest.raises(UsageProblem, match="name=value"):
        parse_parameters(ParameterTypes(SCHEMA), [pair], None)


def test_lines_are_objects_or_the_one_missing_value(tmp_path: Path) -> None:
    file = tmp_path / "jobs"
    file.write_text('12\n{"name": "x", "count": 1}\n\n')
    found = list(read_job_lines(ParameterTypes(SCHEMA), file, {"count": 5}))
    assert found == [{"count": 5, "name": "12"}, {"count": 1, "name": "x"}]
    with pytest.raises(UsageProblem, match="exactly one"):
        list(read_job_lines(ParameterTypes(SCHEMA), file, {"name": "given"}))
    file.write_text('{"name": "one\u2028line\u0085only"}\n', encoding="utf-8")
    assert list(read_job_lines(ParameterTypes(SCHEMA), file, {})) == [
        {"name": "one\u2028line\u0085only"}
    ]
    with pytest.raises(UsageProblem, match="cannot be read"):
        list(read_job_lines(ParameterTypes(SCHEMA), tmp_path / "nowhere", {}))


def test_the_reason_of_a_device_that_is_down_is_not_listed_as_its_job(
    capsys: pytest.CaptureFixture[str],
) -> None:
    device = {"name": "pixel", "queue": "phones", "state": "down", "paused": False, "labels": []}
    print_devices(Terminal(), [{**device, "job": None, "note": "unplugged"}])
    heading, row = capsys.readouterr().out.splitlines()
    assert row.index("unplugged") == heading.index("NOTE")
