"""`fairlane watch`: follow a job, or all queues, live."""

from contextlib import aclosing
from typing import Annotated, Any, Final

import typer
from rich.console import Group, RenderableType
from rich.live import Live
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn
from rich.progress_bar import ProgressBar
from rich.table import Column, Table
from rich.text import Text

from fairlane.cli.api_client import ApiClient
from fairlane.cli.exit_codes import JOB_FAILED
from fairlane.cli.follow import events_after, fetch_newest_seq, follow_job, poll_on_events
from fairlane.cli.terminal import (
    STYLES,
    Terminal,
    escape_control,
    format_value,
    format_values,
    styled_state,
)
from fairlane.cli.times import format_duration, format_relative
from fairlane.core.lifecycle import FINAL

MOST_RUNNING: Final = 15
MOST_WAITING: Final = 8
MOST_ENDED: Final = 5


async def watch(
    client: ApiClient,
    terminal: Terminal,
    job: Annotated[str | None, typer.Argument(help="A job; without one, all queues")] = None,
    *,
    queue: Annotated[str | None, typer.Option(help="Only this queue")] = None,
) -> None:
    """Follow a job until it has ended, or all queues until Ctrl-C.

    The exit code is 1 if the job did not complete. With --json: one line per event, or per change
    of the job.
    """
    if job is not None:
        ended = await watch_job(client, terminal, job)
        if ended["state"] != "completed":
            raise typer.Exit(JOB_FAILED)
    elif terminal.as_json:
        await _print_events(client, terminal, queue)
    else:
        await _watch_queues(client, terminal, queue)


async def _print_events(client: ApiClient, terminal: Terminal, queue: str | None) -> None:
    filters = {} if queue is None else {"queue": queue}
    newest = await fetch_newest_seq(client)
    async with aclosing(events_after(client, newest, **filters)) as events:
        async for event in events:
            terminal.print_json(event)


# one job


async def watch_job(client: ApiClient, terminal: Terminal, job: str) -> dict[str, Any]:
    """Show a job until it has ended; return its final view."""
    async with aclosing(follow_job(client, job)) as views:
        if terminal.as_json:
            view = await _print_json_lines(views, terminal)
        elif terminal.is_live:
            view = await _draw_bars(views, terminal)
        else:
            view = await _print_lines(views, terminal)
    if not terminal.as_json:
        terminal.print_line(_final_line(view))
        if view.get("result") is not None:
            terminal.print_line(format_value(view["result"]))
    return view


async def _print_json_lines(views: Any, terminal: Terminal) -> dict[str, Any]:
    view: dict[str, Any] = {}
    async for view in views:
        terminal.print_json(view)
    return view


async def _print_lines(views: Any, terminal: Terminal) -> dict[str, Any]:
    """Print each change once, for a log or a pipe."""
    view: dict[str, Any] = {}
    printed = ""
    async for view in views:
        line = _progress_line(view)
        if line != printed and view["state"] not in FINAL:
            printed = line
            terminal.print_line(line)
    return view


def _progress_line(view: dict[str, Any]) -> str:
    progress, stage = view["progress"], _present_stage(view)
    percent = progress["percent"]
    parts = [
        view["state"],
        stage["name"] if stage else "",
        "" if percent is None else f"{percent:.0f} %",
        (stage or {}).get("message") or progress["message"] or _waiting_reasons(view),
    ]
    return " · ".join(part for part in parts if part)


def _present_stage(view: dict[str, Any]) -> dict[str, Any] | None:
    """Return the last stage that runs, or else the last one that waits for a limit or resource."""
    running = [stage for stage in view["stages"] if stage["status"] == "running"]
    waiting = [stage for stage in view["stages"] if _is_waiting(stage)]
    return next(reversed(running or waiting), None)


def _is_waiting(stage: dict[str, Any]) -> bool:
    """Return whether a stage waits; a stage that was only declared has no message."""
    return stage["status"] == "pending" and bool(stage["message"])


def _waiting_reasons(view: dict[str, Any]) -> str:
    return "; ".join(reason["message"] for reason in view["waiting_for"])


