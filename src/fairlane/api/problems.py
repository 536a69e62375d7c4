"""Errors as problems (RFC 9457): a stable code, what happened, and what to do about it."""

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
from fairlane.api.responses import undecided
from fairlane.core.lifecycle import VERBS, State
from fairlane.errors import FairlaneError, Undecided

log = logging.getLogger("fairlane.api")

MEDIA_TYPE: Final = "application/problem+json"
RETRY_AFTER_SECONDS: Final = 1
SAFE_METHODS: Final = ("GET", "HEAD", "OPTIONS")

# By the nearest class in the tree of errors.
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

_WAIT: Final = "wait for the job in `active_job` to end, or cancel it; then send the same again"
HINTS: Final = {
    "bad_host": "ask by a name that the server allows, or add the name to FAIRLANE_ALLOWED_HOSTS",
    "bad_origin": "a page may only steer the server it came from",
    "artifact_elsewhere": "fetch it from there, or let both have the same folder",
    "artifact_gone": "it was moved, renamed or deleted since; running the job again makes it anew",
    "bad_parameters": "GET /api/tasks shows the parameters of each task",
    "disk_full": "make room there, or name a folder with more of it: Fairlane(uploads=…)",
    "duplicate": _WAIT,
    "illegal_transition": "`legal` names what can be done with the job as it is",
    "invalid_request": "`problems` names each field; GET /api/openapi.json describes them all",
    "lane_busy": _WAIT,
    "lane_locked": _WAIT,
    "not_octets": "the body is the file itself, with nothing around it",
    "not_started": "the program that serves this has to start the engine: `async with app:`",
    "store_unavailable": "the database does not answer; send the same again in a moment",
    "too_large": "send less at a time, or keep large data in a file and pass its path",
    "unauthorized": "send `Authorization: Bearer …` with the server's token",
    "read_only": "this token may look; what changes something needs the token for operating",
    "uploads_off": 'the program that serves this can allow it: Fairlane(uploads="folder")',
    "undecided": "no process leads at the moment; send the same again in a moment",
}


def problem(
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


def problem_from(request: Request, error: FairlaneError) -> Response:
    if isinstance(error, Undecided) and request.method not in SAFE_METHODS:
        return undecided(request, error)
    status = _status(error)
    facts = error.facts
    state = facts.get("state")
    return problem(
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


def install(application: FastAPI, addresses: Iterable[tuple[str, set[str]]]) -> None:
    """Have every error of an application answered as a problem, those of the framework as well.

    `addresses` are the paths it serves with their methods, to tell what an address does take.
    """
    # A path without parameters comes first: it is meant, though another could be read into it.
    ordered = sorted(addresses, key=lambda address: "{" in address[0])
    patterns = [(compile_path(path)[0], methods) for path, methods in ordered]

    async def ours(request: Request, error: Exception) -> Response:
        assert isinstance(error, FairlaneError)
        if _status(error) >= 500:
            log.warning("%s %s: %s", request.method, request.url.path, error)
        return problem_from(request, error)

    async def invalid(_: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        return _invalid(error)

    async def framework(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        return _of_framework(request, error, patterns)

    async def unexpected(*_: Any) -> Response:
        return problem(500, "internal_error", "something went wrong here; the log says what")

    application.add_exception_handler(FairlaneError, ours)
    application.add_exception_handler(RequestValidationError, invalid)
    application.add_exception_handler(HTTPException, framework)
    application.add_exception_handler(Exception, unexpected)


def _invalid(error: RequestValidationError) -> Response:
    """Name each field that does not fit, and never its value: it may be a secret."""
    found = error.errors()
    if found and found[0]["type"] == "json_invalid":
        why = found[0].get("ctx", {}).get("error", found[0]["msg"])
        return problem(400, "bad_request", f"the body is not JSON: {why}")
    problems = [
        {"where": ".".join(map(str, item["loc"])), "message": item["msg"]} for item in found
    ]
    lines = "; ".join(f"{item['where']}: {item['message']}" for item in problems[:10])
    return problem(422, "invalid_request", f"the request does not fit: {lines}", problems=problems)


def _of_framework(
    request: Request, error: HTTPException, patterns: list[tuple[Pattern[str], set[str]]]
) -> Response:
    headers = dict(error.headers or {})
    code = {404: "no_route", 405: "method_not_allowed", 413: "too_large"}.get(
        error.status_code, "bad_request"
    )
    if error.status_code == 405:
        path = request.scope["path"].removeprefix(request.scope.get("root_path", ""))
        meant = next((pattern for pattern, _ in patterns if pattern.match(path)), None)
        taken = [methods for pattern, methods in patterns if pattern == meant]
        headers["Allow"] = ", ".join(sorted(set().union(*taken)))
    return problem(error.status_code, code, str(error.detail), headers=headers)


_MEANINGS: Final = {
    400: "the body is not JSON",
    401: "a token is needed",
    403: "not with this token, from this page or by this name",
    404: "it does not exist",
    408: "nothing more came",
    409: "the state of things forbids it; `code` tells why",
    413: "too large",
    415: "the body is not of the type that is taken",
    416: "that part of it does not exist",
    422: "something in the request does not fit; `problems` names it",
    503: "the database or the leader cannot be reached; try again after `Retry-After`",
    507: "there is no room for it",
}
_ALWAYS: Final = (401, 403, 422, 503)
_OF_BODIES: Final = (400, 413, 415)


def documented(*statuses: int, body: bool = False) -> dict[int | str, dict[str, Any]]:
    """Describe the problems that a route may answer with, for the OpenAPI document."""
    wanted = {*statuses, *_ALWAYS, *(_OF_BODIES if body else ())}
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {
        status: {"description": _MEANINGS[status], "content": content} for status in sorted(wanted)
    }
