"""Forecasts: when each waiting job will start, also with another limit."""

from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.responses import Response

from fairlane.api import models
from fairlane.api.dependencies import App
from fairlane.api.models import LARGEST, Name
from fairlane.api.problems import problem_docs
from fairlane.api.responses import json_response
from fairlane.store.views import instant

router = APIRouter(tags=["forecasts"])


@router.get("/forecast", operation_id="forecast", response_model=models.Forecast,
            responses=problem_docs(404))  # fmt: skip
async def forecast(
    app: App,
    queue: Name | None = None,
    max_concurrent: Annotated[
        int | None,
        Query(ge=0, le=LARGEST, description="Forecast as if the queue had this `max_concurrent`"),
    ] = None,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 200,
) -> Response:
    """Forecast when each waiting job will start, from recent run times of its task."""
    what_if: Any = {} if max_concurrent is None else {"max_concurrent": max_concurrent}
    found = await app.queues.forecast(queue, **what_if)
    known = [(job, at) for job, at in found.starts_at.items() if at is not None]
    unknown = [(job, at) for job, at in found.starts_at.items() if at is None]
    first = [*sorted(known, key=lambda start: start[1]), *unknown][:limit]
    return json_response({
        "items": [{"job": job, "starts_at": instant(at)} for job, at in first],
        "waiting": len(found.starts_at),
        "empty_at": instant(found.empty_at),
    })  # fmt: skip
