"""Lanes: the saved call and the state of each.

The name of a lane may contain "/", so it is a query parameter and not part of the path.
"""

from bisect import bisect_right
from typing import Annotated, Any

from fastapi import APIRouter, Body, Path, Query, Request
from pydantic import StringConstraints
from starlette.responses import Response

from fairlane.api import models, openapi_links
from fairlane.api.dependencies import App
from fairlane.api.jobs import MERGED, UNDECIDED
from fairlane.api.models import Key, Limit, Name
from fairlane.api.problems import problem_docs
from fairlane.api.responses import job_response, json_response
from fairlane.api.strict_json import StrictRoute

router = APIRouter(tags=["lanes"], route_class=StrictRoute)

QueueName = Annotated[Name, Path(alias="queue")]
LaneCursor = Annotated[
    # Two names of at most 250 characters and a separator, as UTF-8 in hexadecimal.
    Annotated[str, StringConstraints(pattern=r"^([0-9a-f]{2}){0,2001}$")] | None,
    Query(description="`next` of the page before; without it, the first page"),
]
LaneName = Annotated[Key, Query(alias="lane")]


@router.get("/lanes", operation_id="list_lanes", response_model=models.LanePage,
            responses=problem_docs())  # fmt: skip
async def list_lanes(
    app: App, queue: Name | None = None, limit: Limit = 100, cursor: LaneCursor = None
) -> Response:
    """List the lanes that have an active job, an ended job or saved parameters."""
    views = await app.lanes.list(queue)
    keys = [(view.queue, view.lane) for view in views]
    start = 0 if cursor is None else bisect_right(keys, _decode_cursor(cursor))
    page = views[start : start + limit]
    following = (
        _encode_cursor(page[-1].queue, page[-1].lane) if start + limit < len(views) else None
    )
    return json_response({"items": page, "next": following})


def _encode_cursor(queue: str, lane: str) -> str:
    return f"{queue}\0{lane}".encode().hex()


def _decode_cursor(cursor: str) -> tuple[str, str]:
    queue, _, lane = bytes.fromhex(cursor).decode(errors="replace").partition("\0")
    return queue, lane


@router.get("/lanes/{queue}", operation_id="show_lane", response_model=models.Lane,
            responses=problem_docs(404))  # fmt: skip
async def show_lane(app: App, queue: QueueName, lane: LaneName) -> Response:
    return json_response(await app.lanes.show(queue, lane))


_CHANGE: Any = UNDECIDED | problem_docs(404, 409, body=True)


@router.put("/lanes/{queue}", operation_id="save_lane", response_model=models.Lane,
            responses=_CHANGE
            | {200: {"description": "saved", **openapi_links.TO_LANE}})  # fmt: skip
async def save_lane(
    app: App, queue: QueueName, lane: LaneName, call: Annotated[models.Call, Body()]
) -> Response:
    """Save the task and parameters that a lane runs; refused while it has an active job."""
    task = await app._submissions.find_task(call.task)
    await app.lanes.save(queue, lane, task.call(**call.params))
    return json_response(await app.lanes.show(queue, lane))


@router.delete("/lanes/{queue}", operation_id="forget_lane", response_model=models.Lane,
               responses=_CHANGE)  # fmt: skip
async def forget_lane(app: App, queue: QueueName, lane: LaneName) -> Response:
    """Delete the saved call of a lane; its ended jobs and its checkpoint stay."""
    await app.lanes.save(queue, lane, None)
    return json_response(await app.lanes.show(queue, lane))


@router.post("/lanes/{queue}/start", operation_id="start_lane", status_code=201,
             response_model=models.Job, responses=MERGED | _CHANGE)  # fmt: skip
async def start_lane(app: App, request: Request, queue: QueueName, lane: LaneName) -> Response:
    """Submit a lane's saved call, from the beginning."""
    job = await app.lanes.start(queue, lane)
    return job_response(request, await job.show(), merged=job.merged)


@router.post("/lanes/{queue}/continue", operation_id="continue_lane", status_code=201,
             response_model=models.Job, responses=MERGED | _CHANGE)  # fmt: skip
async def continue_lane(app: App, request: Request, queue: QueueName, lane: LaneName) -> Response:
    """Submit a lane's saved call, from the checkpoint of its last job."""
    job = await app.lanes.continue_(queue, lane)
    return job_response(request, await job.show(), merged=job.merged)


@router.post("/lanes/{queue}/cancel", operation_id="cancel_lane", response_model=models.Job,
             responses=_CHANGE)  # fmt: skip
async def cancel_lane(
    app: App,
    queue: QueueName,
    lane: LaneName,
    how: Annotated[models.Cancel, Body()] = models.Cancel(),
) -> Response:
    """Cancel a lane's active job."""
    job = await app.lanes.cancel(queue, lane, outputs=how.outputs, force=how.force)
    return json_response(await job.show())
