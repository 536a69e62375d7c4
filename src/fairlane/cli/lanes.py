"""`fairlane lanes`: what each lane does, and what it was set to run."""

from typing import Annotated, Any

import typer

from fairlane.cli.exit_codes import Misused
from fairlane.cli.parameters import params_from
from fairlane.cli.paths import lanes_path
from fairlane.cli.submit import shape_of
from fairlane.cli.target import ApiClient
from fairlane.cli.terminal import Terminal, named, state


async def lanes(
    steering: ApiClient,
    terminal: Terminal,
    queue: Annotated[str | None, typer.Argument(help="Only this queue")] = None,
    lane: Annotated[str | None, typer.Argument(help="One lane of it")] = None,
    params: Annotated[
        list[str] | None, typer.Argument(help="For --save", metavar="NAME=VALUE…")
    ] = None,
    *,
    save: Annotated[str | None, typer.Option(help="Save this task for it to run")] = None,
    start: Annotated[bool, typer.Option("--start", help="Run what is saved, afresh")] = False,
    go_on: Annotated[bool, typer.Option("--continue", help="Run it from where it stopped")] = False,
    cancel: Annotated[bool, typer.Option("--cancel", help="Cancel its active job")] = False,
    forget: Annotated[bool, typer.Option("--forget", help="Forget what is saved")] = False,
    limit: Annotated[int, typer.Option(help="How many at most", min=1, max=1000)] = 50,
) -> None:
    """List lanes, show one, or run what is saved for it."""
    steps = {"start": start, "continue": go_on, "cancel": cancel}
    wanted = [name for name, is_wanted in steps.items() if is_wanted]
    if len(wanted) + bool(save) + forget > 1:
        raise Misused("one thing at a time: --save, --start, --continue, --cancel or --forget")
    if (wanted or save or forget) and (queue is None or lane is None):
        raise Misused("say which lane: fairlane lanes QUEUE LANE")
    if queue is None or lane is None:
        page = await steering.get("/api/lanes", queue=queue, limit=limit)
        _list(terminal, page)
        return
    if wanted:
        job = await steering.post(lanes_path(queue, wanted[0]), lane=lane)
        if terminal.as_json:
            terminal.value(job)
        else:
            terminal.say(f"{job['id']} ", state(job["state"]))
        return
    if save:
        given = params_from(await shape_of(steering, save), params or [], None)
        view = await steering.put(lanes_path(queue), {"task": save, "params": given}, lane=lane)
    elif forget:
        view = await steering.delete(lanes_path(queue), lane=lane)
    else:
        view = await steering.get(lanes_path(queue), lane=lane)
    _show(terminal, view)


def _list(terminal: Terminal, page: dict[str, Any]) -> None:
    if terminal.as_json:
        terminal.value(page)
        return
    if not page["items"]:
        terminal.say("no lanes")
        return
    terminal.table(
        ("LANE", "QUEUE", "STATE", "JOB", "SAVED"),
        [
            (
                view["lane"], view["queue"], state(view["state"]),
                view["active_job"] or view["last_job"] or "", _saved(view),
            )
            for view in page["items"]
        ],
    )  # fmt: skip
    if page["next"] is not None:
        terminal.hint("there are more: raise --limit, or name a queue")


def _show(terminal: Terminal, view: dict[str, Any]) -> None:
    if terminal.as_json:
        terminal.value(view)
        return
    terminal.facts(
        [
            ("lane", view["lane"]), ("queue", view["queue"]), ("state", state(view["state"])),
            ("active job", view["active_job"] or ""), ("last job", view["last_job"] or ""),
            ("saved", _saved(view)), ("checkpoint", named(view["checkpoint"] or {})),
        ]
    )  # fmt: skip


def _saved(view: dict[str, Any]) -> str:
    saved = view["params"]
    return "" if saved is None else f"{saved['task']}({named(saved['params'])})"
