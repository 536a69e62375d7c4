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

    async def encode(self, order: Order, format: Format, part: Path) -> Made:
        """Write the picture to `part`; raise what is wrong with it otherwise."""
        amounts = order.amounts
        answer = await self._ask({
            "source": str(order.path), "part": str(part), "format": format.name,
            "quality": order.quality or amounts.picture_quality, "side": amounts.picture_side,
            "colours": amounts.colours, "target_bytes": order.target_bytes, "score": order.score,
        })  # fmt: skip
        _check(answer, order, part)
        return Made(
            format=format.name, width=answer["width"], height=answer["height"],
            score=answer["score"],
        )  # fmt: skip

    async def abilities(self) -> list[str]:
        """Say which formats can be made here."""
        return list((await self._ask({"abilities": True}))["abilities"])

    async def _ask(self, wanted: dict[str, Any]) -> dict[str, Any]:
        child = self._idle.pop() if self._idle else _Child()
        try:
            answer = await child.ask(wanted)
        except BaseException:
            child.end()
            raise
        self._idle.append(child)
        return answer


class _Child:
    def __init__(self) -> None:
        # On the thread of the loop: the system ends a child with the thread that started it.
        ours, theirs = socket.socketpair()
        with theirs:
            process = subprocess.Popen(  # noqa: S603 - our own file
                [sys.executable, "-P", _CHILD, str(os.getpid())],
                stdin=theirs.fileno(), stdout=theirs.fileno(), stderr=subprocess.DEVNULL,
                start_new_session=True,
            )  # fmt: skip
        ours.setblocking(False)
        self._socket = ours
        self.end = weakref.finalize(self, _end, process, ours)

    async def ask(self, wanted: dict[str, Any]) -> dict[str, Any]:
        loop = asyncio.get_running_loop()
        received = b""
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
        answer: dict[str, Any] = json.loads(received)
        return answer


def _end(process: subprocess.Popen[bytes], ours: socket.socket) -> None:
    process.kill()
    process.wait()
    ours.close()


def _check(answer: dict[str, Any], order: Order, part: Path) -> None:
    if "refused" in answer:
        raise Permanent(f"{order.path}: {answer['refused']}", code="bad_format")
    if "corrupt" in answer:
        raise troubles.corrupt(order.path, answer["corrupt"])
    if "errno" in answer:
        error = OSError(answer["errno"], answer["message"], answer["path"])
        raise troubles.of_system(error, path=part.parent)
