"""Roll-ups are the sums of the rows, however these arrive."""

import random
from collections import Counter
from datetime import UTC, datetime

from apps.dnslog.tests.query_entries import NOON, NS, blocked, entry
from apps.dnslog.tests.test_database import together
from fairlane_dnslog.database import Database
from fairlane_dnslog.entries import QueryEntry
from fairlane_dnslog.query_log import store_page
from fairlane_dnslog.rollups import Counts, count_entries, month_start, next_month_start


def read_rollups(database: Database, server: str = "home") -> dict[object, Counts]:
    with database.reading() as tx:
        rows = tx.rows("SELECT * FROM rollup WHERE server = :server", server=server)
    return {
        (row["grain"], row["kind"], row["start"], row["key"]): Counts(
            row["queries"], row["blocked"], row["elapsed_us"], row["answered"]
        )
        for row in rows
    }


def weeks_of_entries(number: int, seed: int) -> list[QueryEntry]:
    chance = random.Random(seed)
    return [
        chance.choice([entry, blocked])(
            chance.uniform(0, 40 * 86_400),
            f"d{chance.randrange(20)}.example",
            client=f"10.0.0.{chance.randrange(4)}",
            cached=chance.random() < 0.3,
            elapsed_us=chance.randrange(90_000),
        )
        for _ in range(number)
    ]


def test_they_are_exact_when_pages_repeat_and_overlap(database: Database) -> None:
    entries = weeks_of_entries(200, seed=1)
    for first in range(0, 200, 30):
        for _ in range(2):
            with database.transaction() as tx:
                store_page(tx, "home", entries[max(first - 25, 0) : first + 30])
    assert read_rollups(database) == count_entries(entries)


def test_they_are_exact_with_several_writers(database: Database) -> None:
    entries = weeks_of_entries(200, seed=2)

    def write(index: int) -> None:
        chance = random.Random(index)
        for _ in range(4):
            with database.transaction() as tx:
                store_page(tx, "home", chance.sample(entries, 60))
                store_page(tx, f"other-{index}", chance.sample(entries, 20))

    together(write, 4)
    with database.transaction() as tx:
        store_page(tx, "home", entries)
    assert read_rollups(database) == count_entries(entries)


def test_a_page_that_is_rolled_back_is_not_counted(database: Database) -> None:
    try:
        with database.transaction() as tx:
            store_page(tx, "home", [entry(1)])
            raise KeyboardInterrupt
    except KeyboardInterrupt:
        pass
    assert read_rollups(database) == {}


def test_the_time_of_an_answer_counts_only_if_an_upstream_gave_it() -> None:
    entries = [
        entry(1, elapsed_us=5),
        entry(2, elapsed_us=7),
        entry(3, elapsed_us=100, cached=True),
        blocked(4, elapsed_us=100),
        entry(5, elapsed_us=100, upstream=""),
    ]
    counted = count_entries(entries)
    assert counted["minute", "total", NOON, ""] == Counts(5, 1, 12, 2)
    assert counted["hour", "upstream", NOON, "tls://dns.example"] == Counts(3, 0, 12, 2)


def test_every_entry_is_in_one_bucket_of_each_grain_and_kind() -> None:
    counted = count_entries(weeks_of_entries(100, seed=3))
    sums: Counter[tuple[str, str]] = Counter()
    for (grain, kind, _, _), one in counted.items():
        sums[grain, kind] += one.queries
    kinds = ("total", "domain", "client")
    expected = {(grain, kind) for grain in ("hour", "day", "month") for kind in kinds}
    assert {key for key, number in sums.items() if number == 100} == expected | {
        ("minute", "total")
    }


def test_instants_before_1970_have_buckets_too() -> None:
    early = entry(0, at_ns=-1)
    assert ("minute", "total", -60, "") in count_entries([early])
    assert early.at_ns // NS == -1


def test_months_have_the_length_of_the_calendar() -> None:
    leap_day = int(datetime(2028, 2, 29, 23, 59, 59, tzinfo=UTC).timestamp())
    assert month_start(leap_day) == int(datetime(2028, 2, 1, tzinfo=UTC).timestamp())
    assert next_month_start(leap_day) == leap_day + 1
    december = int(datetime(2027, 12, 31, tzinfo=UTC).timestamp())
    assert next_month_start(december) == int(datetime(2028, 1, 1, tzinfo=UTC).timestamp())
