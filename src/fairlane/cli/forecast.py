"""`fairlane forecast`: when will it run, and what if?"""

from typing import Annotated, Any

import typer

from fairlane.cli.exit_codes import Misused
from fairlane.cli.target import ApiClient
from fairlane.cli.terminal import Terminal
from fairlane.cli.times import clock, parsed, relative, span


async def forecast(
    steering: ApiClient,
    terminal: Terminal,
    *,
    queue: Annotated[str | None, typer.Option(help="Only this queue")] = None,
    max_concurrent: Annotated[
        int | None, typer.Option(help="What if so many ran at a time?", min=1)
    ] = None,
    limit: Annotated[int, typer.Option(help="How many jobs to list", min=1, max=1000)] = 10,
) -> None:
    """Say when what waits will start, and what another limit would change.

    It is the scheduler itself, run ahead on simulated time with how long each task lately took.
    """
    if max_concurrent is not None and queue is None:
        raise Misused("say which queue would have that limit: --queue")
    now = await steering.get("/api/forecast", queue=queue, limit=limit)
    if max_concurrent is None:
        if terminal.as_json:
            terminal.value(now)
        else:
            _show(terminal, now)
        return
    then = await steering.get(
        "/api/forecast", queue=queue, max_concurrent=max_concurrent, limit=limit
    )
    if terminal.as_json:
        terminal.value({"now": now, "then": then})
        return
    terminal.say(compared(now, then, max_concurrent))


def _show(terminal: Terminal, now: dict[str, Any]) -> None:
    if not now["waiting"]:
        terminal.say("nothing waits")
        return
    terminal.table(
        ("JOB", "STARTS", ""),
        [
            (item["job"], relative(item["starts_at"]) or "unknown", clock(item["starts_at"]))
            for item in now["items"]
        ],
    )
    if now["waiting"] > len(now["items"]):
        terminal.say(f"… and {now['waiting'] - len(now['items'])} more")
    terminal.say(_empty(now))


def _empty(now: dict[str, Any]) -> str:
    if now["empty_at"] is None:
        return "when the last of them ends is not known: a task has not completed anything yet"
    return f"the last of them ends {relative(now['empty_at'])}, at {clock(now['empty_at'])}"


def compared(now: dict[str, Any], then: dict[str, Any], max_concurrent: int) -> str:
    """Say what another limit would change, in one sentence."""
    if not now["waiting"]:
        return "nothing waits, so nothing would change"
    at, instead = parsed(then["empty_at"]), parsed(now["empty_at"])
    many = f"with {max_concurrent} at a time"
    if at is None and instead is None:
        return _empty(now)
    if at is None or instead is None:
        known, said = (
            (clock(then["empty_at"]), many) if at else (clock(now["empty_at"]), "as it is")
        )
        return f"{said} the queue is empty at {known}; otherwise that is not known"
    saved = (instead - at).total_seconds()
    if abs(saved) < 1:
        return f"{many} the queue is empty at {clock(then['empty_at'])}, as without the change"
    sooner = f"{span(abs(saved))} {'sooner' if saved > 0 else 'later'}"
    return (
        f"{many} the queue is empty at {clock(then['empty_at'])} instead of "
        f"{clock(now['empty_at'])}, {sooner}"
    )
