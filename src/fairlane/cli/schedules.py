"""`fairlane schedules`: list, create, change, fire and delete schedules."""

from enum import StrEnum
from typing import Annotated, Any

import typer
from rich.text import Text

from fairlane.cli.api_client import ApiClient
from fairlane.cli.exit_codes import UsageProblem
from fairlane.cli.parameters import parse_parameters
from fairlane.cli.paths import schedule_path
from fairlane.cli.submit import fetch_parameter_types
from fairlane.cli.terminal import Terminal, format_values
from fairlane.cli.times import format_clock, format_relative, format_span, parse_span, parse_time


class Overlap(StrEnum):
    SKIP = "skip"
    QUEUE = "queue"
    CANCEL = "cancel"


async def schedules(
    client: ApiClient,
    terminal: Terminal,
    name: Annotated[str | None, typer.Argument(help="The name of a schedule")] = None,
    params: Annotated[
        list[str] | None, typer.Argument(help="Parameters of --task", metavar="NAME=VALUE…")
    ] = None,
    *,
    task: Annotated[
        str | None, typer.Option(help="The task to submit; creates a new schedule")
    ] = None,
    cron: Annotated[str | None, typer.Option(help='When: "0 3 * * *"')] = None,
    every: Annotated[str | None, typer.Option(help="When: every 10m, 2h …")] = None,
    at: Annotated[str | None, typer.Option(help="When: once, 14:05 or 2026-11-20T14:05")] = None,
    timezone: Annotated[str | None, typer.Option(help="Such as Europe/Berlin; default UTC")] = None,
    overlap: Annotated[
        Overlap | None, typer.Option(help="If the job of the last firing has not ended")
    ] = None,
    pause: Annotated[bool, typer.Option("--pause", help="Stop firing")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Fire again")] = False,
    fire: Annotated[bool, typer.Option("--fire", help="Fire now")] = False,
    delete: Annotated[bool, typer.Option("--delete", help="Delete it")] = False,
) -> None:
    """List schedules; show, create, change, fire or delete one."""
    if name is None:
        _print_schedules(terminal, (await client.get("/api/schedules"))["items"])
        return
    path = schedule_path(name)
    rules = _parse_rules(cron, every, at, timezone, overlap)
    if [pause, resume, fire, delete, bool(rules or task)].count(True) > 1:
        raise UsageProblem(
            "use only one of --pause, --resume, --fire, --delete, or the options that set rules"
        )
    if delete:
        await client.delete(path)
        _print_result(terminal, {"deleted": name}, f"{name} is deleted")
    elif fire:
        job = await client.post(schedule_path(name, "fire"))
        _print_result(
            terminal, job, f"{job['id']} {job['state']}" if job else f"{name} was skipped"
        )
    elif pause or resume:
        _print_schedule(terminal, await client.patch(path, {"paused": pause}), [])
    elif task or rules:
        _print_schedule(terminal, await _save(client, name, path, task, params or [], rules), [])
    else:
        view = await client.get(path)
        _print_schedule(
            terminal, view, (await client.get(schedule_path(name, "firings"), limit=10))["items"]
        )


async def _save(
    client: ApiClient,
    name: str,
    path: str,
    task: str | None,
    params: list[str],
    rules: dict[str, Any],
) -> Any:
    """Change an existing schedule, or create one if a task is given."""
    known = {item["name"] for item in (await client.get("/api/schedules"))["items"]}
    if task is not None:
        given = parse_parameters(await fetch_parameter_types(client, task), params, None)
        rules = {**rules, "task": task, "params": given}
    if name in known:
        return await client.patch(path, rules)
    if task is None:
        raise UsageProblem(f'there is no schedule "{name}"; give --task as well to create it')
    return await client.post("/api/schedules", {"name": name, **rules})


def _parse_rules(
    cron: str | None,
    every: str | None,
    at: str | None,
    timezone: str | None,
    overlap: Overlap | None,
) -> dict[str, Any]:
    try:
        rules = {
            "cron": cron,
            "every_seconds": None if every is None else parse_span(every).total_seconds(),
            "at": None if at is None else parse_time(at).isoformat(),
            "timezone": timezone,
            "overlap": None if overlap is None else overlap.value,
        }
    except ValueError as error:
        raise UsageProblem(str(error)) from None
    return {name: value for name, value in rules.items() if value is not None}


def _print_result(terminal: Terminal, value: Any, text: str) -> None:
    if terminal.as_json:
        terminal.print_json(value)
    else:
        terminal.print_line(text)


def _when(view: dict[str, Any]) -> str:
    if view["cron"] is not None:
        zone = "" if view["timezone"] == "UTC" else f" {view['timezone']}"
        return f"{view['cron']}{zone}"
    if view["every_seconds"] is not None:
        return f"every {format_span(view['every_seconds'])}"
    return f"once, {format_clock(view['at'])}"


def _next(view: dict[str, Any]) -> str | Text:
    return Text("paused", style="yellow") if view["paused"] else format_relative(view["next_at"])


def _print_schedules(terminal: Terminal, views: list[dict[str, Any]]) -> None:
    if terminal.as_json:
        terminal.print_json({"items": views})
    elif not views:
        terminal.print_line("no schedules")
    else:
        rows = [(v["name"], v["task"], _when(v), _next(v)) for v in views]
        terminal.print_table(("SCHEDULE", "TASK", "WHEN", "NEXT"), rows)


def _print_schedule(
    terminal: Terminal, view: dict[str, Any], firings: list[dict[str, Any]]
) -> None:
    if terminal.as_json:
        terminal.print_json({**view, "firings": firings})
        return
    terminal.print_fields(
        [
            ("schedule", view["name"]), ("task", view["task"]),
            ("parameters", format_values(view["params"])), ("queue", view["queue"]),
            ("when", _when(view)), ("next", _next(view)), ("overlap", view["overlap"]),
        ]
    )  # fmt: skip
    if firings:
        terminal.print_line()
        rows = [(format_clock(f["fire_at"]), f["job"] or "", f["reason"] or "") for f in firings]
        terminal.print_table(("FIRED", "JOB", ""), rows)
