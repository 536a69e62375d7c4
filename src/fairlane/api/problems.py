"""Errors as problem responses (RFC 9457): a stable code, a detail and a hint."""

import json
import logging
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from re import Pattern
from typing import Any, Final

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import compile_path

from fairlane import errors
from fairlane.api.responses import undecided_response
from fairlane.core.lifecycle import VERBS, State
from fairlane.errors import FairlaneError, Undecided

log = logging.getLogger("fairlane.api")

MEDIA_TYPE: Final = "application/problem+json"
RETRY_AFTER_SECONDS: Final = 1
SAFE_METHODS: Final = ("GET", "HEAD", "OPTIONS")

# The status of an error is that of its nearest base class in this table.
STATUSES: Final[Mapping[type[FairlaneError], int]] = {
    errors.UsageError: 422,
    errors.UnknownName: 404,
    errors.TooLarge: 413,
    errors.NotStarted: 503,
    errors.Conflict: 409,
    errors.NotFound: 404,
    errors.StoreError: 503,
    errors.JobEnded: 409,
    errors.FairlaneError: 500,
}

_WAIT: Final = "wait for the job in `active_job` to end, or cancel it; then repeat the request"
HINTS: Final = {
    "bad_host": "use a host name that the server allows, or add this one to FAIRLANE_ALLOWED_HOSTS",
    "bad_origin": "open the page from this server, or allow its name with FAIRLANE_ALLOWED_HOSTS",
    "artifact_elsewhere": "download it from a server on that host, or share the folder",
    "artifact_gone": "it was moved, renamed or deleted; rerun the job to make it again",
    "bad_parameters": "GET /api/tasks shows the parameters of each task",
    "disk_full": "free some disk space, or use another folder: Fairlane(uploads=…)",
    "duplicate": _WAIT,
    "illegal_transition": "`legal` lists the actions that the job's state allows",
    "invalid_request": "`problems` lists the invalid fields; GET /api/openapi.json describes all",
    "lane_busy": _WAIT,
    "lane_locked": _WAIT,
    "not_octets": "send the file itself as the body, not a form",
    "not_started": "start the engine in the program that serves this: `async with app:`",
    "store_unavailable": "the database does not answer; repeat the request in a moment",
    "secrets_unreadable": "start the server with the key that encrypted them; it may be in a list",
    "too_large": "send less at a time, or store large data in a file and pass its path",
    "unauthorized": "send `Authorization: Bearer …` with the server's token",
    "read_only": "use the operating token (FAIRLANE_TOKEN) for requests that change state",
    "uploads_off": 'enable uploads in the program that serves this: Fairlane(uploads="folder")',
    "undecided": "no process leads at the moment; repeat the request in a moment",
}


def problem_response(
    status: int, code: str, detail: str, *, headers: Mapping[str, str] | None = None, **more: Any
) -> Response:
    body = {
        "type": f"urn:fairlane:{code}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "code": code,
        "hint": more.pop("hint", "") or HINTS.get(code, ""),
        **{name: value for name, value in more.items() if value is not None},
    }
    # In ASCII, because a message may repeat text that is not UTF-8.
    text = json.dumps(body, default=str)
    return Response(text, status_code=status, media_type=MEDIA_TYPE, headers=dict(headers or {}))


def error_response(request: Request, error: FairlaneError) -> Response:
    if isinstance(error, Undecided) and request.method not in SAFE_METHODS:
        return undecided_response(request, error)
    status = _status(error)
    facts = error.facts
    state = facts.get("state")
    return problem_response(
        status,
        error.code,
        error.message,
        headers={"Retry-After": str(RETRY_AFTER_SECONDS)} if status == 503 else None,
        hint=error.hint,
        active_job=facts.get("active_job"),
        legal=list(VERBS[State(state)]) if state in set(State) else None,
        problems=facts.get("problems"),
    )


def _status(error: FairlaneError) -> int:
    return next(STATUSES[kind] for kind in type(error).__mro__ if kind in STATUSES)


def install_error_handlers(application: FastAPI, addresses: Iterable[tuple[str, set[str]]]) -> None:
    """Turn every error of an application, also of the framework, into a problem response.

    `addresses` are the served paths with their methods, for the `Allow` header of a 405.
    """
    # Paths without parameters come first, as in routing: a pattern could match them as well.
    ordered = sorted(addresses, key=lambda address: "{" in address[0])
    patterns = [(compile_path(path)[0], methods) for path, methods in ordered]

    async def ours(request: Request, error: Exception) -> Response:
        assert isinstance(error, FairlaneError)
        if _status(error) >= 500:
            log.warning("%s %s: %s", request.method, request.url.path, error)
        return error_response(request, error)

    async def invalid(_: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        return _invalid_request_response(error)

    async def framework(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        return _framework_error_response(request, error, patterns)

    async def unexpected(*_: Any) -> Response:
        return problem_response(
            500, "internal_error", "the server failed unexpectedly; its log has the traceback"
        )

    application.add_exception_handler(FairlaneError, ours)
    application.add_exception_handler(RequestValidationError, invalid)
    application.add_exception_handler(HTTPException, framework)
    application.add_exception_handler(Exception, unexpected)


def _invalid_request_response(error: RequestValidationError) -> Response:
    """Return a problem with each invalid field, but not its value, which may be secret."""
    found = error.errors()
    if found and found[0]["type"] == "json_invalid":
        why = found[0].get("ctx", {}).get("error", found[0]["msg"])
        return problem_response(400, "bad_request", f"the body is not JSON: {why}")
    problems = [
        {"where": ".".join(map(str, item["loc"])), "message": item["msg"]} for item in found
    ]
    lines = "; ".join(f"{item['where']}: {item['message']}" for item in problems[:10])
    return problem_response(
        422, "invalid_request", f"the request is invalid: {lines}", problems=problems
    )


def _framework_error_response(
    request: Request, error: HTTPException, patterns: list[tuple[Pattern[str], set[str]]]
) -> Response:
    headers = dict(error.headers or {})
    code = {404: "no_route", 405: "method_not_allowed", 413: "too_large"}.get(
        error.status_code, "bad_request"
    )
    if error.status_code == 405:
        path = request.scope["path"].removeprefix(request.scope.get("root_path", ""))
        meant = next((pattern for pattern, _ in patterns if pattern.match(path)), None)
        allowed = [methods for pattern, methods in patterns if pattern == meant]
        headers["Allow"] = ", ".join(sorted(set().union(*allowed)))
    return problem_response(error.status_code, code, str(error.detail), headers=headers)


_MEANINGS: Final = {
    400: "The body is not valid JSON, or incomplete",
    401: "A valid token is required",
    403: "The token, the page's origin or the host name is not allowed",
    404: "Not found",
    408: "The upload stalled",
    409: "The current state forbids this; `code` says why",
    413: "The body is too large",
    415: "The body has the wrong media type",
    416: "The requested range is outside of the file",
    422: "A part of the request is invalid; `problems` lists the fields",
    503: "The database or the leader is unavailable; retry after `Retry-After`",
    507: "The disk is full",
}
_ALWAYS: Final = (401, 403, 422, 503)
_OF_BODIES: Final = (400, 413, 415)


def problem_docs(*statuses: int, body: bool = False) -> dict[int | str, dict[str, Any]]:
    """Return the problem responses of a route, for the OpenAPI document."""
    documented = {*statuses, *_ALWAYS, *(_OF_BODIES if body else ())}
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {
        status: {"description": _MEANINGS[status], "content": content}
        for status in sorted(documented)
    }
