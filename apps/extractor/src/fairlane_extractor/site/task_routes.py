"""`/api/tasks`: create, list, show, cancel, prioritize and repeat tasks."""

from typing import Any, Final
from urllib.parse import quote

from msgspec import Struct, field
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from fairlane_extractor.site.problems import Problem
from fairlane_extractor.site.requests import body_as, json_response, limit_of, tasks_of
from fairlane_extractor.site.task_view import Task, TaskStatus


class NewTasks(Struct, forbid_unknown_fields=True):
    """The body of a creation: one input, or several that get the same options."""

    input: str | None = None
    inputs: list[str] | None = None
    options: dict[str, Any] = field(default_factory=dict)


class Repetition(Struct, forbid_unknown_fields=True):
    options: dict[str, Any] = field(default_factory=dict)


async def create_tasks(request: Request) -> Response:
    given = await body_as(request, NewTasks)
    if (given.input is None) == (given.inputs is None):
        raise Problem(422, "invalid_request", "send either `input` or `inputs`")
    tasks = tasks_of(request)
    if given.input is not None:
        task_id = await tasks.create_task(given.input, given.options)
        return await _created(request, task_id)
    ids = await tasks.create_tasks(given.inputs or [], given.options)
    return json_response({"items": [await _show(request, task_id) for task_id in ids]}, 201)


async def list_tasks(request: Request) -> Response:
    query = request.query_params
    page = await tasks_of(request).list_tasks(
        statuses=query.getlist("status"),
        text=query.get("q"),
        limit=limit_of(request),
        cursor=query.get("cursor"),
    )
    return json_response(page)


async def show_task(request: Request) -> Response:
    task = await _show(request, request.path_params["id"])
    if task.status == TaskStatus.PENDING:
        task.meta["waiting_for"] = await tasks_of(request).explain_task(task.id)
    return json_response(task)


async def cancel_task(request: Request) -> Response:
    task = await _show(request, request.path_params["id"])
    return json_response({"cancelled": await tasks_of(request).cancel_task(task.id)})


async def prioritize_task(request: Request) -> Response:
    task_id = request.path_params["id"]
    await tasks_of(request).prioritize_task(task_id)
    return json_response(await _show(request, task_id))


async def reextract_task(request: Request) -> Response:
    given = await body_as(request, Repetition)
    task_id = await tasks_of(request).reextract_task(request.path_params["id"], given.options)
    return await _created(request, task_id)


async def _created(request: Request, task_id: str) -> Response:
    location = f"{quote(request.scope.get('root_path', ''))}/api/tasks/{task_id}"
    return json_response(await _show(request, task_id), 201, Location=location)


async def _show(request: Request, task_id: str) -> Task:
    task = await tasks_of(request).get_task(task_id)
    if task is None:
        raise Problem(404, "not_found", f"task {task_id} does not exist")
    return task


ROUTES: Final = [
    Route("/api/tasks", create_tasks, methods=["POST"]),
    Route("/api/tasks", list_tasks),
    Route("/api/tasks/{id}", show_task),
    Route("/api/tasks/{id}/cancel", cancel_task, methods=["POST"]),
    Route("/api/tasks/{id}/prioritize", prioritize_task, methods=["POST"]),
    Route("/api/tasks/{id}/reextract", reextract_task, methods=["POST"]),
]
