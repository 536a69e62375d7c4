"""Errors as problem responses, in the form of Fairlane's API."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from fairlane import (
    Conflict,
    FairlaneError,
    NotFound,
    NotStarted,
    StoreError,
    TooLarge,
    UnknownName,
    UsageError,
)

# The status of an error is that of its nearest base class in this table.
STATUSES: Final[Mapping[type[Exception], int]] = {
    UsageError: 422,
    UnknownName: 422,
    TooLarge: 413,
    NotStarted: 503,
    Conflict: 409,
    NotFound: 404,
    StoreError: 503,
    FairlaneError: 500,
}
_CODES: Final = {404: "no_route", 405: "method_not_allowed", 413: "too_large"}


class Problem(Exception):
    """A request that cannot be fulfilled, with the response that says so."""

    def __init__(self, status: int, code: str, detail: str, hint: str = "") -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail
        self.hint = hint


def problem_response(status: int, code: str, detail: str, hint: str = "") -> Response:
    body = {
        "type": f"urn:fairlane:{code}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "code": code,
        "hint": hint,
    }
    return Response(
        msgspec.json.encode(body), status_code=status, media_type="application/problem+json"
    )


async def _of_fairlane(_: Request, error: Exception) -> Response:
    assert isinstance(error, FairlaneError)
    status = next(STATUSES[kind] for kind in type(error).__mro__ if kind in STATUSES)
    return problem_response(status, error.code, error.message, error.hint)


async def _of_this_site(_: Request, error: Exception) -> Response:
    assert isinstance(error, Problem)
    return problem_response(error.status, error.code, error.detail, error.hint)


async def _of_framework(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    code = _CODES.get(error.status_code, "bad_request")
    answer = problem_response(error.status_code, code, str(error.detail))
    answer.headers.update(error.headers or {})
    return answer


HANDLERS: Final[Mapping[Any, Any]] = {
    FairlaneError: _of_fairlane,
    Problem: _of_this_site,
    HTTPException: _of_framework,
}
