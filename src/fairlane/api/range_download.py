"""Downloads of files, whole or by `Range`.

A download sends the file that was opened, also if its name is deleted or reused meanwhile.
"""

import os
import socket
import stat
from pathlib import PurePath
from typing import Final

from msgspec import Struct
from starlette.datastructures import Headers
from starlette.responses import FileResponse
from starlette.types import Message, Receive, Scope, Send

from fairlane.api.problems import problem_response
from fairlane.store.views import Artifact

# O_NOFOLLOW: a symbolic link may have replaced the file. O_NONBLOCK: opening a pipe must not wait.
_FLAGS: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


class OpenFile(Struct):
    name: str
    file: int
    status: os.stat_result


class MissingFile(Struct):
    code: str
    detail: str


def open_artifact(artifact: Artifact, host: str | None) -> OpenFile | MissingFile:
    """Open a file that a job made on a host, or return why it is not available.

    On another host the same path may be a different file, unless both share the folder; a file of
    the recorded size counts as shared.
    """
    path = PurePath(artifact.path)
    is_elsewhere = host not in (None, socket.gethostname())
    try:
        file = os.open(path, _FLAGS)
    except (OSError, ValueError):
        return _file_on_other_host(path, host) if is_elsewhere else _gone_file(path)
    status = os.fstat(file)
    if is_elsewhere and status.st_size != artifact.bytes:
        os.close(file)
        return _file_on_other_host(path, host)
    if not stat.S_ISREG(status.st_mode):
        os.close(file)
        return MissingFile("not_a_file", f"{path} is not a regular file")
    return OpenFile(path.name, file, status)


def _gone_file(path: PurePath) -> MissingFile:
    return MissingFile("artifact_gone", f"{path} no longer exists, or is not readable")


def _file_on_other_host(path: PurePath, host: str | None) -> MissingFile:
    detail = f"{path} was made on {host}; this server runs on {socket.gethostname()}"
    return MissingFile("artifact_elsewhere", detail)


class FileDownload(FileResponse):
    """A response with an open file or a range of it; closes the file."""

    media_type = "application/octet-stream"

    def __init__(self, file: OpenFile) -> None:
        super().__init__(
            f"/dev/fd/{file.file}",
            media_type=self.media_type,
            filename=file.name,
            stat_result=file.status,
        )
        self._opened = file

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        exact = _ExactLengthSender(send)
        # Without extensions: a server that sends files by path would open it after it is closed.
        try:
            await super().__call__({**scope, "extensions": {}}, receive, exact)
        finally:
            os.close(self._opened.file)
        if exact.refused:
            size = self._opened.status.st_size
            await problem_response(
                416,
                "bad_range",
                f"the requested range is outside of the file, which has {size:,} bytes",
                headers={"Content-Range": f"bytes */{size}"},
            )(scope, receive, send)


class _ExactLengthSender:
    """Truncates the body to Content-Length, because a file may grow while it is read."""

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
