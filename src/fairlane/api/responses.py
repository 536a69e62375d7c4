"""JSON responses, encoded directly from the view structs."""

from typing import Any
from urllib.parse import quote

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from fairlane.errors import Undecided
from fairlane.store.views import JobView

_encode = msgspec.json.Encoder(enc_hook=str).encode


def json_response(
    value: Any, *, status: int = 200, media_type: str = "application/json", **headers: str
) -> Response:
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    return Response(_encode(value), status_code=status, media_type=media_type, headers=named)


def job_response(request: Request, job: JobView, *, merged: bool = False) -> Response:
    """Return a submitted job (201), or the equal job that it was merged into (200)."""
    return json_response(
        job, status=200 if merged else 201, Location=resource_path(request, "jobs", job.id)
    )


def resource_path(request: Request, kind: str, name: str) -> str:
    """Return the URL path of a job, schedule or device, for the `Location` header."""
    return f"{mount_prefix(request)}/api/{kind}/{quote(name, safe='')}"


def mount_prefix(request: Request) -> str:
    """Return the URL prefix under which this application is mounted."""
    return quote(request.scope.get("root_path", ""))


def undecided_response(request: Request, error: Undecided) -> Response:
    """Return 202: no process leads; the request is stored, and the next leader decides it."""
    body = {"id": error.job_id, "code": error.code, "detail": error.message}
    where = (
        {} if error.job_id is None else {"Location": resource_path(request, "jobs", error.job_id)}
    )
    return json_response(body, status=202, **where)
