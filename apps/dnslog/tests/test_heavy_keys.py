"""Top lists from few keys: the same as from the sums of all keys."""

import random
from collections import Counter

import pytest

from fairlane_dnslog.charts import top_domains
from fairlane_dnslog.database import Database, Transaction
from fairlane_dnslog.heavy_keys import Segment, find_heavy_keys
from fairlane_dnslog.rollups import month_start, next_month_start

YEAR = 365 * 86_400
UNTIL = 1_800_000_000
SINCE = UNTIL - YEAR
INSERT = """
INSERT INTO rollup (grain, kind, start, server, key, queries, blocked, elapsed_us, answered)
VALUES ('month', :kind, :start, :server, :key, :queries, 0, 0, 0)
"""


def months() -> list[int]:
    found = [month_start(SINCE)]
    while found[-1] < month_start(UNTIL):
        found.append(next_month_start(found[-1]))
    return found


def fill(
    tx: Transaction, weights: list[float], servers: list[str], seed: int
) -> Counter[tuple[str, str]]:
    """Store the roll-ups of a year; return the queries by server and domain."""
    chance = random.Random(seed)
    sums: Counter[tuple[str, str]] = Counter()
    for start in months():
        for server in servers:
            total = 0
            for number, weight in enumerate(weights):
                queries = int(weight * chance.choice((0, 0.2, 1, 1, 3)))
                key = f"d{number:03}.example"
                if queries:
                    tx.run(
                        INSERT, kind="domain", start=start, server=server, key=key, queries=queries
                    )
                total += queries
                sums[server, key] += queries
            tx.run(INSERT, kind="total", start=start, server=server, key="", queries=total)
    return sums


@pytest.mark.parametrize(
    "weights",
    [
        [5000 / (n + 1) for n in range(150)],  # few domains have most queries, as in a household
        [40.0] * 150,  # all have about as many
        [1.0] * 60,  # a new log
        [900.0] * 4,  # fewer than the list has places
        [3000.0] * 3 + [2.0] * 120,
    ],
)
def test_a_top_list_has_the_largest_sums(database: Database, weights: list[float]) -> None:
    with database.transaction() as tx:
        sums = fill(tx, weights, ["home", "office"], seed=len(weights))
    for server in ("", "office"):
        counted: Counter[str] = Counter()
        for (place, key), queries in sums.items():
            counted[key] += queries if server in ("", place) else 0
        expected = sorted(((-queries, key) for key, queries in counted.items() if queries))[:10]
        with database.reading() as tx:
            found = top_domains(tx, since=SINCE, until=UNTIL, server=server)
        assert [(-one.queries, one.name) for one in found] == expected


def test_few_keys_of_a_household_are_added_up(database: Database) -> None:
    year = [Segment("month", months()[0], UNTIL)]
    with database.transaction() as tx:
        fill(tx, [5000 / (n + 1) for n in range(150)], ["home"], seed=1)
        heavy = find_heavy_keys(tx, "domain", year, "", 10)
        assert heavy is not None
        assert 10 <= len(heavy.keys) < 50
        assert heavy.starts == months()
