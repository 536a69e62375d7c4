"""Answers as JSON, written straight from our own structs."""

from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from fairlane.errors import Undecided
from fairlane.store.views import JobView

_encode = msgspec.json.Encoder(enc_hook=str).encode


def answer(
    value: Any, *, status: int = 200, media_type: str = "application/json", **headers: str
) -> Response:
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    return Response(_encode(value), status_code=status, media_type=media_type, headers=named)


def made(request: Request, job: JobView, *, merged: bool = False) -> Response:
    """Answer with a job that was submitted, or with the equal one that was there already."""
    return answer(job, status=200 if merged else 201, Location=address_of(request, job.id))


def address_of(request: Request, job: str) -> str:
    """Return the path of a job, under whatever prefix this application is mounted."""
    return f"{request.scope.get('root_path', '')}/api/jobs/{job}"


def undecided(request: Request, error: Undecided) -> Response:
    """Say that nobody leads: what was sent is kept, and decided as soon as somebody does."""
    body = {"id": error.job_id, "code": error.code, "detail": error.message}
    where = {} if error.job_id is None else {"Location": address_of(request, error.job_id)}
    return answer(body, status=202, **where)
