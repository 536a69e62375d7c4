"""Who may come in: the same checks for every request, stream and WebSocket, before any route.

A page in a browser on this machine can reach a server on this machine, whoever made the page. Three
things keep it out. The `Host` must be a name that the operator vouches for, so that a foreign name
which was made to point here (DNS rebinding) finds nothing. An `Origin`, where a browser sends one,
must be this server's own. What has a body must be JSON, which no plain form can send, and a file
that is sent must be called octets, which none can either. All of this holds with a token and
without; without one, only this machine itself gets in.
"""

import re
from collections.abc import Iterable, Mapping
from ipaddress import ip_address
from typing import Any, Final

from fastapi import HTTPException
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fairlane.api import console
from fairlane.api.auth import Keys, Role
from fairlane.api.problems import SAFE_METHODS, problem
from fairlane.errors import BadSetting

LARGEST_BODY: Final = 8 * 1024 * 1024
HERE: Final = ("localhost", "127.0.0.1", "::1")
_OPEN: Final = ("/healthz", "/api/session")  # these tell nothing and change nothing
_FILES: Final = "/api/files"
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


class Guard:
    def __init__(
        self,
        *,
        keys: Keys,
        allowed_hosts: Iterable[str] = (),
        largest_body: int = LARGEST_BODY,
        largest_upload: int | None = None,
    ) -> None:
        self.keys = keys
        allowed = [host.strip() for host in allowed_hosts if host.strip()]
        self._vouched = frozenset(_allowed_name(host) for host in allowed)
        self._origins = frozenset(place for host in allowed for place in _origins_of(host))
        self._largest_body = largest_body
        self._largest_upload = largest_upload

    def around(self, app: ASGIApp) -> ASGIApp:
        """Return the application with this guard before it."""

        async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] not in ("http", "websocket"):
                await app(scope, receive, send)
                return
            refusal = self._refusal(scope)
            if refusal is not None:
                await _refuse(refusal, scope, receive, _with_headers(send))
            elif scope["type"] == "websocket":
                await app(scope, receive, send)
            else:
                bounded = _bounded(receive, self._largest(scope))
                await app(scope, bounded, _with_headers(send))

        return guarded

    def role_in(self, scope: Scope) -> Role | None:
        """Return what the sender of a request may do, by its token or its session."""
        if not self.keys.are_set:
            return "operate"
        headers = Headers(scope=scope)
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if scheme:
            return self.keys.role_of(token.strip()) if scheme.lower() == "bearer" else None
        return self.keys.role_in(_cookies(headers))

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if not self._is_allowed(_name(host)):
            return problem(403, "bad_host", f'this server is not called "{host[:200]}"')
        origin = headers.get("origin")
        if origin is not None and not self._is_own(origin, host):
            return problem(403, "bad_origin", f'a page of "{origin[:200]}" has no business here')
        return self._role_refusal(scope) or self._body_refusal(scope, headers)

    def _is_allowed(self, name: str) -> bool:
        if not name:
            return False
        if name in HERE or name in self._vouched or "*" in self._vouched:
            return True
        return self.keys.are_set and _is_address(name)  # numbers cannot be made to point elsewhere

    def _is_own(self, origin: str, host: str) -> bool:
        """Tell whether a page is the server's own: of the same name and port, or of a proxy's."""
        scheme, _, rest = origin.lower().partition("://")
        if scheme not in _PORTS:
            return False
        place = _place(rest, _PORTS[scheme])
        return place is not None and (
            place == _place(host.lower(), _PORTS[scheme]) or place in self._origins
        )

    def _role_refusal(self, scope: Scope) -> Response | None:
        if not self.keys.are_set:
            client = scope.get("client")
            if client is not None and not _is_here(client[0]):
                return _unauthorized("without a token, only this machine itself is served")
            return None
        path = _path(scope)
        if path in _OPEN or console.is_public(path):
            return None
        role = self.role_in(scope)
        if role is None:
            return _unauthorized("this needs a token, or another one than was sent")
        if role == "read" and scope.get("method", "GET") not in SAFE_METHODS:
            return problem(403, "read_only", "this token may read, not change anything")
        return None

    def _body_refusal(self, scope: Scope, headers: Mapping[str, str]) -> Response | None:
        length = headers.get("content-length", "")
        has_body = "transfer-encoding" in headers or length not in ("", "0")
        is_file = _is_file(scope)
        if scope["type"] != "http" or not (has_body or is_file):
            return None
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if is_file and kind != "application/octet-stream":
            detail = f'the body is "{kind[:100]}"; send application/octet-stream'
            return problem(415, "not_octets", detail)
        largest = self._largest(scope)
        if largest is not None and length.isdecimal() and int(length[:30]) > largest:
            return problem(413, "too_large", _too_large(largest))
        if not is_file and kind != "application/json" and scope["method"] not in SAFE_METHODS:
            return problem(415, "not_json", f'the body is "{kind[:100]}"; send application/json')
        return None

    def _largest(self, scope: Scope) -> int | None:
        """Return how many bytes a body may have; None where it is not read, but told why not."""
        return self._largest_upload if _is_file(scope) else self._largest_body


