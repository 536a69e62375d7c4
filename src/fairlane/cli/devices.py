"""`fairlane devices`: list, add, change, pause and remove devices."""

from typing import Annotated, Any

import typer
from rich.text import Text

from fairlane.cli.api_client import ApiClient
from fairlane.cli.exit_codes import UsageProblem
from fairlane.cli.parameters import parse_json
from fairlane.cli.paths import device_path
from fairlane.cli.terminal import Terminal, format_values
from fairlane.cli.times import format_relative

_STYLES = {"idle": "green", "busy": "cyan", "down": "red"}


async def devices(
    client: ApiClient,
    terminal: Terminal,
    name: Annotated[str | None, typer.Argument(help="The name of a device")] = None,
    settings: Annotated[
        list[str] | None,
        typer.Argument(help="Settings for its driver", metavar="NAME=VALUE…"),
    ] = None,
    *,
    queue: Annotated[str | None, typer.Option(help="Add it to this queue")] = None,
    label: Annotated[
        list[str] | None, typer.Option(help="A label that jobs may require; may be repeated")
    ] = None,
    pause: Annotated[bool, typer.Option("--pause", help="Start no new jobs on it")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Start jobs on it again")] = False,
    delete: Annotated[bool, typer.Option("--delete", help="Remove it")] = False,
) -> None:
    """List devices; show, add, change or remove one."""
    if name is None:
        print_devices(terminal, (await client.get("/api/devices"))["items"])
        return
    path = device_path(name)
    new = bool(queue or label or settings)
    if [pause, resume, delete, new].count(True) > 1:
        raise UsageProblem(
            "use only one of --pause, --resume, --delete, or the options that create a device"
        )
    if delete:
        await client.delete(path)
        if terminal.as_json:
            terminal.print_json({"deleted": name})
        else:
            terminal.print_line(f"{name} is removed; a job that runs on it continues")
    elif pause or resume:
        _print_device(terminal, await client.patch(path, {"paused": pause}))
    elif queue is not None:
        given = {"labels": label or [], "settings": _parse_settings(settings or [])}
        view = await client.post("/api/devices", {"name": name, "queue": queue, **given})
        _print_device(terminal, view)
    elif new:
        changes: dict[str, Any] = {"labels": label} if label else {}
        if settings:
            before = (await client.get(path))["settings"]
            changes["settings"] = before | _parse_settings(settings)
        _print_device(terminal, await client.patch(path, changes))
    else:
        _print_device(terminal, await client.get(path))


def _parse_settings(given: list[str]) -> dict[str, Any]:
    """Parse NAME=VALUE arguments; a value that is not JSON is text."""
    values: dict[str, Any] = {}
    for word in given:
        name, parted, value = word.partition("=")
        if not parted or not name:
            raise UsageProblem(f'"{word}" is not a setting; expected name=value')
        try:
            values[name] = parse_json(value, name)
        except ValueError:
            values[name] = value
    return values


def _state(view: dict[str, Any]) -> Text:
    text = f"{view['state']}, paused" if view["paused"] else str(view["state"])
    return Text(text, style="yellow" if view["paused"] else _STYLES[view["state"]])


def print_devices(terminal: Terminal, views: list[dict[str, Any]]) -> None:
    if terminal.as_json:
        terminal.print_json({"items": views})
    elif not views:
        terminal.print_line("no devices")
    else:
        rows = [
            (v["name"], v["queue"], _state(v), ", ".join(v["labels"]), v["job"] or "", v["note"])
            for v in views
        ]
        terminal.print_table(("DEVICE", "QUEUE", "STATE", "LABELS", "JOB", "NOTE"), rows)


def _print_device(terminal: Terminal, view: dict[str, Any]) -> None:
    if terminal.as_json:
        terminal.print_json(view)
        return
    terminal.print_fields(
        [
            ("device", view["name"]), ("queue", view["queue"]), ("state", _state(view)),
            ("why", view["note"]), ("job", view["job"] or ""),
            ("labels", ", ".join(view["labels"])), ("settings", format_values(view["settings"])),
            ("worker", view["worker"] or ""),
            ("last answer", format_relative(view["seen_at"]) if view["seen_at"] else ""),
        ]
    )  # fmt: skip
