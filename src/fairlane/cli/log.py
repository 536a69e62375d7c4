"""`fairlane log`: what a job said, and says."""

from contextlib import aclosing
from typing import Annotated, Any, Final

import typer
from rich.text import Text

from fairlane.cli.follow import events_after, newest_event
from fairlane.cli.jobs import Job
from fairlane.cli.paths import job_path
from fairlane.cli.target import ApiClient
from fairlane.cli.terminal import Terminal
from fairlane.cli.times import clock, parsed
from fairlane.core.lifecycle import FINAL

MOST_LINES: Final = 1000

Line = dict[str, Any]


async def log(
    steering: ApiClient,
    terminal: Terminal,
    job: Job,
    *,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Until it has ended")] = False,
    limit: Annotated[
        int, typer.Option(help="The newest so many", min=1, max=MOST_LINES)
    ] = MOST_LINES,
) -> None:
    """Show what a job logged."""
    if follow:
        await _Following(steering, terminal, job).to_the_end(limit)
    elif terminal.as_json:
        terminal.value({"items": await _lines(steering, job, limit)})
    else:
        for line in await _lines(steering, job, limit):
            _tell(terminal, line)


class _Following:
    """Tells the lines that are there, and then each that an event brings, once and in order."""

    def __init__(self, steering: ApiClient, terminal: Terminal, job: str) -> None:
        self._steering = steering
        self._terminal = terminal
        self._job = job
        self._last: Line | None = None  # that was told
        self._known: list[Line] = []
        self._known_until = 0  # the event up to which a line may be among those that are known

    async def to_the_end(self, limit: int) -> None:
        newest = await newest_event(self._steering)  # first, so that no line falls in between
        if await self._catch_up(limit):
            return
        async with aclosing(events_after(self._steering, newest, job=self._job)) as events:
            async for event in events:
                if event["type"] == "resync" and await self._catch_up(MOST_LINES):
                    return
                if event["type"] == "job_log" and not self._is_known(event):
                    self._tell(event["data"])
                if event["type"] == "job_state_changed" and event["data"]["state"] in FINAL:
                    return

    async def _catch_up(self, limit: int) -> bool:
        """Tell what was not told of the newest lines; return whether the job has ended."""
        view = await self._steering.get(job_path(self._job))  # first: its last lines are there
        lines = await _lines(self._steering, self._job, limit)
        self._known = list(lines)
        self._known_until = await newest_event(self._steering)
        if self._last in lines:
            lines = lines[lines.index(self._last) + 1 :]
        elif self._last is not None:
            self._terminal.hint("… some lines are left out here")
        for line in lines:
            self._tell(line)
        return view["state"] in FINAL

    def _is_known(self, event: dict[str, Any]) -> bool:
        if event["seq"] > self._known_until or not self._known:
            return False
        line = event["data"]
        return line in self._known or _at(line) < _at(self._known[0])

    def _tell(self, line: Line) -> None:
        self._last = line
        _tell(self._terminal, line)


async def _lines(steering: ApiClient, job: str, limit: int) -> list[Line]:
    lines: list[Line] = (await steering.get(job_path(job, "log"), limit=limit))["items"]
    return lines


def _at(line: Line) -> float:
    at = parsed(line["at"])
    return 0.0 if at is None else at.timestamp()


def _tell(terminal: Terminal, line: Line) -> None:
    if terminal.as_json:
        terminal.value(line)
        return
    style = {"warning": "yellow", "error": "red"}.get(line["level"], "")
    terminal.say(Text(clock(line["at"]), style="dim"), " ", Text(line["message"], style=style))
