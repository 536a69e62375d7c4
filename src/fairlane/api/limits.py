"""Limits: rates by key, and resources.

A key may contain "/", so it is a query parameter and not part of the path.
"""

from typing import Annotated

from fastapi import APIRouter, Body, Query
from starlette.responses import Response

from fairlane.api import models
from fairlane.api.dependencies import App
from fairlane.api.jobs import UNDECIDED
from fairlane.api.models import Name
from fairlane.api.problems import problem_docs
from fairlane.api.responses import json_response
from fairlane.api.strict_json import StrictRoute

router = APIRouter(tags=["limits"], route_class=StrictRoute)


@router.get("/limits", operation_id="list_limits", response_model=models.Limits,
            responses=problem_docs())  # fmt: skip
async def list_limits(app: App) -> Response:
    """List all rates and resources, by name."""
    return json_response({"items": await app.limits.list()})


@router.put("/limits", operation_id="set_limit", response_model=models.RateOrResource,
            responses=UNDECIDED | problem_docs(404, body=True))  # fmt: skip
async def set_limit(
    app: App,
    key: Annotated[Name, Query()],
    change: Annotated[models.RateChange | models.ResourceChange, Body()],
) -> Response:
    """Change a rate or a resource while jobs run; null restores the value in the code."""
    if isinstance(change, models.ResourceChange):
        kind, values = "resource", await app.limits.set_resource(key, change.amount)
    else:
        kind = "rate"
        values = await app.limits.set(key, starts=change.starts, per_seconds=change.per_seconds)
    found = [view for view in await app.limits.list() if (view.key, view.kind) == (key, kind)]
    usual = {"key": key, "kind": kind, "starts": None, "per_seconds": None, "amount": None}
    return json_response(found[0] if found else {**usual, **values, "changed_by_operator": []})
