"""The other side of `child_program`: read a request, send messages, end with a result or an error.

    def work(request: Mapping[str, Any], send: Send) -> Any: ...

    if __name__ == "__main__":
        serve(work)

Libraries may print: stdout is a separate channel for messages, and all other output goes to stderr.
"""

import os
import sys
import traceback
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from fairlane_extractor.child_memory import bound_memory, is_out_of_memory

Send = Callable[[str, Any], None]


class ChildError(Exception):
    """An error with a code, that the job reports; `retryable` if another try may help."""

    def __init__(self, code: str, message: str, *, retryable: bool = False) -> None:
        super().__init__(message)
        self.code = code
        self.retryable = retryable


def serve(work: Callable[[Mapping[str, Any], Send], Any]) -> None:
    """Execute the request on stdin, and exit."""
    channel = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)

    def send(name: str, value: Any) -> None:
        # The empty line ends the message, however long it is.
        data = memoryview(msgspec.json.encode((name, value)) + b"\n\n")
        while data:
            data = data[channel.write(data) :]

    try:
        request: dict[str, Any] = msgspec.json.decode(sys.stdin.buffer.read())
        bound_memory(request.get("memory_bytes"))
        send("result", work(request, send))
    except Exception as error:  # noqa: BLE001 - the boundary of the process
        if is_out_of_memory(error):
            _fail(send, "out_of_memory", "the memory ran out")
        elif isinstance(error, ChildError):
            _fail(send, error.code, str(error), retryable=error.retryable)
        else:
            traceback.print_exc()
            _fail(send, "child_failed", f"{type(error).__name__}: {error}"[:500])
    os._exit(0)  # threads of libraries must not delay the end


def _fail(send: Send, code: str, message: str, *, retryable: bool = False) -> None:
    send("error", {"code": code, "message": message, "retryable": retryable})
