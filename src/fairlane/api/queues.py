"""Queues: settings, pauses, counts, and the order of waiting jobs."""

from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Body, Path, Query
from pydantic import StringConstraints
from starlette.responses import Response

from fairlane.api import models
from fairlane.api.dependencies import App
from fairlane.api.jobs import UNDECIDED
from fairlane.api.models import Limit, Name
from fairlane.api.problems import problem_docs
from fairlane.api.responses import json_response
from fairlane.api.strict_json import StrictRoute
from fairlane.app import Fairlane
from fairlane.errors import UnknownName
from fairlane.snapshot import QueueView

router = APIRouter(tags=["queues"], route_class=StrictRoute)

QueueName = Annotated[Name, Path(alias="queue")]


def queue_json(queue: QueueView, counts: dict[str, int]) -> dict[str, Any]:
    """Return a queue as JSON, with all of its settings, also the defaults."""
    return {
        "name": queue.name,
        "settings": msgspec.structs.asdict(queue.settings),
        "paused": queue.paused,
        "changed_by_operator": queue.changed_by_operator,
        "counts": counts,
    }


async def _queue_response(app: Fairlane, name: str) -> Response:
    known = await app.queues.list()
    if name not in known:
        raise UnknownName("queue", name, known)
    return json_response(queue_json(known[name], (await app.queues.counts()).get(name, {})))


@router.get("/queues", operation_id="list_queues", response_model=models.Queues,
            responses=problem_docs())  # fmt: skip
async def list_queues(app: App) -> Response:
    """List every queue, by name."""
    counts = await app.queues.counts()
    known = (await app.queues.list()).values()
    return json_response(
        {"items": [queue_json(queue, counts.get(queue.name, {})) for queue in known]}
    )


@router.get("/queues/{queue}", operation_id="show_queue", response_model=models.Queue,
            responses=problem_docs(404))  # fmt: skip
async def show_queue(app: App, queue: QueueName) -> Response:
    return await _queue_response(app, queue)


LineCursor = Annotated[
    Annotated[str, StringConstraints(pattern=r"^[0-9]\.[0-9a-f]{1,1000}$")] | None,
    Query(description="`next` of the page before; without it, the first page"),
]


@router.get("/queues/{queue}/line", operation_id="list_line", response_model=models.JobPage,
            responses=problem_docs(404))  # fmt: skip
async def list_line(
    app: App, queue: QueueName, limit: Limit = 50, cursor: LineCursor = None
) -> Response:
    """List the waiting jobs of a queue in order, the next one first.

    Jobs that depend on unfinished jobs are not in the order yet: `GET /api/jobs?state=blocked`.
    """
    return json_response(await app.queues.line(queue, limit=limit, cursor=cursor))


_CHANGE: Any = UNDECIDED | problem_docs(404, body=True)


@router.patch("/queues/{queue}", operation_id="change_queue", response_model=models.Queue,
              responses=_CHANGE)  # fmt: skip
async def change_queue(
    app: App, queue: QueueName, changes: Annotated[models.QueueChanges, Body()]
) -> Response:
    """Change settings while jobs run; null restores the value in the code."""
    await app.queues.set(queue, **changes.model_dump(exclude_unset=True))
    return await _queue_response(app, queue)


@router.post("/queues/{queue}/pause", operation_id="pause_queue", response_model=models.Queue,
             responses=_CHANGE)  # fmt: skip
async def pause_queue(app: App, queue: QueueName) -> Response:
    """Start no new jobs of this queue; running jobs continue."""
    await app.queues.pause(queue)
    return await _queue_response(app, queue)


@router.post("/queues/{queue}/resume", operation_id="resume_queue", response_model=models.Queue,
             responses=_CHANGE)  # fmt: skip
async def resume_queue(app: App, queue: QueueName) -> Response:
    await app.queues.resume(queue)
    return await _queue_response(app, queue)


@router.post("/queues/{queue}/stop-after-current", operation_id="stop_after_current",
             response_model=models.Queue, responses=_CHANGE)  # fmt: skip
async def stop_after_current(app: App, queue: QueueName) -> Response:
    """Pause the queue, and let `drain` in its program return once the running jobs have ended."""
    await app.queues.stop_after_current(queue)
    return await _queue_response(app, queue)
