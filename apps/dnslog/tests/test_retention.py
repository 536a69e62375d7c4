"""Retention by days and by size, and the log of pulls, on both dialects."""

from pathlib import Path
from typing import Any

import pytest

from apps.dnslog.tests.query_entries import NOON, NS, entry
from apps.dnslog.tests.test_database import together
from fairlane_dnslog import retention
from fairlane_dnslog.charts import read_series
from fairlane_dnslog.database import Database, open_database
from fairlane_dnslog.pull_log import (
    delete_old_pulls,
    last_good_pull,
    pause_server,
    raise_watermark,
    read_server,
    read_servers,
    recent_gaps,
    recent_pulls,
    record_gap,
    record_pull,
    resume_server,
    set_deep,
)
from fairlane_dnslog.query_log import Filter, search, store_page
from fairlane_dnslog.retention import log_size, tidy

DAY = 86_400


def fill(database: Database, days: int, *, rows_of_a_day: int = 3) -> None:
    with database.transaction() as tx:
        store_page(
            tx,
            "home",
            [
                entry(-day * DAY + n, f"d{day}.example", client=f"10.0.{day}.1")
                for day in range(days)
                for n in range(rows_of_a_day)
            ],
        )


def count(database: Database, table: str) -> int:
    with database.reading() as tx:
        row = tx.row(f"SELECT count(*) AS number FROM {table}")  # noqa: S608
    assert row is not None
    return int(row["number"])


def test_rows_are_deleted_by_age_with_their_names_but_not_their_roll_ups(
    database: Database,
) -> None:
    fill(database, 10)
    rollups = count(database, "rollup")
    done = tidy(database, now=NOON + 60, keep_days=4)
    assert (done.rows, done.rollups, done.is_finished) == (18, 0, True)
    assert (count(database, "query_log"), count(database, "rollup")) == (12, rollups)
    assert (count(database, "domain"), count(database, "client")) == (4, 4)
    with database.reading() as tx:
        assert read_series(tx, since=NOON - 20 * DAY, until=NOON + 60).queries == 30
        assert search(tx, Filter(domain="d7")).rows == ()
        assert len(search(tx, Filter(domain="d3")).rows) == 3


def test_without_limits_nothing_is_deleted(database: Database) -> None:
    fill(database, 500)
    done = tidy(database, now=NOON + 5_000 * DAY)
    assert (done.rows, done.rollups) == (0, 0)


def test_the_oldest_rows_are_deleted_when_the_log_is_too_large(database: Database) -> None:
    fill(database, 50)
    with database.reading() as tx:
        size = log_size(tx)
    assert size.rows == 150
    keep = size.rollup_bytes * 2 + size.row_bytes * 100
    done = tidy(database, now=NOON, keep_bytes=keep)
    assert done.rows == 0
    done = tidy(database, now=NOON, keep_bytes=size.row_bytes * 80)
    assert done.rows == 110  # roll-ups leave at least half of the space to the rows
    assert tidy(database, now=NOON, keep_bytes=size.row_bytes * 80).rows == 0
    with database.reading() as tx:
        rows = search(tx, Filter()).rows
    assert min(row.at_ns for row in rows) > (NOON - 14 * DAY) * NS


def test_old_roll_ups_are_deleted_by_grain(database: Database) -> None:
    fill(database, 800)
    assert tidy(database, now=NOON, keep_days=30).rollups > 0
    with database.reading() as tx:
        oldest = {
            (row["grain"], row["kind"]): (NOON - row["start"]) // DAY
            for row in tx.rows("SELECT grain, kind, min(start) AS start FROM rollup GROUP BY 1, 2")
        }
    assert oldest["minute", "total"] <= 92
    assert oldest["hour", "domain"] <= 400
    assert oldest["hour", "total"] == 799
    assert oldest["day", "domain"] == 799
    assert oldest["month", "domain"] >= 799


def test_a_call_is_bounded_and_can_be_stopped(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "BATCH_ROWS", 10)
    fill(database, 20)
    done = tidy(database, now=NOON + DAY, keep_days=1, rows_at_most=25)
    assert (done.rows, done.is_finished) == (25, False)
    stops = iter([False, True])
    done = tidy(database, now=NOON + DAY, keep_days=1, is_stopping=lambda: next(stops, True))
    assert (done.rows, done.is_finished) == (10, False)


