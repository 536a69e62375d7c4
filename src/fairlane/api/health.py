"""Is it alive? For whoever supervises the process."""

from fastapi import APIRouter
from starlette.responses import Response

from fairlane.api.dependencies import App
from fairlane.api.models import Health
from fairlane.api.problems import documented
from fairlane.api.responses import answer

router = APIRouter(tags=["health"])


@router.get("/healthz", operation_id="health", response_model=Health, responses=documented())
async def health(app: App) -> Response:
    """Say whether the engine runs and its database answers; a problem (503) if not."""
    leader = await app.workers.leader()
    return answer({"status": "ok", "led": leader is not None})
