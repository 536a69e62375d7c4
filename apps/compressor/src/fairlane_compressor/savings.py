"""The saved bytes over time, as a plot for the terminal."""

from collections.abc import AsyncIterator, Sequence
from datetime import datetime, timedelta

from msgspec import Struct
from rich.console import Console
from rich.text import Text

from fairlane import Fairlane, JobView
from fairlane_compressor.sizes import counted, format_size

_HEIGHT = 8
_BLOCKS = " ▁▂▃▄▅▆▇█"


class Savings(Struct, kw_only=True):
    files: int
    before_bytes: int
    saved_bytes: int
    first_at: datetime
    last_at: datetime
    points: list[int]  # cumulative saved bytes at the end of each part of the time


async def read(app: Fairlane, *, parts: int) -> Savings | None:
    """Sum up the history; None if no file was compressed yet."""
    views = [view async for view in _completed(app) if view.ended_at is not None]
    if not views:
        return None
    views.reverse()  # oldest first
    ends = [view.ended_at for view in views if view.ended_at is not None]
    saved = [int(view.result["saved_bytes"]) for view in views]
    return Savings(
        files=len(views),
        before_bytes=sum(int(view.result["before_bytes"]) for view in views),
        saved_bytes=sum(saved),
        first_at=ends[0],
        last_at=ends[-1],
        points=_points(ends, saved, parts),
    )


async def outputs(app: Fairlane) -> set[str]:
    """Return every output file in the history."""
    return {view.result["output"] async for view in _completed(app) if view.result["output"]}


async def _completed(app: Fairlane) -> AsyncIterator[JobView]:
    cursor = None
    while True:
        page = await app.jobs.history(
            states=["completed"], task="compress", limit=1000, cursor=cursor
        )
        for view in page.items:
            yield view
        if (cursor := page.next) is None:
            return


def _points(ends: Sequence[datetime], saved: Sequence[int], parts: int) -> list[int]:
    first = ends[0]
    length = max(ends[-1] - first, timedelta(seconds=1))
    points, total, next = [], 0, 0
    for part in range(1, parts + 1):
        limit = first + length * part / parts
        while next < len(ends) and (ends[next] <= limit or part == parts):
            total += saved[next]
            next += 1
        points.append(total)
    return points


def plot(savings: Savings, console: Console) -> None:
    """Print the cumulative sum, and its totals."""
    before, saved = format_size(savings.before_bytes), format_size(abs(savings.saved_bytes))
    share = savings.saved_bytes / savings.before_bytes if savings.before_bytes else 0
    result = f"saved of {before} ({share:.0%})" if share >= 0 else f"larger than {before}"
    console.print(f"[bold]{saved}[/] {result} in {counted(savings.files, 'file')}")
    top = max(1, *savings.points)
    for row in reversed(range(_HEIGHT)):
        line = "".join(_block(point, top, row) for point in savings.points)
        label = format_size(top) if row == _HEIGHT - 1 else "0" if row == 0 else ""
        console.print(Text(f"{label:>9} ┤") + Text(line, style="green"), soft_wrap=True)
    first, last = (
        f"{at.astimezone():%Y-%m-%d %H:%M}" for at in (savings.first_at, savings.last_at)
    )
    console.print(f"{'':>11}{first}{last:>{max(1, len(savings.points) - len(first))}}")


def _block(point: int, top: int, row: int) -> str:
    filled = max(0, point) / top * _HEIGHT - row
    return _BLOCKS[round(8 * min(1.0, max(0.0, filled)))]
