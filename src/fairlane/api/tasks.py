"""Tasks: the tasks that can be submitted, with their parameters."""

from fastapi import APIRouter
from starlette.responses import Response

from fairlane.api import models
from fairlane.api.dependencies import App
from fairlane.api.problems import problem_docs
from fairlane.api.responses import json_response

router = APIRouter(tags=["tasks"])


@router.get("/tasks", operation_id="list_tasks", response_model=models.Tasks,
            responses=problem_docs())  # fmt: skip
async def list_tasks(app: App) -> Response:
    """List the tasks of every program on this database, with a JSON Schema of their parameters."""
    known = await app._submissions.task_schemas()
    return json_response({
        "items": [
            {"name": name, "text": task.text, "queue": task.queue, "parameters": task.parameters}
            for name, task in sorted(known.items())
        ]
    })  # fmt: skip
