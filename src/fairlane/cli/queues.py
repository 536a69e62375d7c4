"""`fairlane queues`, `pause`, `resume` and `stop-after-current`."""

from typing import Annotated, Any

import typer
from rich.text import Text

from fairlane.cli.paths import queue_path
from fairlane.cli.target import ApiClient
from fairlane.cli.terminal import Terminal, state

Queue = Annotated[str, typer.Argument(help="The name of a queue")]


async def queues(steering: ApiClient, terminal: Terminal) -> None:
    """List the queues: what runs, what waits, and how many may run at a time."""
    answer = await steering.get("/api/queues")
    if terminal.as_json:
        terminal.value(answer)
        return
    rows = [_row(queue) for queue in answer["items"]]
    terminal.table(("QUEUE", "RUNNING", "WAITING", "AT A TIME", "ORDER", ""), rows)


def _row(queue: dict[str, Any]) -> tuple[str | Text, ...]:
    counts, settings = queue["counts"], queue["settings"]
    running = counts.get("running", 0)
    most = settings["max_concurrent"]
    shown = "no limit" if most is None else str(most)
    if "max_concurrent" in queue["changed_by_operator"]:
        shown += " (set by hand)"
    paused = {"paused": "paused", "after_current": "stops after current"}.get(queue["paused"], "")
    return (
        queue["name"], str(running), str(sum(counts.values()) - running), shown,
        settings["order"], Text(paused, style="yellow"),
    )  # fmt: skip


async def pause(steering: ApiClient, terminal: Terminal, queue: Queue) -> None:
    """Start nothing new in a queue; what runs goes on."""
    await _step(steering, terminal, queue, "pause", "nothing new starts")


async def resume(steering: ApiClient, terminal: Terminal, queue: Queue) -> None:
    """Let a queue go on."""
    await _step(steering, terminal, queue, "resume", "goes on")


async def stop_after_current(steering: ApiClient, terminal: Terminal, queue: Queue) -> None:
    """Pause a queue, and let the program that drains it end with what runs now."""
    await _step(steering, terminal, queue, "stop-after-current", "stops after what runs now")


async def _step(steering: ApiClient, terminal: Terminal, queue: str, step: str, said: str) -> None:
    answer = await steering.post(queue_path(queue, step))
    if terminal.as_json:
        terminal.value(answer)
        return
    running = answer["counts"].get("running", 0)
    waiting = sum(answer["counts"].values()) - running
    mark = state("paused") if answer["paused"] else Text("open", style="green")
    terminal.say(f"{answer['name']} is ", mark, f": {said}; {running} running, {waiting} waiting")
