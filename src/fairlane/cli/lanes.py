"""`fairlane lanes`: list lanes, save the call of one, and start it."""

from typing import Annotated, Any

import typer

from fairlane.cli.api_client import ApiClient
from fairlane.cli.exit_codes import UsageProblem
from fairlane.cli.parameters import parse_parameters
from fairlane.cli.paths import lanes_path
from fairlane.cli.program_name import command_text
from fairlane.cli.submit import fetch_parameter_types
from fairlane.cli.terminal import Terminal, format_values, styled_state


async def lanes(
    client: ApiClient,
    terminal: Terminal,
    queue: Annotated[str | None, typer.Argument(help="Only this queue")] = None,
    lane: Annotated[str | None, typer.Argument(help="A lane of this queue")] = None,
    params: Annotated[
        list[str] | None, typer.Argument(help="Parameters of --save", metavar="NAME=VALUE…")
    ] = None,
    *,
    save: Annotated[str | None, typer.Option(help="Save this task as the lane's call")] = None,
    start: Annotated[
        bool, typer.Option("--start", help="Submit the saved call, from the beginning")
    ] = False,
    go_on: Annotated[
        bool, typer.Option("--continue", help="Submit the saved call, from the checkpoint")
    ] = False,
    cancel: Annotated[bool, typer.Option("--cancel", help="Cancel its active job")] = False,
    forget: Annotated[bool, typer.Option("--forget", help="Delete the saved call")] = False,
    limit: Annotated[int, typer.Option(help="The maximum number of lanes", min=1, max=1000)] = 50,
) -> None:
    """List lanes, show one, or save, start and cancel its call."""
    choices = {"start": start, "continue": go_on, "cancel": cancel}
    actions = [name for name, is_given in choices.items() if is_given]
    if len(actions) + bool(save) + forget > 1:
        raise UsageProblem("use only one of --save, --start, --continue, --cancel, --forget")
    if (actions or save or forget) and (queue is None or lane is None):
        raise UsageProblem(f"name the lane: {command_text('lanes QUEUE LANE')}")
    if queue is None or lane is None:
        page = await client.get("/api/lanes", queue=queue, limit=limit)
        _print_lanes(terminal, page)
        return
    if actions:
        job = await client.post(lanes_path(queue, actions[0]), lane=lane)
        if terminal.as_json:
            terminal.print_json(job)
        else:
            terminal.print_line(f"{job['id']} ", styled_state(job["state"]))
        return
    if save:
        given = parse_parameters(await fetch_parameter_types(client, save), params or [], None)
        view = await client.put(lanes_path(queue), {"task": save, "params": given}, lane=lane)
    elif forget:
        view = await client.delete(lanes_path(queue), lane=lane)
    else:
        view = await client.get(lanes_path(queue), lane=lane)
    _print_lane(terminal, view)


def _print_lanes(terminal: Terminal, page: dict[str, Any]) -> None:
    if terminal.as_json:
        terminal.print_json(page)
        return
    if not page["items"]:
        terminal.print_line("no lanes")
        return
    terminal.print_table(
        ("LANE", "QUEUE", "STATE", "JOB", "SAVED"),
        [
            (
                view["lane"], view["queue"], styled_state(view["state"]),
                view["active_job"] or view["last_job"] or "", _saved_call(view),
            )
            for view in page["items"]
        ],
    )  # fmt: skip
    if page["next"] is not None:
        terminal.print_hint("there are more: raise --limit, or name a queue to list only its lanes")


def _print_lane(terminal: Terminal, view: dict[str, Any]) -> None:
    if terminal.as_json:
        terminal.print_json(view)
        return
    terminal.print_fields(
        [
            ("lane", view["lane"]), ("queue", view["queue"]),
            ("state", styled_state(view["state"])),
            ("active job", view["active_job"] or ""), ("last job", view["last_job"] or ""),
            ("saved", _saved_call(view)), ("checkpoint", format_values(view["checkpoint"] or {})),
        ]
    )  # fmt: skip


def _saved_call(view: dict[str, Any]) -> str:
    saved = view["params"]
    return "" if saved is None else f"{saved['task']}({format_values(saved['params'])})"
