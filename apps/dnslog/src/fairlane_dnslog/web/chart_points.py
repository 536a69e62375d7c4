"""The points of the chart: at most a few hundred, as queries per minute."""

from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from fairlane_dnslog.charts import Point, Series

MOST_POINTS: Final = 180
_DAY_SECONDS: Final = 86_400
_SECONDS: Final = {"minute": 60, "hour": 3600, "day": _DAY_SECONDS}
_STEPS: Final = (1, 2, 3, 5, 6, 10, 12, 15, 24, 30)


class ChartPoint(Struct, frozen=True):
    start: int  # epoch seconds
    per_minute: float
    blocked_per_minute: float
    share_blocked: float | None  # from 0 to 1; None without queries


def chart_points(series: Series, *, now: float) -> list[ChartPoint]:
    """Return the points of a series, several of its buckets in one where there are many.

    The rate of the last point is that of its time until now; it is left out in its first half.
    """
    bucket_seconds = _SECONDS[series.grain]
    step = next((s for s in _STEPS if len(series.points) / s <= MOST_POINTS), _STEPS[-1])
    found: list[ChartPoint] = []
    for group in _groups(series.points, step, bucket_seconds):
        covered = min(len(group) * bucket_seconds, now - group[0].start)
        if covered >= step * bucket_seconds / 2:
            found.append(_chart_point(group, covered / 60))
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
