"""Schedules: jobs that come by themselves."""

from typing import Annotated, Any

from fastapi import APIRouter, Body, Path, Request
from starlette.responses import Response

from fairlane.api import models, openapi_links
from fairlane.api.dependencies import App
from fairlane.api.jobs import MADE, UNDECIDED
from fairlane.api.models import Limit, Name
from fairlane.api.problems import documented
from fairlane.api.responses import address_of, answer, made
from fairlane.api.strict_json import StrictRoute
from fairlane.app import Fairlane
from fairlane.errors import Conflict, UnknownName
from fairlane.snapshot import ScheduleView
from fairlane.tasks import Call

router = APIRouter(tags=["schedules"], route_class=StrictRoute)

ScheduleName = Annotated[Name, Path(alias="id")]
_CHANGE: Any = UNDECIDED | documented(404, 409, body=True)
_RULES = set(models.Rules.model_fields)
_OPTIONS = {"queue", "lane", "priority", "meta"}


async def _shown(app: Fairlane, name: str) -> ScheduleView:
    known = await app.schedules.list()
    if name not in known:
        raise UnknownName("schedule", name, known)
    return known[name]


@router.get("/schedules", operation_id="list_schedules", response_model=models.Schedules,
            responses=documented())  # fmt: skip
async def list_schedules(app: App) -> Response:
    """List every schedule by name, and when it fires next."""
    return answer({"items": list((await app.schedules.list()).values())})


@router.post("/schedules", operation_id="save_schedule", status_code=201,
             response_model=models.Schedule,
             responses=_CHANGE
             | {201: {"description": "saved", **openapi_links.TO_SCHEDULE}})  # fmt: skip
async def save_schedule(
    app: App, request: Request, given: Annotated[models.NewSchedule, Body()]
) -> Response:
    """Make a schedule, or put another in the place of the one with this name."""
    task = await app._submissions.find_task(given.task)
    options = given.model_dump(include=_OPTIONS, exclude_unset=True)
    rules: Any = given.model_dump(include=_RULES)
    await app.schedules.save(given.name, task.options(**options).call(**given.params), **rules)
    place = address_of(request, "schedules", given.name)
    return answer(await _shown(app, given.name), status=201, Location=place)


@router.get("/schedules/{id}", operation_id="show_schedule", response_model=models.Schedule,
            responses=documented(404))  # fmt: skip
async def show_schedule(app: App, id: ScheduleName) -> Response:
    return answer(await _shown(app, id))


@router.get("/schedules/{id}/firings", operation_id="list_firings",
            response_model=models.Firings, responses=documented(404))  # fmt: skip
async def list_firings(app: App, id: ScheduleName, limit: Limit = 50) -> Response:
    """List when a schedule fired, the newest first, and what came of it."""
    await _shown(app, id)
    return answer({"items": await app.schedules.firings(id, limit=limit)})


@router.patch("/schedules/{id}", operation_id="change_schedule", response_model=models.Schedule,
              responses=_CHANGE)  # fmt: skip
async def change_schedule(
    app: App, id: ScheduleName, changes: Annotated[models.ScheduleChanges, Body()]
) -> Response:
    """Change some of a schedule; `paused` stops it from firing, and lets it fire again."""
    given = changes.model_dump(exclude_unset=True)
    rules: Any = {name: given[name] for name in _RULES & given.keys() if given[name] is not None}
    await app.schedules.change(id, await _call(app, id, given), paused=changes.paused, **rules)
    return answer(await _shown(app, id))


async def _call(app: Fairlane, name: str, given: dict[str, Any]) -> Call[Any] | None:
    """Return what a changed schedule is to run; None if that stays."""
    if not {"task", "params", *_OPTIONS} & given.keys():
        return None
    task, params = await app.schedules.scheduled_call(name)
    chosen = {option: given[option] for option in _OPTIONS & given.keys()}
    known = await app._submissions.find_task(given.get("task") or task)
    wanted = given.get("params")
    if wanted is None:  # those of another task could hold secrets that this one does not know of
        wanted = params if known.name == task else {}
    return known.options(**chosen).call(**wanted)


@router.delete("/schedules/{id}", operation_id="delete_schedule", status_code=204,
               responses=_CHANGE)  # fmt: skip
async def delete_schedule(app: App, id: ScheduleName) -> Response:
    """Delete a schedule; one that the code declares stays deleted until it is saved again."""
    await app.schedules.delete(id)
    return Response(status_code=204)


@router.post("/schedules/{id}/fire", operation_id="fire_schedule", status_code=201,
             response_model=models.Job, responses=MADE | _CHANGE)  # fmt: skip
async def fire_schedule(app: App, request: Request, id: ScheduleName) -> Response:
    """Fire a schedule now; 409 if its policy skipped that, which is recorded."""
    job = await app.schedules.fire(id)
    if job is None:
        newest = await app.schedules.firings(id, limit=1)
        why = newest[0].reason if newest else "its policy"
        raise Conflict(f'schedule "{id}" made no job: {why}')
    return made(request, await job.show())
