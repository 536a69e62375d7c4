"""The numbers behind the charts of a time range, all from roll-ups.

The grain of a series is chosen by the length of the range. The top lists add up the buckets that
cover the range, and their precision decreases with its length: whole hours up to three days, whole
days up to three months, whole months beyond. Each answer says which time it covers.
"""

from datetime import datetime, timedelta, tzinfo
from typing import Final, Literal
from zoneinfo import ZoneInfo

from msgspec import Struct

from fairlane_dnslog.database import Row, Transaction
from fairlane_dnslog.heavy_keys import Segment, find_heavy_keys
from fairlane_dnslog.rollups import (
    DAY_SECONDS,
    HOUR_SECONDS,
    MINUTE_SECONDS,
    Grain,
    Kind,
    month_start,
    next_month_start,
)

SERIES_BY_MINUTE: Final = 26 * HOUR_SECONDS
SERIES_BY_HOUR: Final = 35 * DAY_SECONDS
SERIES_IN_LOCAL_DAYS: Final = 800 * DAY_SECONDS
TOP_BY_HOUR: Final = 3 * DAY_SECONDS
TOP_BY_DAY: Final = 92 * DAY_SECONDS
LONGEST_RANGE: Final = 3_660 * DAY_SECONDS
LARGEST_TOP: Final = 100

_SECONDS: Final = {"minute": MINUTE_SECONDS, "hour": HOUR_SECONDS, "day": DAY_SECONDS}
_COARSER: Final[dict[Grain, Grain]] = {"minute": "hour", "hour": "day", "day": "month"}


class BadTimeRange(ValueError):
    def __init__(self, since: float, until: float) -> None:
        super().__init__(
            f"got a time range from {since:.0f} until {until:.0f}; expected epoch seconds, the "
            f"first before the second, at most {LONGEST_RANGE // DAY_SECONDS} days: correct it"
        )
        self.since = since
        self.until = until


class Point(Struct, frozen=True):
    start: int  # epoch seconds
    queries: int
    blocked: int


class Series(Struct, frozen=True, kw_only=True):
    """Queries per minute, hour or day; a time without queries has a point with zeros."""

    grain: Literal["minute", "hour", "day"]
    points: tuple[Point, ...]

    @property
    def queries(self) -> int:
        return sum(point.queries for point in self.points)

    @property
    def blocked(self) -> int:
        return sum(point.blocked for point in self.points)

    @property
    def share_blocked(self) -> float:
        """The blocked part of all queries, from 0 to 1."""
        return self.blocked / self.queries if self.queries else 0.0


class Top(Struct, frozen=True, kw_only=True):
    name: str
    label: str = ""  # the name of a client
    queries: int
    blocked: int


class Upstream(Struct, frozen=True, kw_only=True):
    name: str
    answered: int
    mean_us: int


class Charts(Struct, frozen=True, kw_only=True):
    """All charts of a range; the top lists cover `since` to `until`."""

    series: Series
    since: int
    until: int
    domains: tuple[Top, ...]
    clients: tuple[Top, ...]
    upstreams: tuple[Upstream, ...]


def read_charts(
    tx: Transaction,
    *,
    since: float,
    until: float,
    server: str = "",
    timezone: str = "UTC",
    limit: int = 10,
) -> Charts:
    """Return all charts of a range, of one server or of all."""
    segments = _segments(tx, since, until)
    return Charts(
        series=read_series(tx, since=since, until=until, server=server, timezone=timezone),
        since=segments[0].since,
        until=segments[-1].until,
        domains=top_domains(tx, since=since, until=until, server=server, limit=limit),
        clients=top_clients(tx, since=since, until=until, server=server, limit=limit),
        upstreams=slowest_upstreams(tx, since=since, until=until, server=server, limit=limit),
    )


# series

_SERIES: Final = """
SELECT start, CAST(sum(queries) AS bigint) AS queries, CAST(sum(blocked) AS bigint) AS blocked
FROM rollup
WHERE grain = :grain AND kind = 'total' AND start >= :since AND start < :until {of_server}
GROUP BY start ORDER BY start
"""


