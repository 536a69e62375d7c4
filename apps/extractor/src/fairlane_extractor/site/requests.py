"""The values in a request, checked, and JSON responses."""

import re
from typing import Any, Final, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from fairlane_extractor.program import Extractor
from fairlane_extractor.site.problems import Problem
from fairlane_extractor.site.tasks import Tasks

T = TypeVar("T")

LARGEST_PAGE: Final = 200
_LIMIT: Final = re.compile(r"[1-9][0-9]{0,2}")


def extractor_of(request: Request) -> Extractor:
    extractor: Extractor = request.app.state.extractor
    return extractor


def tasks_of(request: Request) -> Tasks:
    return Tasks(extractor_of(request))


async def body_as(request: Request, kind: type[T]) -> T:
    """Decode the body; an empty one counts as an empty object."""
    try:
        return msgspec.json.decode(await request.body() or b"{}", type=kind)
    except msgspec.ValidationError as error:
        raise Problem(422, "invalid_request", f"the body does not fit: {error}") from None
    except UnicodeDecodeError as error:
        raise Problem(422, "invalid_request", f"the body is not UTF-8: {error.reason}") from None
    except RecursionError:
        raise Problem(422, "invalid_request", "the body has too many nested values") from None
    except msgspec.DecodeError as error:
        raise Problem(400, "bad_request", f"the body is not JSON: {error}") from None


def limit_of(request: Request, default: int = 50) -> int:
    text = request.query_params.get("limit", str(default))
    if not (_LIMIT.fullmatch(text) and int(text) <= LARGEST_PAGE):
        raise Problem(
            422, "invalid_request", f'limit is "{text[:50]}"; expected 1 to {LARGEST_PAGE}'
        )
    return int(text)


def json_response(value: Any, status: int = 200, **headers: str) -> Response:
    return Response(
        msgspec.json.encode(value),
        status_code=status,
        media_type="application/json",
        headers=headers,
    )
