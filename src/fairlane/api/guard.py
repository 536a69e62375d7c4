"""The access checks before every route, for requests, streams and WebSockets alike.

Rules:
* The `Host` must be localhost, or a name that the operator allows. This stops DNS rebinding, where
  a foreign name resolves to this machine.
* An `Origin`, which browsers send, must be this server's own or that of an allowed proxy name.
* A body must be `application/json`, and an upload `application/octet-stream`. A plain HTML form can
  send neither.
* Without a token, only clients on this machine are served.

The first three hold with and without a token: any web page that a user opens can send requests to
a server on the same machine, so being local is no proof of permission.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from ipaddress import ip_address
from typing import Any, Final
from urllib.parse import quote, urlencode

from fastapi import HTTPException
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fairlane.api import console
from fairlane.api.auth import AccessTokens, Role
from fairlane.api.problems import SAFE_METHODS, problem_response
from fairlane.errors import BadSetting

LARGEST_BODY: Final = 8 * 1024 * 1024
LOOPBACK_HOSTS: Final = ("localhost", "127.0.0.1", "::1")
_PUBLIC_PATHS: Final = ("/healthz", "/api/session")  # they show no data and change no state
_UPLOAD_PATH: Final = "/api/files"
_PORTS: Final = {"http": 80, "https": 443}
_HOST: Final = re.compile(
    r"(\[(?P<address>[0-9a-fA-F:.]+)\]|(?P<name>[\w.*-]+))(:(?P<port>[0-9]{1,5}))?"
)
_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


def is_public_path(path: str) -> bool:
    return path in _PUBLIC_PATHS or console.is_public(path)


class Guard:
    def __init__(
        self,
        *,
        tokens: AccessTokens,
        allowed_hosts: Iterable[str] = (),
        largest_body: int = LARGEST_BODY,
        largest_upload: int | None = None,
        upload_path: str | None = _UPLOAD_PATH,
        is_public: Callable[[str], bool] = is_public_path,
        sign_in_path: str | None = None,
    ) -> None:
        self.tokens = tokens
        self._upload_path = upload_path
        self._is_public = is_public
        self._sign_in_path = sign_in_path
        allowed = [host.strip() for host in allowed_hosts if host.strip()]
        self._allowed_names = frozenset(_check_allowed_host(host) for host in allowed)
        self._origins = frozenset(place for host in allowed for place in _origins_of(host))
        self._largest_body = largest_body
        self._largest_upload = largest_upload

    def wrap(self, app: ASGIApp) -> ASGIApp:
        """Return the application with the checks of this guard in front of it."""

        async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] not in ("http", "websocket"):
                await app(scope, receive, send)
                return
            refusal = self._refusal(scope)
            if refusal is not None:
                await _refuse(refusal, scope, receive, _add_headers(send))
            elif scope["type"] == "websocket":
                await app(scope, receive, send)
            else:
                bounded = _limit_body(receive, self._body_limit(scope))
                await app(scope, bounded, _add_headers(send))

        return guarded

    def role_in(self, scope: Scope) -> Role | None:
        """Return the role of a request, from its token or its session cookie."""
        if not self.tokens.any_set:
            return "operate"
        headers = Headers(scope=scope)
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if scheme:
            return self.tokens.role_of(token.strip()) if scheme.lower() == "bearer" else None
        return self.tokens.role_from_cookies(_cookies(headers))

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if not self._is_allowed_host(_host_name(host)):
            return problem_response(403, "bad_host", f'the host name "{host[:200]}" is not allowed')
        origin = headers.get("origin")
        if origin is not None and not self._is_own_origin(origin, host):
            return problem_response(
                403,
                "bad_origin",
                f'requests from pages of "{origin[:200]}" are refused (Origin check)',
            )
        return self._role_refusal(scope) or self._body_refusal(scope, headers)

    def _is_allowed_host(self, name: str) -> bool:
        if not name:
            return False
        if name in LOOPBACK_HOSTS or name in self._allowed_names or "*" in self._allowed_names:
            return True
        return self.tokens.any_set and _is_address(
            name
        )  # numbers cannot be made to point elsewhere

    def _is_own_origin(self, origin: str, host: str) -> bool:
        """Return whether an origin has the name and port of this server, or an allowed name."""
        scheme, _, rest = origin.lower().partition("://")
        if scheme not in _PORTS:
            return False
        place = _host_and_port(rest, _PORTS[scheme])
        return place is not None and (
            place == _host_and_port(host.lower(), _PORTS[scheme]) or place in self._origins
        )

    def _role_refusal(self, scope: Scope) -> Response | None:
        if not self.tokens.any_set:
            client = scope.get("client")
            if client is not None and not _is_loopback(client[0]):
                return _unauthorized(
                    "this server has no token, so it serves only clients on its own machine"
                )
            return None
        if self._is_public(_path_in_app(scope)):
            return None
        role = self.role_in(scope)
        if role is None:
            if self._sign_in_path is not None and _opens_page(scope):
                return _redirect_to_sign_in(scope, self._sign_in_path)
            return _unauthorized(
                "this request needs a valid token; the one sent is missing or wrong"
            )
        if role == "read" and scope.get("method", "GET") not in SAFE_METHODS:
            return problem_response(403, "read_only", "this token may only read")
        return None

    def _body_refusal(self, scope: Scope, headers: Mapping[str, str]) -> Response | None:
        length = headers.get("content-length", "")
        has_body = "transfer-encoding" in headers or length not in ("", "0")
        is_file = self._is_upload(scope)
        if scope["type"] != "http" or not (has_body or is_file):
            return None
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if is_file and kind != "application/octet-stream":
            detail = f'the body is "{kind[:100]}"; send application/octet-stream'
            return problem_response(415, "not_octets", detail)
        largest = self._body_limit(scope)
        if largest is not None and length.isdecimal() and int(length[:30]) > largest:
            return problem_response(413, "too_large", _too_large_detail(largest))
        if not is_file and kind != "application/json" and scope["method"] not in SAFE_METHODS:
            return problem_response(
                415, "not_json", f'the body is "{kind[:100]}"; send application/json'
            )
        return None

    def _body_limit(self, scope: Scope) -> int | None:
        """Return the maximum body size; None for an upload where uploads are off (the route
        then refuses without reading it)."""
        return self._largest_upload if self._is_upload(scope) else self._largest_body

    def _is_upload(self, scope: Scope) -> bool:
        changes = scope.get("method", "GET") not in SAFE_METHODS
        return changes and _path_in_app(scope) == self._upload_path


def _too_large_detail(largest: int) -> str:
    return f"the body is too large; at most {largest:,} bytes are accepted"


def _limit_body(receive: Receive, largest: int | None) -> Receive:
    """Stop reading a body that exceeds the limit; a chunked body has no Content-Length."""
    size = 0

    async def read() -> Message:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if largest is not None and size > largest:
            raise HTTPException(413, _too_large_detail(largest))
        return message

    return read


def _unauthorized(detail: str) -> Response:
    return problem_response(401, "unauthorized", detail, headers={"WWW-Authenticate": "Bearer"})


def _opens_page(scope: Scope) -> bool:
    """Return whether a browser opens an address, other than a script that sends a request."""
    is_get = scope["type"] == "http" and scope["method"] in ("GET", "HEAD")
    return is_get and "text/html" in Headers(scope=scope).get("accept", "")


def _redirect_to_sign_in(scope: Scope, path: str) -> Response:
    prefix = quote(scope.get("root_path", ""))
    query = scope.get("query_string", b"").decode("latin-1")
    wanted = quote(scope["path"]) + (f"?{query}" if query else "")
    return RedirectResponse(f"{prefix}{path}?{urlencode({'next': wanted})}", status_code=303)


async def _refuse(refusal: Response, scope: Scope, receive: Receive, send: Send) -> None:
    """Send the refusal instead of calling the application; a refused WebSocket never opens."""
    if scope["type"] == "websocket" and "websocket.http.response" not in scope.get(
        "extensions", {}
    ):
        await send({"type": "websocket.close", "code": 1008, "reason": "not allowed"})
        return

    async def send_here(message: Message) -> None:
        prefix = "websocket." if scope["type"] == "websocket" else ""
        await send({**message, "type": f"{prefix}{message['type']}"})

    await refusal({**scope, "type": "http"}, receive, send_here)


def _add_headers(send: Send) -> Send:
    async def with_headers(message: Message) -> None:
        if message["type"].endswith("http.response.start") or message["type"].endswith(
            "websocket.http.response.start"
        ):
            message.setdefault("headers", [])
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return with_headers


def _path_in_app(scope: Scope) -> str:
    """Return the path without the prefix under which this application is mounted."""
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", ""))


def _host_name(host: str) -> str:
    """Return the name in a Host header without its port; "" if the header is malformed."""
    found = _HOST.fullmatch(host.strip())
    return "" if found is None else (found["address"] or found["name"]).lower()


def _host_and_port(host: str, usual_port: int) -> tuple[str, int] | None:
    """Return the name and the port in a Host or Origin header; None if it is malformed."""
    found = _HOST.fullmatch(host)
    if found is None:
        return None
    return found["address"] or found["name"], int(found["port"] or usual_port)


def _check_allowed_host(host: str) -> str:
    """Return the name in an entry of the allowed hosts, or raise `BadSetting`."""
    name = host.lower() if _is_address(host) else _host_name(host)
    if not name:
        raise BadSetting(
            f'the allowed host "{host}" is not a host name; write "queue.example", '
            '"queue.example:8443" or an IP address, without http://'
        )
    return name


def _origins_of(host: str) -> list[tuple[str, int]]:
    """Return the origins of pages that reach this server through a proxy with another name.

    Only names count: any program on this machine may serve a page on an IP address of it.
    """
    found = _HOST.fullmatch(host.lower())
    if found is None or found["name"] is None or found["name"] in (*LOOPBACK_HOSTS, "*"):
        return []
    if _is_address(found["name"]):
        return []
    ports = [int(found["port"])] if found["port"] else list(_PORTS.values())
    return [(found["name"], port) for port in ports]


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def _is_loopback(client: Any) -> bool:
    try:
        address = ip_address(client)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return bool((mapped or address).is_loopback)


def _cookies(headers: Headers) -> dict[str, str]:
    """Parse the cookies leniently: other programs on this host may have set malformed ones."""
    return cookie_parser(headers.get("cookie", ""))
