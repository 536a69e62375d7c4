"""Wait for runs, and show their progress meanwhile."""

import asyncio
from collections.abc import Sequence
from typing import Any, Final

import typer
from rich.console import Console
from rich.live import Live
from rich.text import Text

from fairlane import Fairlane, Job, JobView
from fairlane_archiver.rows import Row, Rows
from fairlane_archiver.table import format_bytes, printable, table

POLL_SECONDS: Final = 0.5
REPORT_SECONDS: Final = 10.0  # between two lines without a terminal


async def follow(
    app: Fairlane, rows: Rows, jobs: Sequence[Job[Any]], names: Sequence[str], *, silent: bool
) -> list[JobView]:
    """Return the jobs once all have ended."""
    waiting = [asyncio.create_task(app.jobs.wait(job.id)) for job in jobs]
    everything = asyncio.gather(*waiting)
    shown = _Shown(silent=silent)
    try:
        with shown:
            while not everything.done():
                await asyncio.wait([everything], timeout=POLL_SECONDS)
                if not everything.done():
                    shown.report(await rows.listed(names))
        return await everything
    finally:
        everything.cancel()


class _Shown:
    """A live table in a terminal, or a line from time to time."""

    def __init__(self, *, silent: bool) -> None:
        self._silent = silent
        self._console = Console(stderr=True, highlight=False, emoji=False)
        is_drawn = self._console.is_terminal and not self._console.is_dumb_terminal
        self._live = Live(console=self._console, transient=True) if is_drawn else None
        self._printed_at = asyncio.get_running_loop().time()
        self._printed: dict[str, str] = {}

    def __enter__(self) -> None:
        if self._live is not None and not self._silent:
            self._live.start()

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def report(self, rows: Sequence[Row]) -> None:
        if self._silent:
            return
        if self._live is not None:
            lines = table(rows, width=self._console.width)
            self._live.update(Text("\n".join(lines), no_wrap=True), refresh=True)
            return
        now = asyncio.get_running_loop().time()
        if now - self._printed_at < REPORT_SECONDS:
            return
        self._printed_at = now
        for row in rows:
            line = line_of(row)
            if self._printed.get(row.account) != line:
                self._printed[row.account] = line
                typer.echo(line, err=True)


def line_of(row: Row) -> str:
    counts = row.counts
    said = f"{printable(row.account)}: {row.state}, {counts.get('downloaded', 0)} files"
    return f"{said}, {format_bytes(counts.get('bytes', 0))}, {counts.get('failed', 0)} failed"
