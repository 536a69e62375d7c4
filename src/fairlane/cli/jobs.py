"""`fairlane jobs` and `show`: list jobs, and show one."""

from itertools import compress
from typing import Annotated, Any

import typer
from rich.text import Text

from fairlane.cli.api_client import ApiClient
from fairlane.cli.exit_codes import UsageProblem
from fairlane.cli.paths import job_path
from fairlane.cli.terminal import Terminal, format_value, format_values, styled_state
from fairlane.cli.times import format_clock, format_duration, format_relative, time_ago
from fairlane.core.lifecycle import FINAL, State

Job = Annotated[str, typer.Argument(help="The id of a job")]


async def jobs(
    client: ApiClient,
    terminal: Terminal,
    *,
    state: Annotated[
        list[str] | None, typer.Option(help="Only this state; may be repeated")
    ] = None,
    queue: Annotated[str | None, typer.Option(help="Only this queue")] = None,
    task: Annotated[str | None, typer.Option(help="Only this task")] = None,
    lane: Annotated[str | None, typer.Option(help="Only this lane")] = None,
    search: Annotated[str | None, typer.Option(help="Text in parameters, lanes, errors …")] = None,
    since: Annotated[str | None, typer.Option(help="Only the last 2h, 7d …")] = None,
    limit: Annotated[int, typer.Option(help="The maximum number of jobs", min=1, max=1000)] = 20,
    cursor: Annotated[str | None, typer.Option(help="The next page: `next` of --json")] = None,
) -> None:
    """List live jobs, then ended jobs, each the newest first."""
    for name in state or ():
        if name not in list(State):
            raise UsageProblem(f'"{name}" is not a state; expected one of {", ".join(State)}')
    page = await client.get(
        "/api/jobs", state=state or None, queue=queue, task=task, lane=lane, q=search,
        since=_parse_since(since), limit=limit, cursor=cursor,
    )  # fmt: skip
    if terminal.as_json:
        terminal.print_json(page)
        return
    if not page["items"]:
        terminal.print_line("no jobs" if cursor is None else "no more jobs")
        return
    rows = [_row(job) for job in page["items"]]
    used = [any(cells) for cells in zip(*rows, strict=True)]  # a terminal has few columns
    titles = ("JOB", "STATE", "QUEUE", "TASK", "LANE", "DONE", "WHEN")
    terminal.print_table(
        tuple(compress(titles, used)), [tuple(compress(row, used)) for row in rows], whole=2
    )
    if page["next"] is not None:
        terminal.print_hint("there are more: raise --limit, or add a filter")


def _row(job: dict[str, Any]) -> tuple[str | Text, ...]:
    percent = job["progress"]["percent"]
    progress_text = "" if percent is None or job["state"] in FINAL else f"{percent:.0f} %"
    when = job["ended_at"] or job["started_at"] or job["due_at"] or job["created_at"]
    return (
        job["id"],
        styled_state(job["state"]),
        job["queue"],
        job["task"],
        job["lane"] or "",
        progress_text,
        format_relative(when),
    )


def _parse_since(text: str | None) -> str | None:
    if text is None:
        return None
    try:
        return time_ago(text).isoformat()
    except ValueError as error:
        raise UsageProblem(str(error)) from None


async def show(client: ApiClient, terminal: Terminal, job: Job) -> None:
    """Show the fields of a job that have a value."""
    view = await client.get(job_path(job))
    if terminal.as_json:
        terminal.print_json(view)
        return
    terminal.print_fields(_job_fields(view))
    if view["stages"]:
        terminal.print_line()
        terminal.print_table(
            ("STAGE", "STATUS", "", "TOOK", ""),
            [
                (
                    stage["name"], styled_state(stage["status"]), f"{stage['percent']:.0f} %",
                    format_duration(stage["started_at"], stage["finished_at"]), stage["message"],
                )
                for stage in view["stages"]
            ],
        )  # fmt: skip


def _format_when(text: str | None) -> str:
    return f"{format_clock(text)}, {format_relative(text)}" if text else ""


def _job_fields(view: dict[str, Any]) -> list[tuple[str, str | Text]]:
    progress, error = view["progress"], view["error"] or {}
    percent = "" if progress["percent"] is None else f"{progress['percent']:.0f} % "
    times = [
        (name, _format_when(view[field]))
        for name, field in (
            ("submitted", "created_at"), ("due", "due_at"), ("started", "started_at"),
            ("updated", "updated_at"), ("ended", "ended_at"),
        )
        if field != "updated_at" or not view["ended_at"]  # its end was its last change
    ]  # fmt: skip
    return [
        ("job", view["id"]),
        ("task", view["task"]),
        (
            "state",
            Text.assemble(styled_state(view["state"]), " (stopping)" if view["stopping"] else ""),
        ),
        ("queue", view["queue"]),
        ("lane", view["lane"] or ""),
        ("priority", view["priority"]),
        ("parameters", format_values(view["params"])),
        ("waits for", "; ".join(reason["message"] for reason in view["waiting_for"])),
        ("progress", f"{percent}{progress['message']}"),
        ("statistics", format_values(view["statistics"])),
        ("attempt", str(view["attempt"]) if view["attempt"] else ""),
        ("crashes", str(view["crashes"]) if view["crashes"] else ""),
        ("worker", view["worker"] or ""),
        ("device", view["device"] or ""),
        *times,
        ("took", format_duration(view["started_at"], view["ended_at"]) if view["ended_at"] else ""),
        ("error", Text(f"{error['code']}: {error['message']}", style="red") if error else ""),
        ("result", "" if view["result"] is None else format_value(view["result"])),
        ("files", "\n".join(f"{made['path']} ({made['kind']})" for made in view["artifacts"])),
        ("meta", format_values(view["meta"])),
        ("", error.get("traceback", "")),
    ]
