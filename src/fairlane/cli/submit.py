"""`fairlane submit`: submit jobs; the program that declares the task need not be installed."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from fairlane.cli.api_client import ApiClient
from fairlane.cli.exit_codes import JOB_FAILED, ApiProblem, NoResponse, Unreachable, UsageProblem
from fairlane.cli.parameters import ParameterTypes, parse_parameters, read_job_lines
from fairlane.cli.program_name import command_text
from fairlane.cli.terminal import Terminal
from fairlane.cli.times import parse_time, time_ahead
from fairlane.cli.watch import watch_job
from fairlane.ids import keyed_id, new_id

BATCH_JOBS: Final = 1000


class PriorityName(StrEnum):
    HIGH = "high"
    NORMAL = "normal"
    LOW = "low"


async def submit(
    client: ApiClient,
    terminal: Terminal,
    task: Annotated[
        str | None, typer.Argument(help="The task; without one, list the tasks")
    ] = None,
    params: Annotated[
        list[str] | None, typer.Argument(help="Its parameters", metavar="NAME=VALUE…")
    ] = None,
    *,
    params_json: Annotated[
        str | None, typer.Option("--params", help="Parameters as a JSON object, or - for stdin")
    ] = None,
    file: Annotated[
        Path | None, typer.Option(help="One job per line: JSON, or the only missing parameter")
    ] = None,
    priority: Annotated[
        PriorityName, typer.Option(help="The priority of the job")
    ] = PriorityName.NORMAL,
    lane: Annotated[str | None, typer.Option(help="The lane, instead of the task's")] = None,
    queue: Annotated[str | None, typer.Option(help="The queue, instead of the task's")] = None,
    at: Annotated[
        str | None, typer.Option(help="Start no earlier than 14:05, 2026-11-20T14:05")
    ] = None,
    in_: Annotated[
        str | None, typer.Option("--in", help="Start after this time, such as 10m or 2h")
    ] = None,
    depends_on: Annotated[
        list[str] | None, typer.Option(help="Start after this job; may be repeated")
    ] = None,
    run_anyway: Annotated[
        bool, typer.Option(help="Run even if a job it depends on did not complete")
    ] = False,
    dedupe: Annotated[
        str | None, typer.Option(help="Refuse it while a live job has this key")
    ] = None,
    go_on: Annotated[
        bool, typer.Option("--continue", help="From the checkpoint of the lane's last job")
    ] = False,
    wait: Annotated[bool, typer.Option(help="Show its progress until it has ended")] = False,
) -> None:
    """Submit a job and print its id, or submit one job per line of a file."""
    if task is None:
        _print_tasks(terminal, (await client.get("/api/tasks"))["items"])
        return
    shape = await fetch_parameter_types(client, task)
    given = parse_parameters(shape, params or [], params_json)
    options = {
        "priority": priority.value if priority is not PriorityName.NORMAL else None,
        "lane": lane, "queue": queue, "dedupe": dedupe, "run_at": _parse_run_at(at, in_),
        "depends_on": depends_on or None, "run_anyway": run_anyway or None,
        "kind": "continue" if go_on else None,
    }  # fmt: skip
    chosen = {name: value for name, value in options.items() if value is not None}
    if file is not None:
        if wait:
            raise UsageProblem(
                f"--wait follows one job; to follow all, use {command_text('watch')}"
            )
        jobs = [
            {"task": task, "params": each, **chosen} for each in read_job_lines(shape, file, given)
        ]
        await _submit_many(client, terminal, jobs)
        return
    job = await _submit_one(client, terminal, {"task": task, "params": given, **chosen})
    if not wait:
        if terminal.as_json:
            terminal.print_json(job)
        else:
            terminal.print_line(job["id"])
        return
    ended = await watch_job(client, terminal, job["id"])
    if ended["state"] != "completed":
        raise typer.Exit(JOB_FAILED)


def _print_tasks(terminal: Terminal, tasks: list[dict[str, Any]]) -> None:
    if terminal.as_json:
        terminal.print_json({"items": tasks})
    elif not tasks:
        terminal.print_line("no tasks: no program has declared any on this database yet")
    else:
        rows = [
            (task["name"], task["queue"], _parameter_names(task), task["text"]) for task in tasks
        ]
        terminal.print_table(("TASK", "QUEUE", "PARAMETERS", ""), rows)


def _parameter_names(task: dict[str, Any]) -> str:
    """Return the names of the parameters, with the optional ones in brackets."""
    required = task["parameters"].get("required", [])
    names = task["parameters"].get("properties", {})
    return " ".join(name if name in required else f"[{name}]" for name in names)


async def _submit_one(client: ApiClient, terminal: Terminal, submission: dict[str, Any]) -> Any:
    """Submit a job, and print its id also if no leader has decided it yet."""
    try:
        return await _post_with_key(client, "/api/jobs", submission, new_id())
    except ApiProblem as error:
        if error.problem.get("code") == "undecided" and error.problem.get("id"):
            terminal.print_line(error.problem["id"])
        raise


async def _submit_many(client: ApiClient, terminal: Terminal, jobs: list[dict[str, Any]]) -> None:
    """Submit in batches, each all or none; after a failure, report how many were submitted."""
    ids: list[str] = []
    key = new_id()
    for start in range(0, len(jobs), BATCH_JOBS):
        part = jobs[start : start + BATCH_JOBS]
        try:
            response = await _post_with_key(
                client, "/api/jobs/batch", {"jobs": part}, f"{key}-{start}"
            )
        except BaseException:
            if ids:
                terminal.print_hint(f"the first {len(ids)} jobs were submitted before this error:")
            raise
        ids += [job["id"] for job in response["jobs"]]
    if terminal.as_json:
        terminal.print_json({"ids": ids})
    else:
        terminal.print_line(f"{len(ids)} jobs submitted")


async def _post_with_key(client: ApiClient, path: str, body: Any, key: str) -> Any:
    """Submit with an idempotency key, which determines the ids: without a response, name one."""
    try:
        return await client.post(path, body, key=key)
    except NoResponse as error:
        raise Unreachable(
            f"{error}; before you submit again, check whether the job exists: "
            f"{command_text(f'show {keyed_id(key, 0)}')}"
        ) from error


async def fetch_parameter_types(client: ApiClient, task: str) -> ParameterTypes:
    known = {item["name"]: item for item in (await client.get("/api/tasks"))["items"]}
    return ParameterTypes(known.get(task, {}).get("parameters"))


def _parse_run_at(at: str | None, in_: str | None) -> str | None:
    if at and in_:
        raise UsageProblem("use only one of --at and --in")
    try:
        if at:
            return parse_time(at).isoformat()
        return time_ahead(in_).isoformat() if in_ else None
    except ValueError as error:
        raise UsageProblem(str(error)) from None
