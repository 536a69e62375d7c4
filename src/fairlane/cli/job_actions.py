"""`fairlane cancel`, `retry`, `rerun`, `move`, `priority` and `skip`: actions on jobs."""

from enum import StrEnum
from typing import Annotated, Any

import typer

from fairlane.cli.api_client import ApiClient
from fairlane.cli.exit_codes import DONE, UNAVAILABLE, ApiProblem, Unreachable, UsageProblem
from fairlane.cli.jobs import Job
from fairlane.cli.paths import job_path
from fairlane.cli.submit import PriorityName
from fairlane.cli.terminal import Terminal, styled_state

Jobs = Annotated[list[str], typer.Argument(help="The ids of jobs", metavar="JOB…")]


class CancelOutputs(StrEnum):
    KEEP = "keep"
    DELETE = "delete"


class QueueEnd(StrEnum):
    HEAD = "head"
    TAIL = "tail"


async def _act_on_jobs(
    client: ApiClient, terminal: Terminal, jobs: list[str], step: str, body: Any = None
) -> None:
    """Apply one action to each job; go on after a refusal, and exit with the first one's code."""
    code = DONE
    results: list[dict[str, Any]] = []
    for number, job in enumerate(jobs):
        try:
            view = await client.post(job_path(job, step), body)
        except ApiProblem as error:
            code = code or error.exit_code
            results.append({"id": job, "problem": error.problem})
            terminal.print_error(str(error), error.hint)
        except Unreachable as error:
            code = code or UNAVAILABLE
            problem = {"detail": str(error)}
            results += [{"id": left, "problem": problem} for left in jobs[number:]]
            terminal.print_error(str(error))
            break
        else:
            results.append(view)
            terminal.print_line(f"{view['id']} ", styled_state(_state_name(view)))
    if terminal.as_json:
        terminal.print_json(results if len(jobs) > 1 else results[0])
    if code != DONE:
        raise typer.Exit(code)


def _state_name(view: dict[str, Any]) -> str:
    return "stopping" if view["stopping"] else str(view["state"])


async def cancel(
    client: ApiClient,
    terminal: Terminal,
    jobs: Jobs,
    *,
    outputs: Annotated[
        CancelOutputs, typer.Option(help="Keep or delete finished files")
    ] = CancelOutputs.KEEP,
    force: Annotated[
        bool, typer.Option(help="Kill a process that does not stop; its output may be damaged")
    ] = False,
) -> None:
    """Cancel jobs. A running job is requested to stop, and has a grace period."""
    await _act_on_jobs(client, terminal, jobs, "cancel", {"outputs": outputs.value, "force": force})


async def retry(
    client: ApiClient,
    terminal: Terminal,
    jobs: Jobs,
    *,
    place: Annotated[
        QueueEnd, typer.Option(help="Where among jobs of its priority")
    ] = QueueEnd.HEAD,
) -> None:
    """Run failed or cancelled jobs again, with the same ids."""
    await _act_on_jobs(client, terminal, jobs, "retry", {"place": place.value})


async def rerun(client: ApiClient, terminal: Terminal, jobs: Jobs) -> None:
    """Submit new jobs with the task and parameters of ended ones."""
    await _act_on_jobs(client, terminal, jobs, "rerun")


async def skip(client: ApiClient, terminal: Terminal, jobs: Jobs) -> None:
    """End waiting jobs as skipped, without running them."""
    await _act_on_jobs(client, terminal, jobs, "skip")


async def move(
    client: ApiClient,
    terminal: Terminal,
    job: Job,
    to: Annotated[QueueEnd | None, typer.Argument(help="The head or tail of its priority")] = None,
    *,
    before: Annotated[str | None, typer.Option(help="Before this job")] = None,
    after: Annotated[str | None, typer.Option(help="After this job")] = None,
) -> None:
    """Move a waiting job in the order; the job at the head starts next."""
    places = {"to": None if to is None else to.value, "before": before, "after": after}
    body = {name: value for name, value in places.items() if value is not None}
    if len(body) != 1:
        raise UsageProblem("give exactly one place: head, tail, --before JOB or --after JOB")
    await _act_on_jobs(client, terminal, [job], "move", body)


async def priority(
    client: ApiClient,
    terminal: Terminal,
    job: Job,
    priority: Annotated[PriorityName, typer.Argument(help="The new priority")],
) -> None:
    """Change the priority of a waiting job."""
    await _act_on_jobs(client, terminal, [job], "priority", {"priority": priority.value})
