"""Following a log prints each line once, also if events and stored lines overlap or are lost.

A scripted API client replaces the real one, which cannot be made to log a line between two given
requests.
"""

from collections.abc import AsyncGenerator, Iterator
from typing import Any

import pytest

from fairlane.cli.api_client import ApiClient
from fairlane.cli.log import log
from fairlane.cli.terminal import Terminal


def line(number: int) -> dict[str, Any]:
    return {"at": f"2026-11-16T12:00:{number:02}Z", "level": "info", "message": f"line {number}"}


def logged(seq: int, number: int) -> dict[str, Any]:
    return {"seq": seq, "type": "job_log", "data": line(number)}


def resync(seq: int) -> dict[str, Any]:
    return {"seq": seq, "type": "resync", "data": {}}


def ended(seq: int) -> dict[str, Any]:
    return {"seq": seq, "type": "job_state_changed", "data": {"state": "completed"}}


class Story(ApiClient):
    """A scripted API client: the log lines and the newest event number of each request in turn."""

    def __init__(
        self, *, logs: list[range], newest: list[int], events: list[dict[str, Any]]
    ) -> None:
        self._logs: Iterator[range] = iter(logs)
        self._newest = iter(newest)
        self._events = events

    async def request(self, method: str, path: str, **asked: Any) -> Any:
        match path:
            case "/api/state":
                return {"seq": next(self._newest)}
            case "/api/jobs/job/log":
                lines = [line(number) for number in next(self._logs)]
                return {"items": lines[-asked["query"]["limit"] :]}
            case _:
                return {"state": "running"}

    async def events(
        self, after: int | None = None, /, **_: str
    ) -> AsyncGenerator[dict[str, Any], None]:
        for event in self._events:
            if after is None or event["seq"] > after:
                yield event


async def told(
    story: Story, capsys: pytest.CaptureFixture[str], *, limit: int = 1000
) -> tuple[list[int], str]:
    """Follow a log to its end; return the numbers of the printed lines, and the text on stderr."""
    await log(story, Terminal(), "job", follow=True, limit=limit)
    said = capsys.readouterr()
    return [int(text.split()[-1]) for text in said.out.splitlines()], said.err


async def test_a_line_that_is_stored_and_told_of_is_told_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Three lines arrive after the newest number was fetched; two are among the stored lines."""
    events = [*(logged(seq, seq - 8) for seq in (11, 12, 13, 14, 15)), ended(16)]
    story = Story(logs=[range(6)], newest=[10, 14], events=events)
    assert await told(story, capsys, limit=2) == ([4, 5, 6, 7], "")


async def test_what_was_lost_on_the_way_is_looked_up(capsys: pytest.CaptureFixture[str]) -> None:
    events = [logged(11, 1), resync(20), logged(21, 5), logged(22, 6), ended(23)]
    story = Story(logs=[range(1), range(6)], newest=[10, 10, 21], events=events)
    assert await told(story, capsys) == ([0, 1, 2, 3, 4, 5, 6], "")


async def test_what_cannot_be_looked_up_any_more_is_said(
    capsys: pytest.CaptureFixture[str],
) -> None:
    events = [resync(20), ended(23)]
    story = Story(logs=[range(1), range(30, 32)], newest=[10, 10, 20], events=events)
    numbers, said = await told(story, capsys)
    assert numbers == [0, 30, 31]
    assert "some lines are missing here" in said
