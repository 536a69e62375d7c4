"""`fairlane devices`: named things that jobs run on."""

from typing import Annotated, Any

import typer
from rich.text import Text

from fairlane.cli.exit_codes import Misused
from fairlane.cli.parameters import loaded
from fairlane.cli.paths import device_path
from fairlane.cli.target import ApiClient
from fairlane.cli.terminal import Terminal, named
from fairlane.cli.times import relative

_STYLES = {"idle": "green", "busy": "cyan", "down": "red"}


async def devices(
    steering: ApiClient,
    terminal: Terminal,
    name: Annotated[str | None, typer.Argument(help="One device")] = None,
    settings: Annotated[
        list[str] | None,
        typer.Argument(help="How to reach it, for its driver", metavar="NAME=VALUE…"),
    ] = None,
    *,
    queue: Annotated[str | None, typer.Option(help="Add it to this queue")] = None,
    label: Annotated[
        list[str] | None, typer.Option(help="What it has, and jobs may require; repeat it")
    ] = None,
    pause: Annotated[bool, typer.Option("--pause", help="Take nothing new")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Take jobs again")] = False,
    delete: Annotated[bool, typer.Option("--delete", help="Take it out")] = False,
) -> None:
    """List devices; show, add, change or take out one."""
    if name is None:
        _list(terminal, (await steering.get("/api/devices"))["items"])
        return
    path = device_path(name)
    new = bool(queue or label or settings)
    if [pause, resume, delete, new].count(True) > 1:
        raise Misused("one thing at a time: --pause, --resume, --delete or what it is")
    if delete:
        await steering.delete(path)
        if terminal.as_json:
            terminal.value({"deleted": name})
        else:
            terminal.say(f"{name} is taken out; what runs on it goes on to its end")
    elif pause or resume:
        _show(terminal, await steering.patch(path, {"paused": pause}))
    elif queue is not None:
        given = {"labels": label or [], "settings": _values(settings or [])}
        view = await steering.post("/api/devices", {"name": name, "queue": queue, **given})
        _show(terminal, view)
    elif new:
        changes: dict[str, Any] = {"labels": label} if label else {}
        if settings:
            before = (await steering.get(path))["settings"]
            changes["settings"] = before | _values(settings)
        _show(terminal, await steering.patch(path, changes))
    else:
        _show(terminal, await steering.get(path))


def _values(given: list[str]) -> dict[str, Any]:
    """Read NAME=VALUE, where the value may be JSON and is text otherwise."""
    values: dict[str, Any] = {}
    for word in given:
        name, parted, value = word.partition("=")
        if not parted or not name:
            raise Misused(f'"{word}" is no setting; write it as name=value')
        try:
            values[name] = loaded(value, name)
        except ValueError:
            values[name] = value
    return values


def _state(view: dict[str, Any]) -> Text:
    shown = f"{view['state']}, paused" if view["paused"] else str(view["state"])
    return Text(shown, style="yellow" if view["paused"] else _STYLES[view["state"]])


def _list(terminal: Terminal, views: list[dict[str, Any]]) -> None:
    if terminal.as_json:
        terminal.value({"items": views})
    elif not views:
        terminal.say("no devices")
    else:
        rows = [
            (v["name"], v["queue"], _state(v), ", ".join(v["labels"]), v["job"] or v["note"])
            for v in views
        ]
        terminal.table(("DEVICE", "QUEUE", "STATE", "LABELS", "JOB"), rows)


def _show(terminal: Terminal, view: dict[str, Any]) -> None:
    if terminal.as_json:
        terminal.value(view)
        return
    terminal.facts(
        [
            ("device", view["name"]), ("queue", view["queue"]), ("state", _state(view)),
            ("why", view["note"]), ("job", view["job"] or ""),
            ("labels", ", ".join(view["labels"])), ("settings", named(view["settings"])),
            ("worker", view["worker"] or ""),
            ("last answer", relative(view["seen_at"]) if view["seen_at"] else ""),
        ]
    )  # fmt: skip
