"""Encode pictures in a child process that is reused for the next one.

Starting a process takes longer than encoding a small picture. A cancel kills the child at once, and
the next picture gets a new one.
"""

import asyncio
import json
import os
import socket
import subprocess
import sys
import weakref
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from fairlane import Permanent, Retryable
from fairlane_compressor import errors
from fairlane_compressor.encode_result import EncodeResult
from fairlane_compressor.formats import Format
from fairlane_compressor.order import Order

_CHILD: Final = str(Path(__file__).with_name("picture_child.py"))
_MB: Final = 1024 * 1024
# Keep freed memory in the child for the next picture: getting it from the system again page by page
# took a tenth of its time. Only glibc has these settings.
_KEEPS_MEMORY: Final = {
    "MALLOC_MMAP_THRESHOLD_": str(32 * _MB),
    "MALLOC_TRIM_THRESHOLD_": str(128 * _MB),
    "MALLOC_TOP_PAD_": str(16 * _MB),
}


class PictureEncoder:
    """The child processes of one app: one for each concurrent picture, reused for the next."""

    def __init__(self) -> None:
        self._idle: list[_Child] = []

    @asynccontextmanager
    async def start_encoding(
        self, order: Order, format: Format
    ) -> AsyncIterator["PictureEncoding"]:
        """Start to encode a picture in memory; leaving the block early kills the child."""
        amounts = order.amounts
        async with self._child() as child:
            await child.send({
                "verb": "make", "source": str(order.path), "format": format.name,
                "quality": order.quality or amounts.picture_quality,
                "side": amounts.picture_side, "colours": amounts.colours,
                "target_bytes": order.target_bytes, "score": order.score,
            })  # fmt: skip
            yield PictureEncoding(child, order, format)

    async def abilities(self) -> list[str]:
        """Return the formats that can be encoded."""
        async with self._child() as child:
            await child.send({"verb": "tell"})
            return list((await child.receive())["abilities"])

    @asynccontextmanager
    async def _child(self) -> AsyncIterator["_Child"]:
        child = self._idle.pop() if self._idle else _Child()
        while child.has_died():  # while it had nothing to do
            child.end()
            child = self._idle.pop() if self._idle else _Child()
        try:
            yield child
        finally:
            if child.owes:
                child.end()
            else:
                self._idle.append(child)


class PictureEncoding:
    """A picture that is being encoded."""

    def __init__(self, child: "_Child", order: Order, format: Format) -> None:
        self._child = child
        self._order = order
        self._format = format

    async def written(self, part: Path, *, below: int | None) -> EncodeResult | None:
        """Write the encoded picture; return None if it is not below that size and was not
        written."""
        # Sent before the first answer, which saves a round trip.
        await self._child.send({"verb": "write", "path": str(part), "below": below})
        facts, writing = await self._child.receive(), await self._child.receive()
        _check(facts, self._order, self._order.path.parent)
        _check(writing, self._order, part.parent)
        if not writing["written"]:
            return None
        return EncodeResult(
            format=self._format.name, width=facts["width"], height=facts["height"],
            score=facts["score"],
        )  # fmt: skip


class _Child:
    def __init__(self) -> None:
        # Started on the thread of the loop: Linux ends a child with the thread that started it.
        ours, theirs = socket.socketpair()
        try:
            process = subprocess.Popen(  # noqa: S603 - our own file
                [sys.executable, "-P", _CHILD, str(os.getpid())],
                stdin=theirs.fileno(), stdout=theirs.fileno(), stderr=subprocess.DEVNULL,
                start_new_session=True, env={**os.environ, **_KEEPS_MEMORY},
            )  # fmt: skip
        except OSError as error:
            ours.close()
            raise Retryable(
                f"the process that encodes pictures could not be started: {error.strerror}",
                code="encoder_not_started",
            ) from error
        finally:
            theirs.close()
        ours.setblocking(False)
        self._socket = ours
        self._process = process
        self._received = b""
        self.owes = 0  # outstanding answers
        self.end = weakref.finalize(self, _end, process, ours)

    def has_died(self) -> bool:
        return self._process.poll() is not None

    async def send(self, wanted: dict[str, Any]) -> None:
        self.owes += 1
        line = json.dumps(wanted).encode() + b"\n"
        try:
            await asyncio.get_running_loop().sock_sendall(self._socket, line)
        except ConnectionError:
            raise _died() from None

    async def receive(self) -> dict[str, Any]:
        loop = asyncio.get_running_loop()
        while b"\n" not in self._received:
            try:
                more = await loop.sock_recv(self._socket, 65536)
            except ConnectionError:
                more = b""
            if not more:
                raise _died()
            self._received += more
        line, _, self._received = self._received.partition(b"\n")
        self.owes -= 1
        answer: dict[str, Any] = json.loads(line)
        return answer


def _died() -> Retryable:
    return Retryable(
        "the process that encodes pictures died; the picture may be damaged, or the memory ran out",
        code="encoder_killed",
    )


def _end(process: subprocess.Popen[bytes], ours: socket.socket) -> None:
    process.kill()
    process.wait()
    ours.close()


def _check(answer: dict[str, Any], order: Order, folder: Path) -> None:
    if "refused" in answer:
        raise Permanent(f"{order.path}: {answer['refused']}", code="bad_format")
    if "corrupt" in answer:
        raise errors.corrupt(order.path, answer["corrupt"])
    if "errno" in answer:
        error = OSError(answer["errno"], answer["message"], answer["path"])
        raise errors.from_system_error(error, path=folder)
