"""Workers: the places where jobs run."""

from fastapi import APIRouter
from starlette.responses import Response

from fairlane.api import models
from fairlane.api.answers import answer
from fairlane.api.asked import App
from fairlane.api.problems import documented

router = APIRouter(tags=["workers"])


@router.get("/workers", operation_id="list_workers", response_model=models.Workers,
            responses=documented())  # fmt: skip
async def list_workers(app: App) -> Response:
    """List the processes that run jobs now."""
    return answer({"items": await app.workers()})
