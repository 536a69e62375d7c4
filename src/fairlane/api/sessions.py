"""Sessions of browsers: a cookie in place of the token, because `EventSource` sends no headers."""

from typing import Annotated

from fastapi import APIRouter, Body, Request
from starlette.responses import Response

from fairlane.api.guard import Guard
from fairlane.api.models import Login, Session
from fairlane.api.problems import documented, problem
from fairlane.api.responses import answer, prefix_of
from fairlane.api.strict_json import StrictRoute

router = APIRouter(tags=["sessions"], route_class=StrictRoute)


def _guard(request: Request) -> Guard:
    guard: Guard = request.app.state.guard
    return guard


@router.post("/session", operation_id="login", response_model=Session,
             responses=documented(body=True))  # fmt: skip
async def login(request: Request, login: Annotated[Login, Body()]) -> Response:
    """Exchange a token for a cookie that scripts cannot read."""
    keys = _guard(request).keys
    role = keys.role_of(login.token.get_secret_value())
    if role is None:
        return problem(401, "unauthorized", "this is not a token of this server",
                       headers={"WWW-Authenticate": "Bearer"})  # fmt: skip
    response = answer({"role": role, "token_needed": keys.are_set})
    name, value = keys.session(role)
    response.set_cookie(
        name,
        value,
        max_age=keys.SESSION_SECONDS,
        path=prefix_of(request) or "/",
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
    return response


@router.get("/session", operation_id="session", response_model=Session, responses=documented())
async def session(request: Request) -> Response:
    """Say what the sender of this request may do: nothing, `read` or `operate`."""
    guard = _guard(request)
    return answer({"role": guard.role_in(request.scope), "token_needed": guard.keys.are_set})


@router.delete("/session", operation_id="logout", status_code=204, responses=documented())
async def logout(request: Request) -> Response:
    """Forget the cookie."""
    response = Response(status_code=204)
    for name in _guard(request).keys.cookie_names & request.cookies.keys():  # and tell no other
        response.delete_cookie(name, path=prefix_of(request) or "/")
    return response