async def _draw_bars(views: Any, terminal: Terminal) -> dict[str, Any]:
    """Draw a progress bar for the job and one for each stage, until the job has ended."""
    rest = Column(ratio=1, no_wrap=True, overflow="ellipsis")
    bars = Progress(
        SpinnerColumn(finished_text=" "),
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        TaskProgressColumn(show_speed=False),
        TextColumn("{task.fields[message]}", markup=False, table_column=rest),
        console=terminal.console,
        transient=True,
    )
    view: dict[str, Any] = {}
    lines: dict[str, Any] = {}

    def draw(name: str, percent: float | None, message: str, *, done: bool) -> None:
        if name not in lines:
            lines[name] = bars.add_task(name, total=None, message="")
        total = None if percent is None and not done else 100.0
        reached = 100.0 if done and percent is None else percent or 0.0
        bars.update(lines[name], total=total, completed=reached, message=message)

    with bars:
        async for view in views:
            ended = view["state"] in FINAL
            message = view["progress"]["message"] or _waiting_reasons(view)
            head = f"{view['task']} {view['state']}"
            if "job" not in lines:
                lines["job"] = bars.add_task(head, total=None, message="")
            draw("job", view["progress"]["percent"], message, done=ended)
            bars.update(lines["job"], description=head)
            for stage in view["stages"]:
                if stage["status"] != "pending" or _is_waiting(stage):
                    done = stage["status"] in ("done", "skipped", "error")
                    message = stage["message"] or (
                        "" if stage["status"] == "running" else stage["status"]
                    )
                    draw(f"  {stage['name']}", stage["percent"], message, done=done)
    return view


def _final_line(view: dict[str, Any]) -> Text:
    """Return one sentence with the final state, duration and error of a job."""
    took = format_duration(view["started_at"], view["ended_at"])
    line = Text.assemble(view["task"], " ", styled_state(view["state"]))
    if took:
        line.append(f" after {took}")
    if view["statistics"]:
        line.append(f" ({format_values(view['statistics'])})")
    if view["error"]:
        line.append(f": {view['error']['message']}")
    elif view["waiting_for"]:
        line.append(f": {_waiting_reasons(view)}")
    return line


# the whole queue


async def _watch_queues(client: ApiClient, terminal: Terminal, queue: str | None) -> None:
    filters = {} if queue is None else {"queue": queue}
    async with aclosing(
        poll_on_events(client, lambda: client.get("/api/state"), **filters)
    ) as snapshots:
        if not terminal.is_live:
            printed: Text | None = None
            async for snapshot in snapshots:
                if (line := _counts_line(snapshot, queue)) != printed:
                    terminal.print_line(line)
                printed = line
            return
        with Live(console=terminal.console, auto_refresh=False, vertical_overflow="crop") as live:
            async for snapshot in snapshots:
                live.update(_render_state(snapshot, queue), refresh=True)


def _counts_line(snapshot: dict[str, Any], queue: str | None) -> Text:
    parts: list[Text] = []
    for name, counts in sorted(snapshot["counts"].items()):
        if queue in (None, name):
            text = ", ".join(f"{number} {state}" for state, number in sorted(counts.items()))
            paused = snapshot["queues"].get(name, {}).get("paused")
            parts.append(Text.assemble((name, "bold"), f": {text}{' · paused' if paused else ''}"))
    return Text("\n").join(parts) if parts else Text("no jobs wait or run")


def _render_state(snapshot: dict[str, Any], queue: str | None) -> RenderableType:
    running = [job for job in snapshot["running"] if queue in (None, job["queue"])]
    waiting = [
        job for name, line in sorted(snapshot["waiting"].items())
        if queue in (None, name) for job in line
    ]  # fmt: skip
    ended = [job for job in snapshot["ended"] if queue in (None, job["queue"])]
    grid = Table.grid(padding=(0, 1), expand=True)
    grid.add_column(no_wrap=True, overflow="ellipsis", ratio=2)
    grid.add_column(no_wrap=True, width=11)
    grid.add_column(width=16)
    grid.add_column(no_wrap=True, width=5, justify="right")
    grid.add_column(no_wrap=True, overflow="ellipsis", ratio=3)
    for job in running[:MOST_RUNNING]:
        percent = job["progress"]["percent"]
        bar: RenderableType = ProgressBar(100, percent or 0, width=16)
        stage = _present_stage(job)
        message = (stage or {}).get("message") or job["progress"]["message"]
        at = f"{stage['name']}: " if stage else ""
        grid.add_row(
            Text(_job_title(job)), styled_state(job["state"]), Text("") if percent is None else bar,
            "" if percent is None else f"{percent:.0f} %", Text(f"{at}{message}"),
        )  # fmt: skip
    for job in waiting[:MOST_WAITING]:
        message = _waiting_reasons(job) or f"since {format_relative(job['created_at'])}"
        grid.add_row(
            Text(_job_title(job), style="dim"), styled_state(job["state"]), "", "", Text(message)
        )
    for job in ended[:MOST_ENDED]:
        message = (job["error"] or {}).get("message") or format_relative(job["ended_at"])
        style = STYLES.get(job["state"], "")
        grid.add_row(
            Text(_job_title(job), style="dim"), Text(job["state"], style=style), "", "",
            Text(message, style="dim"),
        )  # fmt: skip
    return Group(_counts_line(snapshot, queue), grid)


def _job_title(job: dict[str, Any]) -> str:
    return escape_control(f"{job['task']} {job['lane']}" if job["lane"] else str(job["task"]))
