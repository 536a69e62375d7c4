"""`fairlane queues`, `pause`, `resume` and `stop-after-current`."""

from typing import Annotated, Any, Final

import typer
from rich.text import Text

from fairlane.cli.api_client import ApiClient
from fairlane.cli.paths import queue_path
from fairlane.cli.terminal import Terminal

_PAUSED: Final = {"paused": "paused", "after_current": "stops after current"}
Queue = Annotated[str, typer.Argument(help="The name of a queue")]


async def queues(client: ApiClient, terminal: Terminal) -> None:
    """List the queues: running and waiting jobs, limit and order."""
    view = await client.get("/api/queues")
    if terminal.as_json:
        terminal.print_json(view)
        return
    rows = [_row(queue) for queue in view["items"]]
    terminal.print_table(("QUEUE", "RUNNING", "WAITING", "AT A TIME", "ORDER", ""), rows)


def _row(queue: dict[str, Any]) -> tuple[str | Text, ...]:
    counts, settings = queue["counts"], queue["settings"]
    running = counts.get("running", 0)
    most = settings["max_concurrent"]
    limit_text = "no limit" if most is None else str(most)
    if "max_concurrent" in queue["changed_by_operator"]:
        limit_text += " (set by an operator)"
    paused = _PAUSED.get(queue["paused"], "")
    return (
        queue["name"], str(running), str(sum(counts.values()) - running), limit_text,
        settings["order"], Text(paused, style="yellow"),
    )  # fmt: skip


async def pause(client: ApiClient, terminal: Terminal, queue: Queue) -> None:
    """Start no new jobs of a queue; running jobs continue."""
    await _set_pause(client, terminal, queue, "pause", "no new jobs start")


async def resume(client: ApiClient, terminal: Terminal, queue: Queue) -> None:
    """Start jobs of a paused queue again."""
    await _set_pause(client, terminal, queue, "resume", "jobs start again")


async def stop_after_current(client: ApiClient, terminal: Terminal, queue: Queue) -> None:
    """Pause a queue; a program that drains it ends when the running jobs have ended."""
    effect = "no new jobs start; a program that drains it ends after the running jobs"
    await _set_pause(client, terminal, queue, "stop-after-current", effect)


async def _set_pause(
    client: ApiClient, terminal: Terminal, queue: str, step: str, effect: str
) -> None:
    view = await client.post(queue_path(queue, step))
    if terminal.as_json:
        terminal.print_json(view)
        return
    running = view["counts"].get("running", 0)
    waiting = sum(view["counts"].values()) - running
    mark = Text("paused", style="yellow") if view["paused"] else Text("open", style="green")
    terminal.print_line(
        f"{view['name']} is ", mark, f": {effect}; {running} running, {waiting} waiting"
    )
