"""The points of the chart: at most a few hundred, as queries per minute."""

from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from fairlane_dnslog.charts import Point, Series

MOST_POINTS: Final = 180
SHORTEST_SECONDS: Final = 60  # of a rate per minute
_DAY_SECONDS: Final = 86_400
_SECONDS: Final = {"minute": 60, "hour": 3600, "day": _DAY_SECONDS}
_STEPS: Final = (1, 2, 3, 5, 6, 10, 12, 15, 24, 30)


class ChartPoint(Struct, frozen=True):
    """A rate; None before the log begins, where nothing is known."""

    start: int  # epoch seconds
    per_minute: float | None = None
    blocked_per_minute: float | None = None
    share_blocked: float | None = None  # from 0 to 1; None without queries


def chart_points(series: Series, *, begin: float | None, now: float) -> list[ChartPoint]:
    """Return the points of a series, several of its buckets in one where there are many.

    The rate of the last point is that of its time until now; it is left out in its first half. The
    rate of the point in which the log begins is that of its time from there.
    """
    if begin is None:
        begin = now
    bucket_seconds = _SECONDS[series.grain]
    step = next((s for s in _STEPS if len(series.points) / s <= MOST_POINTS), _STEPS[-1])
    found: list[ChartPoint] = []
    for group in _groups(series.points, step, bucket_seconds):
        start = group[0].start
        end = min(start + len(group) * bucket_seconds, now)
        is_first = start <= begin < end
        if end <= begin:
            found.append(ChartPoint(start))
        elif is_first or end - start >= step * bucket_seconds / 2:
            seconds = max(end - max(start, begin), SHORTEST_SECONDS)
            found.append(_chart_point(group, seconds / 60))
    return found


def _groups(points: tuple[Point, ...], step: int, bucket_seconds: int) -> Iterator[list[Point]]:
    """Yield groups that begin at whole multiples of their length, so that they do not change from
    one minute to the next."""
    group: list[Point] = []
    for point in points:
        if group and (point.start // bucket_seconds) % step == 0:
            yield group
            group = []
        group.append(point)
    if group:
        yield group


def _chart_point(group: list[Point], minutes: float) -> ChartPoint:
    queries = sum(point.queries for point in group)
    blocked = sum(point.blocked for point in group)
    return ChartPoint(
        group[0].start,
        round(queries / minutes, 2),
        round(blocked / minutes, 2),
        round(blocked / queries, 4) if queries else None,
    )
