"""Lanes: what each runs, and how it stands. Its name may be a path, so it is no part of one."""

from bisect import bisect_right
from typing import Annotated, Any

from fastapi import APIRouter, Body, Path, Query, Request
from pydantic import StringConstraints
from starlette.responses import Response

from fairlane.api import models, openapi_links
from fairlane.api.dependencies import App
from fairlane.api.jobs import MERGED, UNDECIDED
from fairlane.api.models import Key, Limit, Name
from fairlane.api.problems import documented
from fairlane.api.responses import answer, made
from fairlane.api.strict_json import StrictRoute

router = APIRouter(tags=["lanes"], route_class=StrictRoute)

QueueName = Annotated[Name, Path(alias="queue")]
LaneCursor = Annotated[
    # Two names and what parts them; letters of their own would make an address of 100 kB.
    Annotated[str, StringConstraints(pattern=r"^([0-9a-f]{2}){0,2001}$")] | None,
    Query(description="`next` of the page before; without it, the first page"),
]
LaneName = Annotated[Key, Query(alias="lane")]


@router.get("/lanes", operation_id="list_lanes", response_model=models.LanePage,
            responses=documented())  # fmt: skip
async def list_lanes(
    app: App, queue: Name | None = None, limit: Limit = 100, cursor: LaneCursor = None
) -> Response:
    """List lanes by queue and name: those with a job, a past or saved parameters."""
    views = await app.lanes.list(queue)
    keys = [(view.queue, view.lane) for view in views]
    start = 0 if cursor is None else bisect_right(keys, _place(cursor))
    page = views[start : start + limit]
    following = _cursor(page[-1].queue, page[-1].lane) if start + limit < len(views) else None
    return answer({"items": page, "next": following})


def _cursor(queue: str, lane: str) -> str:
    return f"{queue}\0{lane}".encode().hex()


def _place(cursor: str) -> tuple[str, str]:
    queue, _, lane = bytes.fromhex(cursor).decode(errors="replace").partition("\0")
    return queue, lane


@router.get("/lanes/{queue}", operation_id="show_lane", response_model=models.Lane,
            responses=documented(404))  # fmt: skip
async def show_lane(app: App, queue: QueueName, lane: LaneName) -> Response:
    return answer(await app.lanes.show(queue, lane))


_CHANGE: Any = UNDECIDED | documented(404, 409, body=True)


@router.put("/lanes/{queue}", operation_id="save_lane", response_model=models.Lane,
            responses=_CHANGE
            | {200: {"description": "saved", **openapi_links.TO_LANE}})  # fmt: skip
async def save_lane(
    app: App, queue: QueueName, lane: LaneName, call: Annotated[models.Call, Body()]
) -> Response:
    """Save what a lane runs; refused (`lane_locked`) while it has an active job."""
    task = await app._submissions.find_task(call.task)
    await app.lanes.save(queue, lane, task.call(**call.params))
    return answer(await app.lanes.show(queue, lane))


@router.delete("/lanes/{queue}", operation_id="forget_lane", response_model=models.Lane,
               responses=_CHANGE)  # fmt: skip
async def forget_lane(app: App, queue: QueueName, lane: LaneName) -> Response:
    """Forget what was saved for a lane; its past and its checkpoint stay."""
    await app.lanes.save(queue, lane, None)
    return answer(await app.lanes.show(queue, lane))


@router.post("/lanes/{queue}/start", operation_id="start_lane", status_code=201,
             response_model=models.Job, responses=MERGED | _CHANGE)  # fmt: skip
async def start_lane(app: App, request: Request, queue: QueueName, lane: LaneName) -> Response:
    """Run a lane's saved parameters afresh."""
    job = await app.lanes.start(queue, lane)
    return made(request, await job.show(), merged=job.merged)


@router.post("/lanes/{queue}/continue", operation_id="continue_lane", status_code=201,
             response_model=models.Job, responses=MERGED | _CHANGE)  # fmt: skip
async def continue_lane(app: App, request: Request, queue: QueueName, lane: LaneName) -> Response:
    """Run a lane's saved parameters from where its last job stopped."""
    job = await app.lanes.continue_(queue, lane)
    return made(request, await job.show(), merged=job.merged)


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
    return answer(await job.show())
