"""Roll-ups: counts per minute, hour, day and month, so that a chart does not read the log.

They are written in the transaction of their rows, from the rows that were really inserted: a page
that is stored twice counts once. Days and months are those of UTC.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final, Literal

from msgspec import Struct

from fairlane_dnslog.database import BulkInsert, Transaction
from fairlane_dnslog.entries import QueryEntry

Grain = Literal["minute", "hour", "day", "month"]
Kind = Literal["total", "domain", "client", "upstream"]

MINUTE_SECONDS: Final = 60
HOUR_SECONDS: Final = 3_600
DAY_SECONDS: Final = 86_400
_NS: Final = 1_000_000_000

_ADD: Final = BulkInsert(
    "rollup",
    {
        "grain": "text", "kind": "text", "start": "bigint", "server": "text", "key": "text",
        "queries": "bigint", "blocked": "bigint", "elapsed_us": "bigint", "answered": "bigint",
    },
    """
    ON CONFLICT (grain, kind, start, server, key) DO UPDATE SET
        queries = rollup.queries + excluded.queries,
        blocked = rollup.blocked + excluded.blocked,
        elapsed_us = rollup.elapsed_us + excluded.elapsed_us,
        answered = rollup.answered + excluded.answered
    """,
)  # fmt: skip


class Counts(Struct):
    queries: int = 0
    blocked: int = 0
    elapsed_us: int = 0
    answered: int = 0

    def add(self, entry: QueryEntry) -> None:
        self.queries += 1
        self.blocked += entry.blocked
        if entry.upstream and not entry.blocked and not entry.cached:
            self.answered += 1
            self.elapsed_us += entry.elapsed_us


Bucket = tuple[Grain, Kind, int, str]


def add_to_rollups(tx: Transaction, server: str, entries: Iterable[QueryEntry]) -> None:
    """Count entries whose rows this transaction has inserted.

    The rows are in the order of their key, so that two writers never wait for each other.
    """
    counted = count_entries(entries)
    _ADD.run(
        tx,
        [
            (grain, kind, start, server, key,
             sums.queries, sums.blocked, sums.elapsed_us, sums.answered)
            for (grain, kind, start, key), sums in sorted(counted.items(), key=lambda one: one[0])
        ],
    )  # fmt: skip


def count_entries(entries: Iterable[QueryEntry]) -> dict[Bucket, Counts]:
    """Return the counts of all buckets that these entries belong to."""
    counted: dict[Bucket, Counts] = {}
    for entry in entries:
        for bucket in _buckets(entry):
            sums = counted.get(bucket)
            if sums is None:
                sums = counted[bucket] = Counts()
            sums.add(entry)
    return counted


def _buckets(entry: QueryEntry) -> list[Bucket]:
    second = entry.at_ns // _NS
    # Only totals per minute: domains of single minutes would be as many rows as the log has.
    buckets: list[Bucket] = [("minute", "total", second - second % MINUTE_SECONDS, "")]
    starts: tuple[tuple[Grain, int], ...] = (
        ("hour", second - second % HOUR_SECONDS),
        ("day", second - second % DAY_SECONDS),
        ("month", month_start(second - second % DAY_SECONDS)),
    )
    for grain, start in starts:
        buckets.append((grain, "total", start, ""))
        buckets.append((grain, "domain", start, entry.domain))
        buckets.append((grain, "client", start, entry.client))
        if entry.upstream:
            buckets.append((grain, "upstream", start, entry.upstream))
    return buckets


@lru_cache(maxsize=1_024)
def month_start(second: int) -> int:
    """Return the first second of the month of an instant, in UTC."""
    first = datetime.fromtimestamp(second, UTC).replace(
        day=1, hour=0, minute=0, second=0, microsecond=0
    )
    return int(first.timestamp())


@lru_cache(maxsize=1_024)
def next_month_start(second: int) -> int:
    """Return the first second of the following month, in UTC."""
    return month_start(month_start(second) + 32 * DAY_SECONDS)
