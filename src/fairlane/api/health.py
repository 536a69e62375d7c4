"""Is it alive? For whoever supervises the process."""

from fastapi import APIRouter
from starlette.responses import Response

from fairlane.api.answers import answer
from fairlane.api.asked import App
from fairlane.api.models import Health
from fairlane.api.problems import documented

router = APIRouter(tags=["health"])


@router.get("/healthz", operation_id="health", response_model=Health, responses=documented())
async def health(app: App) -> Response:
    """Say whether the engine runs and its database answers; a problem (503) if not."""
    leader = await app.leader()
    return answer({"status": "ok", "led": leader is not None})
