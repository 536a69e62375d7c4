"""`fairlane schedules`: jobs that come by themselves."""

from enum import StrEnum
from typing import Annotated, Any

import typer
from rich.text import Text

from fairlane.cli.exit_codes import Misused
from fairlane.cli.parameters import params_from
from fairlane.cli.paths import schedule_path
from fairlane.cli.submit import shape_of
from fairlane.cli.target import ApiClient
from fairlane.cli.terminal import Terminal, named
from fairlane.cli.times import clock, instant_from, relative, span, span_from


class Overlap(StrEnum):
    SKIP = "skip"
    QUEUE = "queue"
    CANCEL = "cancel"


async def schedules(
    steering: ApiClient,
    terminal: Terminal,
    name: Annotated[str | None, typer.Argument(help="One schedule")] = None,
    params: Annotated[
        list[str] | None, typer.Argument(help="Parameters of --task", metavar="NAME=VALUE…")
    ] = None,
    *,
    task: Annotated[str | None, typer.Option(help="What it submits; makes it if new")] = None,
    cron: Annotated[str | None, typer.Option(help='When: "0 3 * * *"')] = None,
    every: Annotated[str | None, typer.Option(help="When: every 10m, 2h …")] = None,
    at: Annotated[str | None, typer.Option(help="When: once, 14:05 or 2026-11-20T14:05")] = None,
    timezone: Annotated[str | None, typer.Option(help="Europe/Berlin; UTC otherwise")] = None,
    overlap: Annotated[
        Overlap | None, typer.Option(help="While the job of the last firing is alive")
    ] = None,
    pause: Annotated[bool, typer.Option("--pause", help="Do not fire")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Fire again")] = False,
    fire: Annotated[bool, typer.Option("--fire", help="Fire now, by hand")] = False,
    delete: Annotated[bool, typer.Option("--delete", help="Delete it")] = False,
) -> None:
    """List schedules; show, make, change, fire or delete one."""
    if name is None:
        _list(terminal, (await steering.get("/api/schedules"))["items"])
        return
    path = schedule_path(name)
    rules = _rules(cron, every, at, timezone, overlap)
    if [pause, resume, fire, delete, bool(rules or task)].count(True) > 1:
        raise Misused("one thing at a time: --pause, --resume, --fire, --delete or new rules")
    if delete:
        await steering.delete(path)
        _said(terminal, {"deleted": name}, f"{name} is deleted")
    elif fire:
        job = await steering.post(schedule_path(name, "fire"))
        _said(terminal, job, f"{job['id']} {job['state']}" if job else f"{name} was skipped")
    elif pause or resume:
        _show(terminal, await steering.patch(path, {"paused": pause}), [])
    elif task or rules:
        _show(terminal, await _saved(steering, name, path, task, params or [], rules), [])
    else:
        view = await steering.get(path)
        _show(
            terminal, view, (await steering.get(schedule_path(name, "firings"), limit=10))["items"]
        )


async def _saved(
    steering: ApiClient,
    name: str,
    path: str,
    task: str | None,
    params: list[str],
    rules: dict[str, Any],
) -> Any:
    """Change a schedule that is there; make one of a task with a time."""
    known = {item["name"] for item in (await steering.get("/api/schedules"))["items"]}
    if task is not None:
        given = params_from(await shape_of(steering, task), params, None)
        rules = {**rules, "task": task, "params": given}
    if name in known:
        return await steering.patch(path, rules)
    if task is None:
        raise Misused(f'there is no schedule "{name}" yet; to make it, say --task as well')
    return await steering.post("/api/schedules", {"name": name, **rules})


def _rules(
    cron: str | None,
    every: str | None,
    at: str | None,
    timezone: str | None,
    overlap: Overlap | None,
) -> dict[str, Any]:
    try:
        rules = {
            "cron": cron,
            "every_seconds": None if every is None else span_from(every).total_seconds(),
            "at": None if at is None else instant_from(at).isoformat(),
            "timezone": timezone,
            "overlap": None if overlap is None else overlap.value,
        }
    except ValueError as error:
        raise Misused(str(error)) from None
    return {name: value for name, value in rules.items() if value is not None}


def _said(terminal: Terminal, value: Any, text: str) -> None:
    if terminal.as_json:
        terminal.value(value)
    else:
        terminal.say(text)


def _when(view: dict[str, Any]) -> str:
    if view["cron"] is not None:
        zone = "" if view["timezone"] == "UTC" else f" {view['timezone']}"
        return f"{view['cron']}{zone}"
    if view["every_seconds"] is not None:
        return f"every {span(view['every_seconds'])}"
    return f"once, {clock(view['at'])}"


def _next(view: dict[str, Any]) -> str | Text:
    return Text("paused", style="yellow") if view["paused"] else relative(view["next_at"])


def _list(terminal: Terminal, views: list[dict[str, Any]]) -> None:
    if terminal.as_json:
        terminal.value({"items": views})
    elif not views:
        terminal.say("no schedules")
    else:
        rows = [(v["name"], v["task"], _when(v), _next(v)) for v in views]
        terminal.table(("SCHEDULE", "TASK", "WHEN", "NEXT"), rows)


def _show(terminal: Terminal, view: dict[str, Any], firings: list[dict[str, Any]]) -> None:
    if terminal.as_json:
        terminal.value({**view, "firings": firings})
        return
    terminal.facts(
        [
            ("schedule", view["name"]), ("task", view["task"]),
            ("parameters", named(view["params"])), ("queue", view["queue"]), ("when", _when(view)),
            ("next", _next(view)), ("overlap", view["overlap"]),
        ]
    )  # fmt: skip
    if firings:
        terminal.say()
        rows = [(clock(f["fire_at"]), f["job"] or "", f["reason"] or "") for f in firings]
        terminal.table(("FIRED", "JOB", ""), rows)