def test_pages_and_retention_at_the_same_time_leave_exact_catalogues(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "BATCH_ROWS", 5)

    def work(index: int) -> None:
        if index == 0:
            tidy(database, now=NOON, keep_days=3)
        else:
            fill(database, 12, rows_of_a_day=index * 3)

    together(work, 4)
    with database.reading() as tx:
        rows = tx.rows(
            "SELECT qh AS name, count(*) AS queries FROM query_log GROUP BY 1 ORDER BY 1"
        )
        assert tx.rows("SELECT name, queries FROM domain ORDER BY name") == rows


def test_the_file_of_sqlite_shrinks_after_many_rows_were_deleted(tmp_path: Path) -> None:
    database = open_database(f"sqlite:///{tmp_path / 'dnslog.db'}")
    database.migrate()
    for first in range(0, 3_000, 500):
        with database.transaction() as tx:
            store_page(tx, "home", [entry(n, f"{n}.example") for n in range(first, first + 500)])

    def pages() -> int:
        with database.reading() as tx:
            row = tx.row("PRAGMA page_count")
        assert row is not None
        return int(row["page_count"])

    before = pages()
    assert tidy(database, now=NOON + 1_000 * DAY, keep_days=1).rows == 3_000
    assert pages() < before * 0.8
    database.close()


# the log of pulls


def test_a_watermark_only_rises(database: Database) -> None:
    with database.transaction() as tx:
        assert read_server(tx, "home").watermark_at_ns is None
        assert raise_watermark(tx, "home", at_ns=5, time="five")
        assert not raise_watermark(tx, "home", at_ns=4, time="four")
        pause_server(tx, "home", reason="401")
        set_deep(tx, "home", at_ns=3)
        raise_watermark(tx, "attic", at_ns=1, time="one")
    with database.reading() as tx:
        state = read_server(tx, "home")
        assert [one.name for one in read_servers(tx)] == ["attic", "home"]
    assert (state.watermark_at_ns, state.watermark_time, state.deep_at_ns) == (5, "five", 3)
    assert state.paused_reason == "401"
    with database.transaction() as tx:
        resume_server(tx, "home")
        assert read_server(tx, "home").paused_reason is None


def test_a_gap_is_recorded_once_and_may_grow(database: Database) -> None:
    with database.transaction() as tx:
        for to_ns, is_news in ((20, True), (20, False), (15, False), (25, True)):
            found = record_gap(
                tx, "home", from_ns=10, to_ns=to_ns, found_at=1.5, reason="AdGuard lost its log"
            )
            assert found == is_news
        record_gap(tx, "attic", from_ns=50, to_ns=60, found_at=2.5, reason="same")
        assert [(gap.server, gap.to_ns) for gap in recent_gaps(tx)] == [("attic", 60), ("home", 25)]
        assert len(recent_gaps(tx, "home")) == 1


def test_the_last_good_pull_remains(database: Database) -> None:
    pull: dict[str, Any] = {"server": "home", "job": None, "seconds": 0.1}
    with database.transaction() as tx:
        for n in range(2):
            record_pull(tx, **pull, started_at=n, state="succeeded")
        for n in range(10):
            record_pull(tx, **pull, started_at=10 + n, state="failed")
        assert delete_old_pulls(tx, keep=3) == 8
        good = last_good_pull(tx, "home")
        assert good is not None
        assert good.started_at == 1


def test_the_newest_pulls_of_each_server_remain(database: Database) -> None:
    with database.transaction() as tx:
        for n in range(10):
            for server in ("home", "attic"):
                record_pull(
                    tx, server=server, job=None, started_at=n, seconds=0.1, state="failed",
                    error_code="busy", error="x" * 9_000,
                )  # fmt: skip
        assert delete_old_pulls(tx, keep=3) == 14
        assert [pull.started_at for pull in recent_pulls(tx, "attic")] == [9, 8, 7]
        assert len(recent_pulls(tx, limit=4)) == 4
        assert len(recent_pulls(tx)[0].error or "") == 2_000
