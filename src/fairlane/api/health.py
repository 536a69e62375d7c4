"""The health check, for supervisors and load balancers."""

from fastapi import APIRouter
from starlette.responses import Response

from fairlane.api.dependencies import App
from fairlane.api.models import Health
from fairlane.api.problems import problem_docs
from fairlane.api.responses import json_response

router = APIRouter(tags=["health"])


@router.get("/healthz", operation_id="health", response_model=Health, responses=problem_docs())
async def health(app: App) -> Response:
    """Answer 200 if the engine runs and its database answers, otherwise a problem (503)."""
    leader = await app.workers.leader()
    return json_response({"status": "ok", "led": leader is not None})