def read_series(
    tx: Transaction, *, since: float, until: float, server: str = "", timezone: str = "UTC"
) -> Series:
    """Return the queries of a range over time. Days are those of the time zone, made of the hours
    that begin in them; in ranges of more than two years they are those of UTC."""
    _check(since, until)
    length = until - since
    if length > SERIES_IN_LOCAL_DAYS:
        return _even_series(tx, "day", since, until, server)
    if length > SERIES_BY_HOUR:
        return _series_of_days(tx, since, until, server, ZoneInfo(timezone))
    grain: Literal["minute", "hour"] = "minute" if length <= SERIES_BY_MINUTE else "hour"
    if grain == "minute" and not _is_complete(tx, "minute", "total", since):
        grain = "hour"
    return _even_series(tx, grain, since, until, server)


def _even_series(
    tx: Transaction,
    grain: Literal["minute", "hour", "day"],
    since: float,
    until: float,
    server: str,
) -> Series:
    seconds = _SECONDS[grain]
    first, end = _floor(since, seconds), _ceiling(until, seconds)
    counted = _totals(tx, grain, first, end, server)
    return Series(
        grain=grain,
        points=tuple(
            Point(start, *counted.get(start, (0, 0))) for start in range(first, end, seconds)
        ),
    )


def _series_of_days(
    tx: Transaction, since: float, until: float, server: str, zone: tzinfo
) -> Series:
    midnights = _midnights(since, until, zone)
    sums = [[0, 0] for _ in midnights]
    day = 0
    hours = _totals(tx, "hour", midnights[0], _ceiling(until, HOUR_SECONDS), server)
    for start, (queries, blocked) in hours.items():  # in the order of time
        while day + 1 < len(midnights) and start >= midnights[day + 1]:
            day += 1
        sums[day][0] += queries
        sums[day][1] += blocked
    return Series(
        grain="day",
        points=tuple(
            Point(start, *counted) for start, counted in zip(midnights, sums, strict=True)
        ),
    )


def _midnights(since: float, until: float, zone: tzinfo) -> list[int]:
    day = datetime.fromtimestamp(since, zone).replace(hour=0, minute=0, second=0, microsecond=0)
    found: list[int] = []
    while day.timestamp() < until:
        found.append(int(day.timestamp()))
        day += timedelta(days=1)  # of the calendar: its clock stays at midnight
    return found


def _totals(
    tx: Transaction, grain: Grain, since: int, until: int, server: str
) -> dict[int, tuple[int, int]]:
    rows = tx.rows(
        _SERIES.format(of_server=_of_server(server)),
        grain=grain, since=since, until=until, **_server_value(server),
    )  # fmt: skip
    return {row["start"]: (row["queries"], row["blocked"]) for row in rows}


# top lists

# PostgreSQL adds integers faster than bigints, and no bucket of one name has two billion queries.
_TOP: Final = """
SELECT key AS name, {label} sum(CAST(queries AS integer)) AS queries,
    sum(CAST(blocked AS integer)) AS blocked
FROM ({buckets}) AS buckets GROUP BY key ORDER BY 3 DESC, 1 LIMIT :limit
"""
_UPSTREAMS: Final = """
SELECT key AS name, CAST(sum(answered) AS bigint) AS answered,
    CAST(sum(elapsed_us) AS bigint) / CAST(sum(answered) AS bigint) AS mean_us
FROM ({buckets}) AS buckets GROUP BY key HAVING sum(answered) > 0
ORDER BY 3 DESC, 1 LIMIT :limit
"""
_BUCKETS: Final = """
SELECT key, queries, blocked, elapsed_us, answered FROM rollup
WHERE grain = :grain_{n} AND kind = :kind AND start >= :since_{n} AND start < :until_{n} {of_server}
    {of_keys}
"""


def top_domains(
    tx: Transaction, *, since: float, until: float, server: str = "", limit: int = 10
) -> tuple[Top, ...]:
    """Return the domains with the most queries."""
    return tuple(
        Top(name=row["name"], queries=row["queries"], blocked=row["blocked"])
        for row in _top(tx, _TOP, "domain", since, until, server, limit, label="'' AS label,")
    )


