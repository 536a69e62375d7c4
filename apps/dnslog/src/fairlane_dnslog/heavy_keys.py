"""The few keys among which the largest of a top list are, without adding up all keys.

A year has hundreds of thousands of roll-ups of domains, and nearly all of them are small. A key
whose sum over B buckets is at least S has a bucket with at least S / B. So one scan reads only the
buckets above a threshold. The sums of these are lower bounds: the last of the largest ones is an S
for which the threshold can be checked. Every key that could still exceed it remains.
"""

from collections.abc import Sequence
from heapq import nlargest
from typing import Final

from msgspec import Struct

from fairlane_dnslog.database import Transaction
from fairlane_dnslog.rollups import Grain, Kind

MOST_KEYS: Final = 200
FIRST_SHARE: Final = 0.004  # of all queries, which a name in a list of ten mostly has
_TOTALS: Final = """
SELECT start, server, queries FROM rollup
WHERE grain = :grain AND kind = 'total' AND start >= :since AND start < :until
"""
_HEAVY: Final = """
SELECT key, queries FROM rollup WHERE grain = :grain AND kind = :kind
    AND start >= :since AND start < :until AND queries >= :least {of_server}
"""


class Segment(Struct, frozen=True):
    """Buckets of one grain: those that start in [since, until)."""

    grain: Grain
    since: int
    until: int


class HeavyKeys(Struct, frozen=True):
    """Keys, and all starts and servers of their buckets: with these, few roll-ups are read."""

    keys: list[str]
    starts: list[int]
    servers: list[str]


def find_heavy_keys(
    tx: Transaction, kind: Kind, segments: Sequence[Segment], server: str, limit: int
) -> HeavyKeys | None:
    """Return keys among which the `limit` largest are; None if that is not worth the effort."""
    totals = [
        row
        for segment in segments
        for row in tx.rows(_TOTALS, grain=segment.grain, since=segment.since, until=segment.until)
        if server in ("", row["server"])
    ]
    buckets = len(totals)
    queries = sum(row["queries"] for row in totals)
    least = int(queries * FIRST_SHARE / buckets) if buckets else 0
    while least > 1:
        sums = _sum_heavy(tx, kind, segments, server, least)
        last = nlargest(limit, (known for known, _ in sums.values()))
        if len(last) < limit:
            least //= 4  # fewer heavy keys than the list has places
        elif least * buckets > last[-1]:
            least = last[-1] // buckets  # its sums are larger, so it is low enough
        else:
            found = [
                key for key, (known, counted) in sums.items()
                if known + (buckets - counted) * (least - 1) >= last[-1]
            ]  # fmt: skip
            if len(found) > MOST_KEYS:
                return None
            starts = sorted({row["start"] for row in totals})
            return HeavyKeys(found, starts, sorted({row["server"] for row in totals}))
    return None


def _sum_heavy(
    tx: Transaction, kind: Kind, segments: Sequence[Segment], server: str, least: int
) -> dict[str, tuple[int, int]]:
    """Return the sum and the number of the heavy buckets of each key."""
    sums: dict[str, tuple[int, int]] = {}
    of_server = {"server": server} if server else {}
    sql = _HEAVY.format(of_server="AND server = :server" if server else "")
    for segment in segments:
        for row in tx.rows(
            sql, grain=segment.grain, kind=kind, since=segment.since, until=segment.until,
            least=least, **of_server,
        ):  # fmt: skip
            known, counted = sums.get(row["key"], (0, 0))
            sums[row["key"]] = (known + row["queries"], counted + 1)
    return sums
