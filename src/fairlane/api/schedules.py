"""Schedules: jobs that are submitted at set times."""

from typing import Annotated, Any

from fastapi import APIRouter, Body, Path, Request
from starlette.responses import Response

from fairlane.api import models, openapi_links
from fairlane.api.dependencies import App
from fairlane.api.jobs import CREATED, UNDECIDED
from fairlane.api.models import Limit, Name
from fairlane.api.problems import problem_docs
from fairlane.api.responses import job_response, json_response, resource_path
from fairlane.api.strict_json import StrictRoute
from fairlane.app import Fairlane
from fairlane.errors import Conflict, UnknownName
from fairlane.snapshot import ScheduleView
from fairlane.tasks import Call

router = APIRouter(tags=["schedules"], route_class=StrictRoute)

ScheduleName = Annotated[Name, Path(alias="id")]
_CHANGE: Any = UNDECIDED | problem_docs(404, 409, body=True)
_RULES = set(models.Rules.model_fields)
_OPTIONS = {"queue", "lane", "priority", "meta"}


async def _find_schedule(app: Fairlane, name: str) -> ScheduleView:
    known = await app.schedules.list()
    if name not in known:
        raise UnknownName("schedule", name, known)
    return known[name]


@router.get("/schedules", operation_id="list_schedules", response_model=models.Schedules,
            responses=problem_docs())  # fmt: skip
async def list_schedules(app: App) -> Response:
    """List every schedule by name, with its next time."""
    return json_response({"items": list((await app.schedules.list()).values())})


@router.post("/schedules", operation_id="save_schedule", status_code=201,
             response_model=models.Schedule,
             responses=_CHANGE
             | {201: {"description": "saved", **openapi_links.TO_SCHEDULE}})  # fmt: skip
async def save_schedule(
    app: App, request: Request, given: Annotated[models.NewSchedule, Body()]
) -> Response:
    """Create a schedule, or replace the schedule with this name."""
    task = await app._submissions.find_task(given.task)
    options = given.model_dump(include=_OPTIONS, exclude_unset=True)
    rules: Any = given.model_dump(include=_RULES)
    await app.schedules.save(given.name, task.options(**options).call(**given.params), **rules)
    place = resource_path(request, "schedules", given.name)
    return json_response(await _find_schedule(app, given.name), status=201, Location=place)


@router.get("/schedules/{id}", operation_id="show_schedule", response_model=models.Schedule,
            responses=problem_docs(404))  # fmt: skip
async def show_schedule(app: App, id: ScheduleName) -> Response:
    return json_response(await _find_schedule(app, id))


@router.get("/schedules/{id}/firings", operation_id="list_firings",
            response_model=models.Firings, responses=problem_docs(404))  # fmt: skip
async def list_firings(app: App, id: ScheduleName, limit: Limit = 50) -> Response:
    """List the firings of a schedule, the newest first, with the job or the reason for none."""
    await _find_schedule(app, id)
    return json_response({"items": await app.schedules.firings(id, limit=limit)})


@router.patch("/schedules/{id}", operation_id="change_schedule", response_model=models.Schedule,
              responses=_CHANGE)  # fmt: skip
async def change_schedule(
    app: App, id: ScheduleName, changes: Annotated[models.ScheduleChanges, Body()]
) -> Response:
    """Change fields of a schedule; `paused` stops it from firing, or resumes it."""
    given = changes.model_dump(exclude_unset=True)
    rules: Any = {name: given[name] for name in _RULES & given.keys() if given[name] is not None}
    await app.schedules.change(
        id, await _changed_call(app, id, given), paused=changes.paused, **rules
    )
    return json_response(await _find_schedule(app, id))


async def _changed_call(app: Fairlane, name: str, given: dict[str, Any]) -> Call[Any] | None:
    """Return the new call of a changed schedule; None if its call stays."""
    if not {"task", "params", *_OPTIONS} & given.keys():
        return None
    task, params = await app.schedules.scheduled_call(name)
    chosen = {option: given[option] for option in _OPTIONS & given.keys()}
    known = await app._submissions.find_task(given.get("task") or task)
    new_params = given.get("params")
    if (
        new_params is None
    ):  # parameters of another task may hold secrets that this task does not mask
        new_params = params if known.name == task else {}
    return known.options(**chosen).call(**new_params)


@router.delete("/schedules/{id}", operation_id="delete_schedule", status_code=204,
               responses=_CHANGE)  # fmt: skip
async def delete_schedule(app: App, id: ScheduleName) -> Response:
    """Delete a schedule; if the code declares it, it stays deleted until it is saved again."""
    await app.schedules.delete(id)
    return Response(status_code=204)


@router.post("/schedules/{id}/fire", operation_id="fire_schedule", status_code=201,
             response_model=models.Job, responses=CREATED | _CHANGE)  # fmt: skip
async def fire_schedule(app: App, request: Request, id: ScheduleName) -> Response:
    """Fire a schedule now; 409 if its overlap policy skips it, which is recorded as a firing."""
    job = await app.schedules.fire(id)
    if job is None:
        newest = await app.schedules.firings(id, limit=1)
        why = newest[0].reason if newest else "its overlap policy skipped this firing"
        raise Conflict(f'schedule "{id}" submitted no job: {why}')
    return job_response(request, await job.show())
