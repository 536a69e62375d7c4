"""The body of a request, read whole before a page gets a thread.

The pages run in a few threads. A client that sends its body slowly, or not at all, would hold one
of them for as long as it likes, and a handful of such clients would stop all pages.
"""

import asyncio
from typing import Final

from fairlane_dnslog.console_gate import Message, Receive, Scope
from fairlane_dnslog.web.request_guard import LARGEST_REQUEST_BYTES

BODY_SECONDS: Final = 10.0


class BodyRefused(Exception):
    """The body came too slowly, or is too large; `status` is the answer."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


async def read_body(scope: Scope, receive: Receive, *, seconds: float = BODY_SECONDS) -> Receive:
    """Read the whole body; return a `receive` that gives it to the pages.

    A body that announces too large a size is not read: the pages refuse it by its header.
    """
    if scope["type"] != "http" or _announced_bytes(scope) > LARGEST_REQUEST_BYTES:
        return receive
    body = b""
    try:
        async with asyncio.timeout(seconds):
            while True:
                message = await receive()
                if message["type"] != "http.request":  # the client has gone
                    break
                body += message.get("body", b"")
                if len(body) > LARGEST_REQUEST_BYTES:
                    raise BodyRefused(413, f"the body has more than {LARGEST_REQUEST_BYTES} bytes")
                if not message.get("more_body", False):
                    break
    except TimeoutError:
        raise BodyRefused(408, f"the body did not arrive within {seconds:.0f} s") from None
    return _Replay(body, receive)


def _announced_bytes(scope: Scope) -> int:
    found = dict(scope["headers"]).get(b"content-length", b"0")
    return int(found) if found.isdigit() else 0


class _Replay:
    """The `receive` of a request with a body that was read already."""

    def __init__(self, body: bytes, receive: Receive) -> None:
        self._body: bytes | None = body
        self._receive = receive

    async def __call__(self) -> Message:
        if self._body is None:
            return await self._receive()
        body, self._body = self._body, None
        return {"type": "http.request", "body": body, "more_body": False}
