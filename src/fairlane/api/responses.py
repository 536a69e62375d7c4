"""Answers as JSON, written straight from our own structs."""

from typing import Any
from urllib.parse import quote

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
    return answer(job, status=200 if merged else 201, Location=address_of(request, "jobs", job.id))


def address_of(request: Request, kind: str, name: str) -> str:
    """Return the path of a job or a schedule, as a header may carry it."""
    return f"{prefix_of(request)}/api/{kind}/{quote(name, safe='')}"


def prefix_of(request: Request) -> str:
    """Return under what this application is mounted."""
    return quote(request.scope.get("root_path", ""))


def undecided(request: Request, error: Undecided) -> Response:
    """Say that nobody leads: what was sent is kept, and decided as soon as somebody does."""
    body = {"id": error.job_id, "code": error.code, "detail": error.message}
    where = {} if error.job_id is None else {"Location": address_of(request, "jobs", error.job_id)}
    return answer(body, status=202, **where)
