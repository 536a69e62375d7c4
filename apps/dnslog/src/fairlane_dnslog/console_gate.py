"""The Fairlane console beside the pages, for people who may edit.

The pages decide about each request to the console: the gate requests a page of its own from them
with the cookies and the host of the request. So the login, its roles, its end and the check of the
host name are the same for both. The console has a token that no person knows; the gate adds it to
the requests that the pages allow. An open stream of events ends soon after the login has ended.
"""

import asyncio
import io
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final

from a2wsgi.wsgi import build_environ
from flask import Flask
from werkzeug.wrappers import Response

from fairlane import Fairlane
from fairlane_dnslog.web.visitor import for_editors

PREFIX: Final = "/queue"
HOME: Final = f"{PREFIX}/"
RECHECK_SECONDS: Final = 15.0  # of the login behind an open stream

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


class ConsoleGate:
    """The console as an ASGI application under `PREFIX`."""

    def __init__(self, web: Flask, app: Fairlane) -> None:
        token = secrets.token_urlsafe(32)
        self._authorization = f"Bearer {token}".encode()
        # The pages have checked the host name; the console still compares it with the origin.
        self._console: Any = app.asgi(token=token, hosts=["*"])
        self._web = web
        self._closing = asyncio.Event()
        web.add_url_rule(HOME, "console", for_editors(_allow))

    @staticmethod
    def is_responsible(path: str) -> bool:
        return path == PREFIX or path.startswith(HOME)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == PREFIX:
            await _send(Response(status=308, headers={"Location": HOME}), scope, send)
            return
        answer = await asyncio.to_thread(self._request_page, scope)
        if answer.status_code != 200:
            if answer.status_code < 400 and scope["path"] != HOME:
                answer = Response("log in to the DNS log first", status=401)
            await _send(answer, scope, send)
            return
        headers = [pair for pair in scope["headers"] if pair[0] != b"authorization"]
        headers.append((b"authorization", self._authorization))
        scope = {**scope, "headers": headers, "root_path": PREFIX}
        await self._console(scope, self._while_allowed(scope, receive), send)

    def close(self) -> None:
        """End the streams of the console, which would delay a shutdown."""
        self._closing.set()

    def _while_allowed(self, scope: Scope, receive: Receive) -> Receive:
        """Return the messages of a client, who is gone when the program stops or the login ends."""

        async def read() -> Message:
            reading = asyncio.ensure_future(receive())
            closing = asyncio.ensure_future(self._closing.wait())
            first = asyncio.FIRST_COMPLETED
            try:
                while True:
                    await asyncio.wait(
                        {reading, closing}, timeout=RECHECK_SECONDS, return_when=first
                    )
                    if reading.done():
                        return reading.result()
                    if closing.done() or not await self._is_allowed(scope):
                        return {"type": f"{scope['type']}.disconnect", "code": 1001}
            finally:
                reading.cancel()
                closing.cancel()

        return read

    async def _is_allowed(self, scope: Scope) -> bool:
        return (await asyncio.to_thread(self._request_page, scope)).status_code == 200

    def _request_page(self, scope: Scope) -> Response:
        """Return the answer of the pages to a request for the console, which is 200 or a reason."""
        unused = (
            b"content-length",
            b"content-type",
            b"transfer-encoding",
            b"connection",
            b"upgrade",
        )
        request: Any = {
            **scope,
            "method": "GET",
            "path": HOME,
            "query_string": b"",
            "root_path": "",
            "scheme": "https" if scope.get("scheme") in ("https", "wss") else "http",
            "headers": [pair for pair in scope["headers"] if pair[0] not in unused],
        }
        body: Any = io.BytesIO()
        environment: Any = build_environ(request, body)
        return Response.from_app(self._web, environment, buffered=True)


def _allow() -> str:
    return ""


async def _send(response: Response, scope: Scope, send: Send) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008})
        return
    headers = [(name.lower().encode(), text.encode("latin-1")) for name, text in response.headers]
    await send({"type": "http.response.start", "status": response.status_code, "headers": headers})
    await send({"type": "http.response.body", "body": response.get_data()})
