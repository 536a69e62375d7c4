"""Browser sessions: a cookie instead of the token, because `EventSource` cannot send headers."""

from typing import Annotated

from fastapi import APIRouter, Body, Request
from starlette.responses import Response

from fairlane.api.guard import Guard
from fairlane.api.models import Login, Session
from fairlane.api.problems import problem_docs, problem_response
from fairlane.api.responses import json_response, mount_prefix
from fairlane.api.strict_json import StrictRoute

router = APIRouter(tags=["sessions"], route_class=StrictRoute)


def _guard(request: Request) -> Guard:
    guard: Guard = request.app.state.guard
    return guard


@router.post("/session", operation_id="login", response_model=Session,
             responses=problem_docs(body=True))  # fmt: skip
async def login(request: Request, login: Annotated[Login, Body()]) -> Response:
    """Exchange a token for a cookie that scripts cannot read."""
    tokens = _guard(request).tokens
    role = tokens.role_of(login.token.get_secret_value())
    if role is None:
        return problem_response(401, "unauthorized", "this is not a valid token of this server",
                       headers={"WWW-Authenticate": "Bearer"})  # fmt: skip
    response = json_response({"role": role, "token_needed": tokens.any_set})
    name, value = tokens.session_cookie(role)
    response.set_cookie(
        name,
        value,
        max_age=tokens.SESSION_SECONDS,
        path=_cookie_path(request),
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
    return response


@router.get("/session", operation_id="session", response_model=Session, responses=problem_docs())
async def session(request: Request) -> Response:
    """Return the role of the sender of this request: null, `read` or `operate`."""
    guard = _guard(request)
    return json_response(
        {"role": guard.role_in(request.scope), "token_needed": guard.tokens.any_set}
    )


@router.delete("/session", operation_id="logout", status_code=204, responses=problem_docs())
async def logout(request: Request) -> Response:
    """Delete the session cookie."""
    response = Response(status_code=204)
    for name in (
        _guard(request).tokens.cookie_names & request.cookies.keys()
    ):  # only the cookies sent
        response.delete_cookie(name, path=_cookie_path(request))
    return response


def _cookie_path(request: Request) -> str:
    """Return the path of the whole server: a site beside this API has the same sessions."""
    return mount_prefix(request).removesuffix(request.app.state.prefix_beside_site) or "/"
