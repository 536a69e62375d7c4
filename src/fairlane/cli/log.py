"""`fairlane log`: print and follow the log of a job."""

from contextlib import aclosing
from typing import Annotated, Any, Final

import typer
from rich.text import Text

from fairlane.cli.api_client import ApiClient
from fairlane.cli.follow import events_after, fetch_newest_seq
from fairlane.cli.jobs import Job
from fairlane.cli.paths import job_path
from fairlane.cli.terminal import Terminal
from fairlane.cli.times import format_clock, parse_timestamp
from fairlane.core.lifecycle import FINAL

MOST_LINES: Final = 1000

Line = dict[str, Any]


async def log(
    client: ApiClient,
    terminal: Terminal,
    job: Job,
    *,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Follow until the job has ended")
    ] = False,
    limit: Annotated[
        int, typer.Option(help="The maximum number of lines; the newest", min=1, max=MOST_LINES)
    ] = MOST_LINES,
) -> None:
    """Show the log of a job."""
    if follow:
        await _LogFollower(client, terminal, job).follow_until_end(limit)
    elif terminal.as_json:
        terminal.print_json({"items": await _fetch_lines(client, job, limit)})
    else:
        lines = await _fetch_lines(client, job, limit)
        for line in lines:
            _print_log_line(terminal, line)
        if not lines:
            terminal.print_hint("the log is empty")


class _LogFollower:
    """Prints the stored lines, then the line of each event, each line once and in order."""

    def __init__(self, client: ApiClient, terminal: Terminal, job: str) -> None:
        self._client = client
        self._terminal = terminal
        self._job = job
        self._last_printed: Line | None = None
        self._stored: list[Line] = []
        self._stored_until = 0  # lines of events up to here may be among the stored ones

    async def follow_until_end(self, limit: int) -> None:
        newest = await fetch_newest_seq(self._client)  # before the lines, so that none is missed
        if await self._catch_up(limit):
            return
        async with aclosing(events_after(self._client, newest, job=self._job)) as events:
            async for event in events:
                if event["type"] == "resync" and await self._catch_up(MOST_LINES):
                    return
                if event["type"] == "job_log" and not self._is_stored(event):
                    self._print(event["data"])
                if event["type"] == "job_state_changed" and event["data"]["state"] in FINAL:
                    return

    async def _catch_up(self, limit: int) -> bool:
        """Print the newest lines that were not printed yet; return whether the job has ended."""
        view = await self._client.get(
            job_path(self._job)
        )  # before the lines: if it has ended, they are complete
        lines = await _fetch_lines(self._client, self._job, limit)
        self._stored = list(lines)
        self._stored_until = await fetch_newest_seq(self._client)
        if self._last_printed in lines:
            lines = lines[lines.index(self._last_printed) + 1 :]
        elif self._last_printed is not None:
            self._terminal.print_hint("… some lines are missing here")
        for line in lines:
            self._print(line)
        return view["state"] in FINAL

    def _is_stored(self, event: dict[str, Any]) -> bool:
        if event["seq"] > self._stored_until or not self._stored:
            return False
        line = event["data"]
        return line in self._stored or _timestamp(line) < _timestamp(self._stored[0])

    def _print(self, line: Line) -> None:
        self._last_printed = line
        _print_log_line(self._terminal, line)


async def _fetch_lines(client: ApiClient, job: str, limit: int) -> list[Line]:
    lines: list[Line] = (await client.get(job_path(job, "log"), limit=limit))["items"]
    return lines


def _timestamp(line: Line) -> float:
    at = parse_timestamp(line["at"])
    return 0.0 if at is None else at.timestamp()


def _print_log_line(terminal: Terminal, line: Line) -> None:
    if terminal.as_json:
        terminal.print_json(line)
        return
    style = {"warning": "yellow", "error": "red"}.get(line["level"], "")
    terminal.print_line(
        Text(format_clock(line["at"]), style="dim"), " ", Text(line["message"], style=style)
    )
