"""A file of this machine as an answer: the one that was opened, however its name is used since."""

import os
import socket
import stat
from pathlib import PurePath
from typing import Final

from msgspec import Struct
from starlette.datastructures import Headers
from starlette.responses import FileResponse
from starlette.types import Message, Receive, Scope, Send

from fairlane.api.problems import problem
from fairlane.store.views import Artifact

# Not through a link that took the place of the file, and not to wait for who writes to a pipe.
_FLAGS: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


class Opened(Struct):
    name: str
    file: int
    status: os.stat_result


class Missing(Struct):
    code: str
    detail: str


def opened(artifact: Artifact, host: str | None) -> Opened | Missing:
    """Open a file that a job has made on a host, or say why it cannot be had.

    On another machine the same path may be another file, unless they share the folder: there it has
    the same size as well.
    """
    path = PurePath(artifact.path)
    is_elsewhere = host not in (None, socket.gethostname())
    try:
        file = os.open(path, _FLAGS)
    except (OSError, ValueError):
        return _elsewhere(path, host) if is_elsewhere else _gone(path)
    status = os.fstat(file)
    if is_elsewhere and status.st_size != artifact.bytes:
        os.close(file)
        return _elsewhere(path, host)
    if not stat.S_ISREG(status.st_mode):
        os.close(file)
        return Missing("not_a_file", f"{path} is no file but a folder or a device")
    return Opened(path.name, file, status)


def _gone(path: PurePath) -> Missing:
    return Missing("artifact_gone", f"{path} is no longer there, or may not be read")


def _elsewhere(path: PurePath, host: str | None) -> Missing:
    detail = f"{path} was made on {host}; this server runs on {socket.gethostname()}"
    return Missing("artifact_elsewhere", detail)


class Download(FileResponse):
    """An open file, or the part of it that was asked for; it is closed at the end."""

    media_type = "application/octet-stream"

    def __init__(self, opened: Opened) -> None:
        super().__init__(
            f"/dev/fd/{opened.file}",
            media_type=self.media_type,
            filename=opened.name,
            stat_result=opened.status,
        )
        self._opened = opened

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        exact = _Exact(send)
        # A server that sends files by itself would look for it after it is closed.
        try:
            await super().__call__({**scope, "extensions": {}}, receive, exact)
        finally:
            os.close(self._opened.file)
        if exact.refused:
            size = self._opened.status.st_size
            await problem(
                416,
                "bad_range",
                f"that part of it does not exist; it has {size:,} bytes",
                headers={"Content-Range": f"bytes */{size}"},
            )(scope, receive, send)


class _Exact:
    """Sends no more than was announced: a file may grow while it is read."""

    def __init__(self, send: Send) -> None:
        self.refused = False
        self._send = send
        self._left = 0

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.refused = message["status"] >= 400
            self._left = int(Headers(scope=message).get("content-length", 0))
        else:
            body = message.get("body", b"")[: self._left]
            self._left -= len(body)
            message = {**message, "body": body}
        if not self.refused:
            await self._send(message)