def _is_file(scope: Scope) -> bool:
    return scope.get("method", "GET") not in SAFE_METHODS and _path(scope) == _FILES


def _too_large(largest: int) -> str:
    return f"a body may have {largest:,} bytes"


def _bounded(receive: Receive, largest: int | None) -> Receive:
    """Stop reading a body that turns out too large: who sends it in pieces tells no length."""
    size = 0

    async def read() -> Message:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if largest is not None and size > largest:
            raise HTTPException(413, _too_large(largest))
        return message

    return read


def _unauthorized(detail: str) -> Response:
    return problem(401, "unauthorized", detail, headers={"WWW-Authenticate": "Bearer"})


async def _refuse(refusal: Response, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer in place of the application; a WebSocket that is refused never opens."""
    if scope["type"] == "websocket" and "websocket.http.response" not in scope.get(
        "extensions", {}
    ):
        await send({"type": "websocket.close", "code": 1008, "reason": "not allowed"})
        return

    async def send_here(message: Message) -> None:
        prefix = "websocket." if scope["type"] == "websocket" else ""
        await send({**message, "type": f"{prefix}{message['type']}"})

    await refusal({**scope, "type": "http"}, receive, send_here)


def _with_headers(send: Send) -> Send:
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


def _path(scope: Scope) -> str:
    """Return the path inside this application, wherever it is mounted."""
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", ""))


def _name(host: str) -> str:
    """Return the name in a Host header without its port; nothing if it cannot be read."""
    found = _HOST.fullmatch(host.strip())
    return "" if found is None else (found["address"] or found["name"]).lower()


def _place(host: str, usual_port: int) -> tuple[str, int] | None:
    """Return the name and the port that a header tells."""
    found = _HOST.fullmatch(host)
    if found is None:
        return None
    return found["address"] or found["name"], int(found["port"] or usual_port)


def _allowed_name(host: str) -> str:
    """Return the name in a host that the operator allows."""
    name = host.lower() if _is_address(host) else _name(host)
    if not name:
        raise BadSetting(
            f'the allowed host "{host}" is no name of a host; write "queue.example", '
            '"queue.example:8443" or an address, without http://'
        )
    return name


def _origins_of(host: str) -> list[tuple[str, int]]:
    """Return where pages may come from that reach us through a proxy which names us otherwise.

    Only names: on an address of this machine anybody may serve a page.
    """
    found = _HOST.fullmatch(host.lower())
    if found is None or found["name"] is None or found["name"] in (*HERE, "*"):
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


def _is_here(client: Any) -> bool:
    try:
        address = ip_address(client)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return bool((mapped or address).is_loopback)


def _cookies(headers: Headers) -> dict[str, str]:
    """Return what cookies say; other programs on this machine may have set odd ones."""
    return cookie_parser(headers.get("cookie", ""))
