"""`fairlane submit`: give a task to the queue, with or without its program at hand."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from fairlane.cli.exit_codes import JOB_FAILED, Misused, Refused, Unanswered, Unreachable
from fairlane.cli.parameters import Shape, lines_from, params_from
from fairlane.cli.program_name import command
from fairlane.cli.target import ApiClient
from fairlane.cli.terminal import Terminal
from fairlane.cli.times import ahead, instant_from
from fairlane.cli.watch import watched
from fairlane.ids import keyed_id, new_id

MOST_TOGETHER: Final = 1000


class PriorityName(StrEnum):
    HIGH = "high"
    NORMAL = "normal"
    LOW = "low"


async def submit(
    steering: ApiClient,
    terminal: Terminal,
    task: Annotated[str | None, typer.Argument(help="The task; without one: a list")] = None,
    params: Annotated[
        list[str] | None, typer.Argument(help="Its parameters", metavar="NAME=VALUE…")
    ] = None,
    *,
    params_json: Annotated[
        str | None, typer.Option("--params", help="Parameters as a JSON object, or - for stdin")
    ] = None,
    file: Annotated[
        Path | None, typer.Option(help="A job for each line: JSON, or the one missing parameter")
    ] = None,
    priority: Annotated[
        PriorityName, typer.Option(help="Which band it stands in")
    ] = PriorityName.NORMAL,
    lane: Annotated[str | None, typer.Option(help="Another lane than the task says")] = None,
    queue: Annotated[str | None, typer.Option(help="Another queue than the task says")] = None,
    at: Annotated[str | None, typer.Option(help="Not before: 14:05, 2026-11-20T14:05")] = None,
    in_: Annotated[str | None, typer.Option("--in", help="Not before so long: 10m, 2h")] = None,
    depends_on: Annotated[
        list[str] | None, typer.Option(help="Only after this job; may be repeated")
    ] = None,
    run_anyway: Annotated[
        bool, typer.Option(help="Also if a job it depends on did not complete")
    ] = False,
    dedupe: Annotated[str | None, typer.Option(help="Refused while a job has this key")] = None,
    go_on: Annotated[
        bool, typer.Option("--continue", help="From where the lane's last job stopped")
    ] = False,
    wait: Annotated[bool, typer.Option(help="Show its progress until it has ended")] = False,
) -> None:
    """Submit a job, or one for each line of a file, and say its id."""
    if task is None:
        _list(terminal, (await steering.get("/api/tasks"))["items"])
        return
    shape = await shape_of(steering, task)
    given = params_from(shape, params or [], params_json)
    options = {
        "priority": priority.value if priority is not PriorityName.NORMAL else None,
        "lane": lane, "queue": queue, "dedupe": dedupe, "run_at": _run_at(at, in_),
        "depends_on": depends_on or None, "run_anyway": run_anyway or None,
        "kind": "continue" if go_on else None,
    }  # fmt: skip
    chosen = {name: value for name, value in options.items() if value is not None}
    if file is not None:
        if wait:
            raise Misused(f"--wait shows one job; watch those of a file with {command('watch')}")
        jobs = [{"task": task, "params": each, **chosen} for each in lines_from(shape, file, given)]
        await _submit_many(steering, terminal, jobs)
        return
    job = await _submit_one(steering, terminal, {"task": task, "params": given, **chosen})
    if not wait:
        if terminal.as_json:
            terminal.value(job)
        else:
            terminal.say(job["id"])
        return
    ended = await watched(steering, terminal, job["id"])
    if ended["state"] != "completed":
        raise typer.Exit(JOB_FAILED)


def _list(terminal: Terminal, tasks: list[dict[str, Any]]) -> None:
    if terminal.as_json:
        terminal.value({"items": tasks})
    elif not tasks:
        terminal.say("no tasks: no program has declared any on this database yet")
    else:
        rows = [(task["name"], task["queue"], _takes(task), task["text"]) for task in tasks]
        terminal.table(("TASK", "QUEUE", "PARAMETERS", ""), rows)


def _takes(task: dict[str, Any]) -> str:
    """Name the parameters; those that may be left out stand in brackets."""
    required = task["parameters"].get("required", [])
    names = task["parameters"].get("properties", {})
    return " ".join(name if name in required else f"[{name}]" for name in names)


async def _submit_one(steering: ApiClient, terminal: Terminal, wanted: dict[str, Any]) -> Any:
    """Submit a job, and name it also where nobody says what becomes of it."""
    try:
        return await _sent(steering, "/api/jobs", wanted, new_id())
    except Refused as error:
        if error.problem.get("code") == "undecided" and error.problem.get("id"):
            terminal.say(error.problem["id"])
        raise


async def _submit_many(steering: ApiClient, terminal: Terminal, jobs: list[dict[str, Any]]) -> None:
    """Submit in parts that are each taken whole or not at all, and say how far it came."""
    ids: list[str] = []
    key = new_id()
    for start in range(0, len(jobs), MOST_TOGETHER):
        part = jobs[start : start + MOST_TOGETHER]
        try:
            answer = await _sent(steering, "/api/jobs/batch", {"jobs": part}, f"{key}-{start}")
        except BaseException:
            if ids:
                terminal.hint(f"the first {len(ids)} were submitted before this:")
            raise
        ids += [job["id"] for job in answer["jobs"]]
    if terminal.as_json:
        terminal.value({"ids": ids})
    else:
        terminal.say(f"{len(ids)} jobs submitted")


async def _sent(steering: ApiClient, path: str, body: Any, key: str) -> Any:
    """Submit under a key, by which it is known what to look for if no answer comes."""
    try:
        return await steering.post(path, body, key=key)
    except Unanswered as error:
        raise Unreachable(
            f"{error}; before you submit it again, see whether it is there: "
            f"{command(f'show {keyed_id(key, 0)}')}"
        ) from error


async def shape_of(steering: ApiClient, task: str) -> Shape:
    known = {item["name"]: item for item in (await steering.get("/api/tasks"))["items"]}
    return Shape(known.get(task, {}).get("parameters"))


def _run_at(at: str | None, in_: str | None) -> str | None:
    if at and in_:
        raise Misused("--at and --in both say when; give one of them")
    try:
        if at:
            return instant_from(at).isoformat()
        return ahead(in_).isoformat() if in_ else None
    except ValueError as error:
        raise Misused(str(error)) from None
