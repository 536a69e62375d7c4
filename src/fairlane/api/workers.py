"""Workers: the places where jobs run."""

from fastapi import APIRouter
from starlette.responses import Response

from fairlane.api import models
from fairlane.api.dependencies import App
from fairlane.api.problems import documented
from fairlane.api.responses import answer

router = APIRouter(tags=["workers"])


@router.get("/workers", operation_id="list_workers", response_model=models.Workers,
            responses=documented())  # fmt: skip
async def list_workers(app: App) -> Response:
    """List the processes that run jobs now."""
    return answer({"items": await app.workers.list()})
