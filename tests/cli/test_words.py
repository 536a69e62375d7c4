"""What the command line says of times, forecasts and findings, and what it reads."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from fairlane.cli.exit_codes import Misused
from fairlane.cli.forecast import compared
from fairlane.cli.parameters import Shape, lines_from, params_from
from fairlane.cli.times import (
    ago,
    ahead,
    between,
    clock,
    instant_from,
    relative,
    span,
    span_from,
)

NOW = datetime(2026, 11, 16, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30s", 30), ("10m", 600), ("2h", 7200), ("1h30m", 5400), ("7d", 604800), ("1.5h", 5400)],
)
def test_lengths_of_time_are_read(text: str, seconds: float) -> None:
    assert span_from(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["", "10", "m", "10 minutes", "-5m", "1h and a bit"])
def test_what_is_no_length_of_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a length of time"):
        span_from(text)


@pytest.mark.parametrize("text", ["99999999999w", "9" * 400 + "s"])
def test_no_length_of_time_is_longer_than_time(text: str) -> None:
    with pytest.raises(ValueError, match="longer than time is counted"):
        span_from(text)


def test_no_length_of_time_leads_out_of_the_calendar() -> None:
    for read in (ago, ahead):
        with pytest.raises(ValueError, match="out of the years"):
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
    assert clock("9999-12-31T23:59:59Z") == "9999-12-31 23:59:59"
    with pytest.raises(ValueError, match="not a time"):
        instant_from("0001-01-01")


def test_times_of_day_are_the_next_ones() -> None:
    here = NOW.astimezone()
    soon, before = here + timedelta(minutes=5), here - timedelta(minutes=5)
    assert instant_from(f"{soon:%H:%M}", now=NOW) == soon
    assert instant_from(f"{before:%H:%M}", now=NOW) == before + timedelta(days=1)
    assert instant_from("2026-11-20T14:05+01:00") == datetime(2026, 11, 20, 13, 5, tzinfo=UTC)
    with pytest.raises(ValueError, match="not a time"):
        instant_from("25:00")


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0, "now"), (-3, "3 s ago"), (90, "in 90 s"), (-600, "10 min ago"), (3 * 86400, "in 3 days")],
)
def test_times_are_said_by_how_far_they_are(seconds: float, said: str) -> None:
    assert relative((NOW + timedelta(seconds=seconds)).isoformat(), now=NOW) == said


def test_what_took_no_time_took_none() -> None:
    assert span(0.2) == "0 s"
    assert between(NOW.isoformat(), None, now=NOW + timedelta(hours=5)) == "5 h"
    assert between(None, None) == ""


def foreseen(minutes: int | None, waiting: int = 2) -> dict[str, object]:
    at = None if minutes is None else (NOW + timedelta(minutes=minutes)).isoformat()
    return {"empty_at": at, "waiting": waiting, "items": []}


def test_a_comparison_says_how_much_sooner() -> None:
    said = compared(foreseen(160), foreseen(5), 6)
    assert said.startswith("with 6 at a time the queue is empty at ")
    assert said.endswith(", 3 h sooner")
    assert compared(foreseen(5), foreseen(160), 1).endswith(", 3 h later")
    assert "as without the change" in compared(foreseen(5), foreseen(5), 6)
    assert "not known" in compared(foreseen(None), foreseen(None), 6)
    assert "with 6 at a time" in compared(foreseen(None), foreseen(5), 6)
    assert compared(foreseen(5, waiting=0), foreseen(5), 6).startswith("nothing waits")


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
    assert params_from(Shape(SCHEMA), pairs, None) == {
        "name": "12", "count": 12, "color": "red", "either": "null", "flags": [1], "other": True,
    }  # fmt: skip


@pytest.mark.parametrize("pair", ["name", "=x"])
def test_what_is_no_pair_is_refused(pair: str) -> None:
    with pytest.raises(Misused, match="name=value"):
        params_from(Shape(SCHEMA), [pair], None)


def test_lines_are_objects_or_the_one_missing_value(tmp_path: Path) -> None:
    file = tmp_path / "jobs"
    file.write_text('12\n{"name": "x", "count": 1}\n\n')
    found = list(lines_from(Shape(SCHEMA), file, {"count": 5}))
    assert found == [{"count": 5, "name": "12"}, {"count": 1, "name": "x"}]
    with pytest.raises(Misused, match="exactly one"):
        list(lines_from(Shape(SCHEMA), file, {"name": "given"}))
    file.write_text('{"name": "one\u2028line\u0085only"}\n', encoding="utf-8")
    assert list(lines_from(Shape(SCHEMA), file, {})) == [{"name": "one\u2028line\u0085only"}]
    with pytest.raises(Misused, match="cannot be read"):
        list(lines_from(Shape(SCHEMA), tmp_path / "nowhere", {}))
