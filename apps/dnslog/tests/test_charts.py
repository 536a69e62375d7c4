"""Charts of a time range, on both dialects."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from apps.dnslog.tests.query_entries import NOON, blocked, entry
from fairlane_dnslog.charts import (
    BadTimeRange,
    Point,
    Top,
    Upstream,
    read_charts,
    read_series,
    slowest_upstreams,
    top_clients,
    top_domains,
)
from fairlane_dnslog.database import Database
from fairlane_dnslog.entries import QueryEntry
from fairlane_dnslog.query_log import store_page

HOUR = 3_600
DAY = 86_400


def store(database: Database, *entries: QueryEntry, server: str = "home") -> None:
    with database.transaction() as tx:
        store_page(tx, server, entries)


def test_a_short_series_has_a_point_for_every_minute(database: Database) -> None:
    store(database, entry(10), blocked(20), entry(130))
    store(database, entry(15), server="office")
    with database.reading() as tx:
        series = read_series(tx, since=NOON + 5, until=NOON + 181)
        at_home = read_series(tx, since=NOON, until=NOON + 60, server="home")
    assert series.grain == "minute"
    assert series.points == (
        Point(NOON, 3, 1),
        Point(NOON + 60, 0, 0),
        Point(NOON + 120, 1, 0),
        Point(NOON + 180, 0, 0),
    )
    assert (series.queries, series.blocked, series.share_blocked) == (4, 1, 0.25)
    assert at_home.points == (Point(NOON, 2, 1),)


@pytest.mark.parametrize(
    ("length", "grain", "points"),
    [
        (DAY, "minute", 1440),
        (7 * DAY, "hour", 168),
        (365 * DAY, "day", 366),
        (900 * DAY, "day", 901),
    ],
)
def test_the_grain_depends_on_the_length(
    database: Database, length: int, grain: str, points: int
) -> None:
    store(database, entry(-1), blocked(-2 * HOUR))
    with database.reading() as tx:
        series = read_series(tx, since=NOON - length, until=NOON)
    assert (series.grain, len(series.points)) == (grain, points)
    assert (series.queries, series.blocked) == (2, 1)


def test_an_empty_log_has_charts_too(database: Database) -> None:
    with database.reading() as tx:
        charts = read_charts(tx, since=NOON - DAY, until=NOON)
    assert (charts.series.queries, charts.series.share_blocked) == (0, 0.0)
    assert (charts.domains, charts.clients, charts.upstreams) == ((), (), ())


def test_days_are_those_of_the_time_zone_with_its_clock_changes(database: Database) -> None:
    zone = ZoneInfo("Europe/Berlin")
    first = datetime(2026, 3, 1, tzinfo=zone).timestamp()
    end = datetime(2026, 5, 1, tzinfo=zone).timestamp()
    # The 29th of March has 23 hours there: a query in its first hour, and one after its last.
    change = int(datetime(2026, 3, 29, tzinfo=zone).timestamp())
    store(database, entry(change - NOON), entry(change + 23 * HOUR - NOON, "next.day"))
    with database.reading() as tx:
        series = read_series(tx, since=first, until=end, timezone="Europe/Berlin")
    assert len(series.points) == 61
    assert [point for point in series.points if point.queries] == [
        Point(change, 1, 0),
        Point(change + 23 * HOUR, 1, 0),
    ]


def test_top_lists_are_sorted_by_their_queries(database: Database) -> None:
    store(
        database,
        *(entry(n, "often.example") for n in range(3)),
        *(blocked(n, client="10.0.0.9", client_name="") for n in range(2)),
        entry(9, "b.example", upstream="slow", elapsed_us=9_000),
        entry(9, "a.example", upstream="slow", elapsed_us=11_001),
    )
    with database.reading() as tx:
        charts = read_charts(tx, since=NOON - HOUR, until=NOON + HOUR, limit=3)
    assert charts.domains == (
        Top(name="often.example", queries=3, blocked=0),
        Top(name="ads.example.com", queries=2, blocked=2),
        Top(name="a.example", queries=1, blocked=0),
    )
    assert charts.clients == (
        Top(name="192.168.1.10", label="tablet", queries=5, blocked=0),
        Top(name="10.0.0.9", queries=2, blocked=2),
    )
    assert charts.upstreams == (
        Upstream(name="slow", answered=2, mean_us=10_000),
        Upstream(name="tls://dns.example", answered=3, mean_us=1_000),
    )
    assert (charts.since, charts.until) == (NOON - HOUR, NOON + HOUR)


@pytest.mark.parametrize("days", [1, 3, 4, 14, 15, 16, 17, 30, 45, 60, 75, 91, 120, 365])
def test_every_query_of_a_range_is_counted_once(database: Database, days: int) -> None:
    """The buckets in the middle are coarser, so their seams are tested with a query per day."""
    store(database, *(entry(-n * DAY - 1) for n in range(400)))
    with database.reading() as tx:
        charts = read_charts(tx, since=NOON - days * DAY, until=NOON)
        [top] = charts.domains
        [client] = top_clients(tx, since=NOON - days * DAY, until=NOON)
        [upstream] = slowest_upstreams(tx, since=NOON - days * DAY, until=NOON)
    covered = sum(charts.since <= NOON - n * DAY - 1 < charts.until for n in range(400))
    assert top.queries == client.queries == upstream.answered == covered
    assert charts.since <= NOON - days * DAY
    assert charts.until >= NOON


def test_an_old_range_is_answered_by_coarser_roll_ups_than_retention_deleted(
    database: Database,
) -> None:
    store(database, entry(-10), entry(40 * DAY))
    with database.transaction() as tx:
        tx.run("DELETE FROM rollup WHERE grain = 'minute' AND start < :noon", noon=NOON)
        tx.run(
            "DELETE FROM rollup WHERE grain = 'hour' AND kind = 'domain' AND start < :noon",
            noon=NOON,
        )
    with database.reading() as tx:
        series = read_series(tx, since=NOON - HOUR, until=NOON)
        [top] = top_domains(tx, since=NOON - HOUR, until=NOON)
    assert (series.grain, series.queries) == ("hour", 1)
    assert top.queries == 1


@pytest.mark.parametrize(
    ("since", "until"), [(NOON, NOON), (NOON, NOON - 1), (0, NOON), (1e14, 1e14 + 60)]
)
def test_a_range_that_is_empty_or_endless_is_refused(
    database: Database, since: float, until: float
) -> None:
    with database.reading() as tx, pytest.raises(BadTimeRange, match="expected epoch seconds"):
        read_charts(tx, since=since, until=until)


def test_a_year_in_utc_begins_at_midnight(database: Database) -> None:
    with database.reading() as tx:
        series = read_series(tx, since=NOON - 365 * DAY, until=NOON)
    assert datetime.fromtimestamp(series.points[0].start, UTC).hour == 0
