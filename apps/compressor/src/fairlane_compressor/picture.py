"""Pictures: encoded in a child process that stays for the next one.

To start a process for each would take longer than to encode it. The child is ours to kill: a cancel
ends it at once, whatever it is doing, and the next picture gets another.
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
from fairlane_compressor import troubles
from fairlane_compressor.formats import Format
from fairlane_compressor.made import Made
from fairlane_compressor.order import Order

_CHILD: Final = str(Path(__file__).with_name("picture_child.py"))


class Painter:
    """The child processes of one app: one for each picture at a time, kept for the next."""

    def __init__(self) -> None:
        self._idle: list[_Child] = []

    @asynccontextmanager
    async def painting(self, order: Order, format: Format) -> AsyncIterator["Painting"]:
        """Begin a picture at once, in memory; who leaves the block early stops it."""
        async with self._child() as child:
            amounts = order.amounts
            making = asyncio.create_task(
                child.ask({
                    "verb": "make", "source": str(order.path), "format": format.name,
                    "quality": order.quality or amounts.picture_quality,
                    "side": amounts.picture_side, "colours": amounts.colours,
                    "target_bytes": order.target_bytes, "score": order.score,
                })
            )  # fmt: skip
            try:
                yield Painting(child, order, format, making)
            finally:
                making.cancel()
                await asyncio.wait([making])

    async def abilities(self) -> list[str]:
        """Say which formats can be made here."""
        async with self._child() as child:
            return list((await child.ask({"verb": "tell"}))["abilities"])

    @asynccontextmanager
    async def _child(self) -> AsyncIterator["_Child"]:
        child = self._idle.pop() if self._idle else _Child()
        try:
            yield child
        finally:
            if child.busy:
                child.end()
            else:
                self._idle.append(child)


class Painting:
    """A picture that is being encoded, or is and waits to be written."""

    def __init__(
        self, child: "_Child", order: Order, format: Format, making: asyncio.Task[dict[str, Any]]
    ) -> None:
        self._child = child
        self._order = order
        self._format = format
        self._making = making

    async def made(self) -> Made:
        """Wait until it is encoded; raise what is wrong with it otherwise."""
        answer = await self._making
        _check(answer, self._order, self._order.path.parent)
        return Made(
            format=self._format.name, width=answer["width"], height=answer["height"],
            score=answer["score"], bytes=answer["bytes"],
        )  # fmt: skip

    async def write(self, part: Path) -> None:
        answer = await self._child.ask({"verb": "write", "path": str(part)})
        _check(answer, self._order, part.parent)


class _Child:
    def __init__(self) -> None:
        # On the thread of the loop: the system ends a child with the thread that started it.
        ours, theirs = socket.socketpair()
        try:
            process = subprocess.Popen(  # noqa: S603 - our own file
                [sys.executable, "-P", _CHILD, str(os.getpid())],
                stdin=theirs.fileno(), stdout=theirs.fileno(), stderr=subprocess.DEVNULL,
                start_new_session=True,
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
        self.busy = False  # asked, and has not answered
        self.end = weakref.finalize(self, _end, process, ours)

    async def ask(self, wanted: dict[str, Any]) -> dict[str, Any]:
        loop = asyncio.get_running_loop()
        received = b""
        self.busy = True
        try:
            await loop.sock_sendall(self._socket, json.dumps(wanted).encode() + b"\n")
            while not received.endswith(b"\n"):
                more = await loop.sock_recv(self._socket, 65536)
                if not more:
                    break
                received += more
        except ConnectionError:
            received = b""
        if not received:
            raise Retryable(
                f"the process that encodes pictures died of {wanted.get('source', 'its start')}; "
                "the picture may be damaged, or the memory ran out",
                code="encoder_killed",
            )
        self.busy = False
        answer: dict[str, Any] = json.loads(received)
        return answer


def _end(process: subprocess.Popen[bytes], ours: socket.socket) -> None:
    process.kill()
    process.wait()
    ours.close()


def _check(answer: dict[str, Any], order: Order, folder: Path) -> None:
    if "refused" in answer:
        raise Permanent(f"{order.path}: {answer['refused']}", code="bad_format")
    if "corrupt" in answer:
        raise troubles.corrupt(order.path, answer["corrupt"])
    if "errno" in answer:
        error = OSError(answer["errno"], answer["message"], answer["path"])
        raise troubles.of_system(error, path=folder)
