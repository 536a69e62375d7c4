"""Workers: the processes that run jobs."""

from fastapi import APIRouter
from starlette.responses import Response

from fairlane.api import models
from fairlane.api.dependencies import App
from fairlane.api.problems import problem_docs
from fairlane.api.responses import json_response

router = APIRouter(tags=["workers"])


@router.get("/workers", operation_id="list_workers", response_model=models.Workers,
            responses=problem_docs())  # fmt: skip
async def list_workers(app: App) -> Response:
    """List the processes that run jobs now."""
    return json_response({"items": await app.workers.list()})