def top_clients(
    tx: Transaction, *, since: float, until: float, server: str = "", limit: int = 10
) -> tuple[Top, ...]:
    """Return the clients with the most queries."""
    label = "(SELECT label FROM client WHERE client.name = key) AS label,"
    rows = _top(tx, _TOP, "client", since, until, server, limit, label=label)
    return tuple(Top(**{**row, "label": row["label"] or ""}) for row in rows)


def slowest_upstreams(
    tx: Transaction, *, since: float, until: float, server: str = "", limit: int = 10
) -> tuple[Upstream, ...]:
    """Return the upstreams with the longest mean time for an answer."""
    rows = _top(tx, _UPSTREAMS, "upstream", since, until, server, limit)
    return tuple(Upstream(**row) for row in rows)


def _top(
    tx: Transaction,
    statement: str,
    kind: Kind,
    since: float,
    until: float,
    server: str,
    limit: int,
    label: str = "",
) -> list[Row]:
    limit = min(max(limit, 1), LARGEST_TOP)
    segments = _segments(tx, since, until)
    heavy = find_heavy_keys(tx, kind, segments, server, limit) if kind == "domain" else None
    values: dict[str, object] = {"kind": kind, "limit": limit}
    of_keys = ""
    if heavy is not None:
        for column, choices in (
            ("start", heavy.starts), ("server", heavy.servers), ("key", heavy.keys),
        ):  # fmt: skip
            names = [f"{column}_{n}" for n in range(len(choices))]
            values |= dict(zip(names, choices, strict=True))
            of_keys += f" AND {column} IN ({', '.join(f':{name}' for name in names)})"
    buckets: list[str] = []
    for n, segment in enumerate(segments):
        buckets.append(_BUCKETS.format(n=n, of_server=_of_server(server), of_keys=of_keys))
        values[f"grain_{n}"] = segment.grain
        values[f"since_{n}"] = segment.since
        values[f"until_{n}"] = segment.until
    sql = statement.format(buckets=" UNION ALL ".join(buckets), label=label)
    return tx.rows(sql, **values, **_server_value(server))


def _segments(tx: Transaction, since: float, until: float) -> list[Segment]:
    """Return the buckets that cover a range: in the middle as coarse as possible."""
    _check(since, until)
    length = until - since
    if length <= TOP_BY_HOUR and _is_complete(tx, "hour", "domain", since):
        first, end = _floor(since, HOUR_SECONDS), _ceiling(until, HOUR_SECONDS)
        return [Segment("hour", first, end)]
    if length > TOP_BY_DAY:
        return [Segment("month", month_start(int(since)), next_month_start(int(until) - 1))]
    first, end = _floor(since, DAY_SECONDS), _ceiling(until, DAY_SECONDS)
    month, last_month = month_start(first), month_start(end)
    if month < first:
        month = next_month_start(first)
    if month >= last_month:
        return [Segment("day", first, end)]
    segments = [
        Segment("day", first, month),
        Segment("month", month, last_month),
        Segment("day", last_month, end),
    ]
    return [one for one in segments if one.since < one.until]


# both


def _is_complete(tx: Transaction, grain: Grain, kind: Kind, since: float) -> bool:
    """Return whether retention has left the buckets of a grain from an instant on."""
    coarser = _COARSER[grain]
    fine, coarse = _oldest(tx, grain, kind), _oldest(tx, coarser, kind)
    if fine is None or coarse is None:
        return coarse is None
    return fine <= max(since, coarse) + _SECONDS[coarser]


def _oldest(tx: Transaction, grain: Grain, kind: Kind) -> int | None:
    row = tx.row(
        "SELECT start FROM rollup WHERE grain = :grain AND kind = :kind ORDER BY start LIMIT 1",
        grain=grain,
        kind=kind,
    )
    return None if row is None else int(row["start"])


def _check(since: float, until: float) -> None:
    if not (since < until and until - since <= LONGEST_RANGE and abs(until) < 1e11):
        raise BadTimeRange(since, until)


def _floor(second: float, size: int) -> int:
    return int(second // size) * size


def _ceiling(second: float, size: int) -> int:
    return -int(-second // size) * size


def _of_server(server: str) -> str:
    return "AND server = :server" if server else ""


def _server_value(server: str) -> dict[str, object]:
    return {"server": server} if server else {}
