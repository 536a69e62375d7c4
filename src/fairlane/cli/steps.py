"""`fairlane cancel`, `retry`, `rerun`, `move`, `priority` and `skip`: one step with one job."""

from enum import StrEnum
from typing import Annotated, Any

import typer

from fairlane.cli.endings import Misused, Refused
from fairlane.cli.jobs import Job
from fairlane.cli.steering import Steering
from fairlane.cli.submit import Priority
from fairlane.cli.terminal import Terminal, state

Jobs = Annotated[list[str], typer.Argument(help="The ids of jobs", metavar="JOB…")]


class Outputs(StrEnum):
    KEEP = "keep"
    DELETE = "delete"


class End(StrEnum):
    HEAD = "head"
    TAIL = "tail"


async def _each(
    steering: Steering, terminal: Terminal, jobs: list[str], step: str, body: Any = None
) -> None:
    """Take one step with each job; go on after one that refuses, and end as the first did."""
    refused: Refused | None = None
    views = []
    for job in jobs:
        try:
            view = await steering.post(f"/api/jobs/{job}/{step}", body)
        except Refused as error:
            if refused is not None:
                terminal.hint(f"fairlane: {error}")  # the first is said at the end
            refused = refused or error
            continue
        views.append(view)
        terminal.say(f"{view['id']} ", state(_now(view)))
    if terminal.as_json and views:
        terminal.value(views if len(jobs) > 1 else views[0])
    if refused is not None:
        raise refused


def _now(view: dict[str, Any]) -> str:
    return "stopping" if view["stopping"] else str(view["state"])


async def cancel(
    steering: Steering,
    terminal: Terminal,
    jobs: Jobs,
    *,
    outputs: Annotated[Outputs, typer.Option(help="What becomes of finished files")] = Outputs.KEEP,
    force: Annotated[
        bool, typer.Option(help="Kill what does not stop; its output may be damaged")
    ] = False,
) -> None:
    """Cancel jobs. A running one is asked to stop, and has its grace."""
    await _each(steering, terminal, jobs, "cancel", {"outputs": outputs.value, "force": force})


async def retry(
    steering: Steering,
    terminal: Terminal,
    jobs: Jobs,
    *,
    place: Annotated[End, typer.Option(help="Where in its band")] = End.HEAD,
) -> None:
    """Run failed or cancelled jobs once more, as themselves."""
    await _each(steering, terminal, jobs, "retry", {"place": place.value})


async def rerun(steering: Steering, terminal: Terminal, jobs: Jobs) -> None:
    """Run the input of ended jobs again, as new jobs."""
    await _each(steering, terminal, jobs, "rerun")


async def skip(steering: Steering, terminal: Terminal, jobs: Jobs) -> None:
    """Take waiting jobs out of their queue as skipped."""
    await _each(steering, terminal, jobs, "skip")


async def move(
    steering: Steering,
    terminal: Terminal,
    job: Job,
    to: Annotated[End | None, typer.Argument(help="An end of its band")] = None,
    *,
    before: Annotated[str | None, typer.Option(help="Before this job")] = None,
    after: Annotated[str | None, typer.Option(help="After this job")] = None,
) -> None:
    """Put a waiting job elsewhere in the order; to the head means: start it next."""
    wanted = {"to": None if to is None else to.value, "before": before, "after": after}
    body = {name: value for name, value in wanted.items() if value is not None}
    if len(body) != 1:
        raise Misused("say exactly one place: head, tail, --before JOB or --after JOB")
    await _each(steering, terminal, [job], "move", body)


async def priority(
    steering: Steering,
    terminal: Terminal,
    job: Job,
    priority: Annotated[Priority, typer.Argument(help="The band")],
) -> None:
    """Put a waiting job into another band."""
    await _each(steering, terminal, [job], "priority", {"priority": priority.value})
