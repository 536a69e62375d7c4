"""`fairlane forecast`: when each waiting job will start, also with another limit."""

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from fairlane.cli.api_client import ApiClient
from fairlane.cli.exit_codes import UsageProblem
from fairlane.cli.program_name import command_text
from fairlane.cli.terminal import Terminal
from fairlane.cli.times import format_clock, format_relative, format_span, parse_timestamp


async def forecast(
    client: ApiClient,
    terminal: Terminal,
    *,
    queue: Annotated[str | None, typer.Option(help="Only this queue")] = None,
    max_concurrent: Annotated[
        int | None, typer.Option(help="Compare with this limit of running jobs", min=1)
    ] = None,
    limit: Annotated[int, typer.Option(help="How many jobs to list", min=1, max=1000)] = 10,
) -> None:
    """Forecast when waiting jobs will start, and compare with another limit.

    The forecast runs the scheduler itself on simulated time, with recent run times of each task.
    """
    if max_concurrent is not None and queue is None:
        raise UsageProblem("--max-concurrent needs --queue, the queue to change")
    now = await client.get("/api/forecast", queue=queue, limit=limit)
    queues = [] if now["empty_at"] else (await client.get("/api/queues"))["items"]
    queues = [one for one in queues if queue in (None, one["name"])]
    if max_concurrent is None:
        if terminal.as_json:
            terminal.print_json(now)
        else:
            _show(terminal, now, queues)
        return
    then = await client.get(
        "/api/forecast", queue=queue, max_concurrent=max_concurrent, limit=limit
    )
    if terminal.as_json:
        terminal.print_json({"now": now, "then": then})
        return
    for one in queues:
        one["settings"]["max_concurrent"] = max_concurrent
    terminal.print_line(compare_forecasts(now, then, max_concurrent, queues))


def _show(terminal: Terminal, now: dict[str, Any], queues: Sequence[dict[str, Any]]) -> None:
    if not now["waiting"]:
        terminal.print_line("no jobs wait")
        return
    terminal.print_table(
        ("JOB", "STARTS", ""),
        [
            (
                item["job"],
                format_relative(item["starts_at"]) or "unknown",
                format_clock(item["starts_at"]),
            )
            for item in now["items"]
        ],
    )
    if now["waiting"] > len(now["items"]):
        terminal.print_line(f"… and {now['waiting'] - len(now['items'])} more")
    if now["empty_at"] is None:
        terminal.print_line(unknown_end(now, queues))
        return
    terminal.print_line(
        f"the last job ends {format_relative(now['empty_at'])}, at {format_clock(now['empty_at'])}"
    )


def unknown_end(now: dict[str, Any], queues: Sequence[dict[str, Any]]) -> str:
    """Return one sentence with the cause why no end is forecast."""
    causes = [
        f'queue "{queue["name"]}" {"is paused" if queue["paused"] else "has a limit of 0"}'
        for queue in queues
        if queue["counts"].keys() - {"running"}
        and (queue["paused"] or queue["settings"]["max_concurrent"] == 0)
    ]
    if not causes:
        job = next((item["job"] for item in now["items"] if item["starts_at"] is None), "JOB")
        causes = [
            "no job of its task has completed yet, or a job cannot start "
            f"({command_text(f'explain {job}')} gives its reasons)"
        ]
    return f"the end of the last job is unknown: {', '.join(causes)}"


def compare_forecasts(
    now: dict[str, Any],
    then: dict[str, Any],
    max_concurrent: int,
    queues: Sequence[dict[str, Any]] = (),
) -> str:
    """Return one sentence that compares the forecasts with and without the other limit."""
    if not now["waiting"]:
        return "no jobs wait, so the limit would change nothing"
    at, instead = parse_timestamp(then["empty_at"]), parse_timestamp(now["empty_at"])
    many = f"with {max_concurrent} at a time"
    if at is None and instead is None:
        return unknown_end(then, queues)
    if at is None or instead is None:
        if at is not None:
            end = format_clock(then["empty_at"])
            return f"{many} the queue is empty at {end}; without the change, that is unknown"
        end = format_clock(now["empty_at"])
        return f"without the change the queue is empty at {end}; {many}, that is unknown"
    saved = (instead - at).total_seconds()
    if abs(saved) < 1:
        return (
            f"{many} the queue is empty at {format_clock(then['empty_at'])}, as without the change"
        )
    sooner = f"{format_span(abs(saved))} {'sooner' if saved > 0 else 'later'}"
    return (
        f"{many} the queue is empty at {format_clock(then['empty_at'])} instead of "
        f"{format_clock(now['empty_at'])}, {sooner}"
    )
