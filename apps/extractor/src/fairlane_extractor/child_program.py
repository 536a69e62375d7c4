"""Run a part of an extraction in a child process that can be killed.

Media and answers of foreign servers are untrusted, and recognisers may need more memory than the
machine has. So each of them runs in a child process with a bound on its memory. A child gets its
request as JSON on stdin and sends JSON lines; see `child_side`. It ends with its job, its own
children included, because `ctx.run` starts it.
"""

import os
import signal
import sys
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from fairlane import Context, Permanent, Retryable

JOB_VARIABLE: Final = "FAIRLANE_EXTRACT_JOB"  # shows which job a child belongs to
_RESOURCE_SIGNALS: Final = (signal.SIGKILL, signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS)

READING_BYTES: Final = 2 * 2**30  # the memory of a child that reads a file and has no model

OnMessage = Callable[[str, Any], None]  # the name of a message, and its value


class OutOfMemory(Permanent):
    """A child needed more memory than it may have."""

    def __init__(self, program: str, memory_bytes: int | None) -> None:
        bound = f" of {memory_bytes // 2**20:,} MiB" if memory_bytes else ""
        super().__init__(
            f"{program} ran out of memory: it needs more than its bound{bound}",
            code="out_of_memory",
        )


class ChildDied(Permanent):
    """A child ended without an answer."""

    def __init__(self, program: str, returncode: int, stderr: str) -> None:
        last = stderr.strip().splitlines()[-1][:300] if stderr.strip() else "without a message"
        super().__init__(f"{program} ended with {returncode}: {last}", code="child_died")


async def run_child(
    ctx: Context,
    module: str,
    request: Mapping[str, Any],
    *,
    on_message: OnMessage | None = None,
    memory_bytes: int | None = READING_BYTES,
) -> Any:
    """Run a module of this package as a child and return its result.

    `on_message` gets each message before the result, on the event loop. An error of the child is
    raised as `Permanent` or `Retryable` with its code; running out of memory is `OutOfMemory`.
    """
    result: list[Any] = []
    errors: list[Mapping[str, Any]] = []

    def read(line: str) -> None:
        if not line.strip():
            return
        name, value = msgspec.json.decode(line, type=tuple[str, Any])
        if name == "result":
            result.append(value)
        elif name == "error":
            errors.append(value)
        elif on_message is not None:
            on_message(name, value)

    # A result can be longer than a line of `ctx.run`, which cuts lines of 64 KiB in pieces.
    pieces = _Pieces(read)
    name = module.rpartition(".")[2]
    finished = await ctx.run(
        [sys.executable, "-P", "-m", module],
        input=msgspec.json.encode({**request, "memory_bytes": memory_bytes}),
        env={**os.environ, JOB_VARIABLE: ctx.job.id, "OMP_NUM_THREADS": _threads()},
        on_stdout=pieces.add,
        check=False,
        grace_seconds=0,
    )
    if errors:
        raise _error_of(errors[0], name, memory_bytes)
    if not result:
        if -finished.returncode in _RESOURCE_SIGNALS or "MemoryError" in finished.stderr_tail:
            raise OutOfMemory(name, memory_bytes)
        raise ChildDied(name, finished.returncode, finished.stderr_tail)
    return result[0]


def _error_of(error: Mapping[str, Any], name: str, memory_bytes: int | None) -> Exception:
    if error["code"] == "out_of_memory":
        return OutOfMemory(name, memory_bytes)
    kind = Retryable if error.get("retryable") else Permanent
    return kind(error["message"], code=error["code"])


class _Pieces:
    """Join the pieces of long lines: a child ends each message with an empty line."""

    def __init__(self, read: Callable[[str], None]) -> None:
        self._read = read
        self._pieces: list[str] = []

    def add(self, piece: str) -> None:
        if piece:
            self._pieces.append(piece)
            return
        text, self._pieces = "".join(self._pieces), []
        self._read(text)


def _threads() -> str:
    """Return how many threads a recogniser may use: two of them may run at a time."""
    return str(max(1, (os.cpu_count() or 2) // 2))
