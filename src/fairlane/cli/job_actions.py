"""`fairlane cancel`, `retry`, `rerun`, `move`, `priority` and `skip`: one step with one job."""

from enum import StrEnum
from typing import Annotated, Any

import typer

from fairlane.cli.exit_codes import DONE, UNAVAILABLE, Misused, Refused, Unreachable
from fairlane.cli.jobs import Job
from fairlane.cli.paths import job_path
from fairlane.cli.submit import PriorityName
from fairlane.cli.target import ApiClient
from fairlane.cli.terminal import Terminal, state

Jobs = Annotated[list[str], typer.Argument(help="The ids of jobs", metavar="JOB…")]


class Outputs(StrEnum):
    KEEP = "keep"
    DELETE = "delete"


class End(StrEnum):
    HEAD = "head"
    TAIL = "tail"


async def _each(
    steering: ApiClient, terminal: Terminal, jobs: list[str], step: str, body: Any = None
) -> None:
    """Take one step with each job; go on after one that refuses, and end as the first did."""
    code = DONE
    answers: list[dict[str, Any]] = []
    for number, job in enumerate(jobs):
        try:
            view = await steering.post(job_path(job, step), body)
        except Refused as error:
            code = code or error.exit_code
            answers.append({"id": job, "problem": error.problem})
            terminal.trouble(str(error), error.hint)
        except Unreachable as error:
            code = code or UNAVAILABLE
            problem = {"detail": str(error)}
            answers += [{"id": left, "problem": problem} for left in jobs[number:]]
            terminal.trouble(str(error))
            break
        else:
            answers.append(view)
            terminal.say(f"{view['id']} ", state(_now(view)))
    if terminal.as_json:
        terminal.value(answers if len(jobs) > 1 else answers[0])
    if code != DONE:
        raise typer.Exit(code)


def _now(view: dict[str, Any]) -> str:
    return "stopping" if view["stopping"] else str(view["state"])


async def cancel(
    steering: ApiClient,
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
    steering: ApiClient,
    terminal: Terminal,
    jobs: Jobs,
    *,
    place: Annotated[End, typer.Option(help="Where in its band")] = End.HEAD,
) -> None:
    """Run failed or cancelled jobs once more, as themselves."""
    await _each(steering, terminal, jobs, "retry", {"place": place.value})


async def rerun(steering: ApiClient, terminal: Terminal, jobs: Jobs) -> None:
    """Run the input of ended jobs again, as new jobs."""
    await _each(steering, terminal, jobs, "rerun")


async def skip(steering: ApiClient, terminal: Terminal, jobs: Jobs) -> None:
    """Take waiting jobs out of their queue as skipped."""
    await _each(steering, terminal, jobs, "skip")


async def move(
    steering: ApiClient,
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
    steering: ApiClient,
    terminal: Terminal,
    job: Job,
    priority: Annotated[PriorityName, typer.Argument(help="The band")],
) -> None:
    """Put a waiting job into another band."""
    await _each(steering, terminal, [job], "priority", {"priority": priority.value})
