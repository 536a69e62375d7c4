"""Programs that a task runs: `ctx.run([...])`.

`Program` is a `ProcessGroup` with its output, read in bounded memory; `run_program` ties it to the
calling asyncio task.
"""

import asyncio
import codecs
import io
import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from typing import IO, Final, Self

from msgspec import Struct

from fairlane.core.validation import check_seconds
from fairlane.errors import Permanent
from fairlane.process.process_group import Argument, ProcessDeadline, ProcessGroup
from fairlane.runtime.threads import await_uncancelled

TAIL_BYTES: Final = 64 * 1024
LINE_CHARACTERS: Final = 64 * 1024  # a longer line reaches its callback in pieces
DRAIN_SECONDS: Final = 1.0  # for output, when another process still holds the pipe


class ProgramResult(Struct, frozen=True, kw_only=True):
    """The result of a program. A negative `returncode` is the signal that ended it.

    The tails are the last bytes of each stream, decoded; `…_cut` means that there was more.
    """

    returncode: int
    stdout_tail: str = ""
    stderr_tail: str = ""
    stdout_cut: bool = False
    stderr_cut: bool = False


class ProgramOutput(asyncio.Protocol):
    """One stream of a program, read in bounded memory.

    Lines end with LF, CR LF or CR, so each update of a progress bar is a line. Bytes that are not
    UTF-8 arrive as U+FFFD.
    """

    def __init__(
        self,
        *,
        on_line: Callable[[str], None] | None,
        on_failure: Callable[[], None],
        tail_bytes: int,
    ) -> None:
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.failure: Exception | None = None
        self.cut = False
        self._on_line = on_line
        self._on_failure = on_failure
        self._limit = tail_bytes
        self._tail = bytearray()
        self._text = io.IncrementalNewlineDecoder(
            codecs.getincrementaldecoder("utf-8")("replace"), translate=True
        )
        self._line = ""

    @property
    def tail(self) -> str:
        return self._tail[-self._limit :].decode(errors="replace") if self._limit else ""

    def data_received(self, data: bytes) -> None:
        self._tail += data
        if len(self._tail) > self._limit:
            self.cut = True
            if len(self._tail) > 2 * self._limit:  # not each time: it copies the rest
                del self._tail[: -self._limit or None]
        if self._on_line is not None:
            self._split(self._text.decode(data))

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self._split(self._text.decode(b"", final=True))
        if self._line:
            self._call(self._line)
        if not self.closed.done():
            self.closed.set_result(None)

    def _split(self, text: str) -> None:
        *lines, self._line = (self._line + text).split("\n")
        for line in lines:
            self._call_in_pieces(line)
        while len(self._line) >= LINE_CHARACTERS:
            self._call(self._line[:LINE_CHARACTERS])
            self._line = self._line[LINE_CHARACTERS:]

    def _call_in_pieces(self, line: str) -> None:
        for start in range(0, len(line) or 1, LINE_CHARACTERS):
            self._call(line[start : start + LINE_CHARACTERS])

    def _call(self, line: str) -> None:
        if self._on_line is None:
            return
        try:
            self._on_line(line)
        except Exception as error:  # noqa: BLE001 - user code; `wait` raises it
            self.failure = error
            self._on_line = None
            self._on_failure()


class Program:
    """A running program, with its output."""

    def __init__(self, group: ProcessGroup, stdout: ProgramOutput, stderr: ProgramOutput) -> None:
        self._group = group
        self._stdout = stdout
        self._stderr = stderr
        self._transports: list[asyncio.BaseTransport] = []

    @classmethod
    async def start(
        cls,
        argv: Sequence[Argument],
        *,
        cwd: Argument | None = None,
        env: Mapping[str, str] | None = None,
        input: bytes | None = None,
        on_stdout: Callable[[str], None] | None = None,
        on_stderr: Callable[[str], None] | None = None,
        tail_bytes: int = TAIL_BYTES,
        process_deadline: ProcessDeadline | None = None,
    ) -> Self:
        """Start `argv` (never a shell), with `input` on its stdin, which is empty by default.

        `env` replaces the whole environment. The callbacks get whole lines on the event loop, so
        they must not block. An exception of a callback kills the program, and `wait` raises it.
        """
        pipes: list[IO[bytes]] = []

        def pipe() -> tuple[IO[bytes], IO[bytes]]:
            reading, writing = os.pipe()
            ends = os.fdopen(reading, "rb", 0), os.fdopen(writing, "wb", 0)
            pipes.extend(ends)
            return ends

        try:
            stdout, stdout_end = pipe()
            stderr, stderr_end = pipe()
            stdin_end, stdin = (None, None) if input is None else pipe()
            group = await ProcessGroup.start(
                argv,
                cwd=cwd,
                env=env,
                stdin=subprocess.DEVNULL if stdin_end is None else stdin_end,
                stdout=stdout_end,
                stderr=stderr_end,
                process_deadline=process_deadline,
            )
        except BaseException:
            for end in pipes:
                end.close()
            raise
        stdout_end.close()
        stderr_end.close()
        if stdin_end is not None:
            stdin_end.close()
        program = cls(
            group,
            ProgramOutput(on_line=on_stdout, on_failure=group.kill, tail_bytes=tail_bytes),
            ProgramOutput(on_line=on_stderr, on_failure=group.kill, tail_bytes=tail_bytes),
        )
        try:
            # Not cancelled: a pipe that is not connected yet would stay open.
            await await_uncancelled(program._connect(stdout, stderr, stdin, input))
        except BaseException:
            await await_uncancelled(program.stop(0))
            raise
        return program

    @property
    def pid(self) -> int:
        return self._group.pid

    async def wait(self) -> ProgramResult:
        """Wait until the program, its descendants and its output have ended."""
        returncode = await self._group.ended()
        await self._drain()
        for output in (self._stdout, self._stderr):
            if output.failure is not None:
                raise output.failure
        return ProgramResult(
            returncode=returncode,
            stdout_tail=self._stdout.tail,
            stderr_tail=self._stderr.tail,
            stdout_cut=self._stdout.cut,
            stderr_cut=self._stderr.cut,
        )

    async def stop(self, grace_seconds: float) -> None:
        """Send SIGTERM to all, SIGKILL after the grace; return when all descendants are gone."""
        await self._group.stop(grace_seconds)
        await self._drain()

    def kill(self) -> None:
        self._group.kill()

    async def _connect(
        self,
        stdout: IO[bytes],
        stderr: IO[bytes],
        stdin: IO[bytes] | None,
        input: bytes | None,
    ) -> None:
        loop = asyncio.get_running_loop()
        for stream, output in ((stdout, self._stdout), (stderr, self._stderr)):
            transport, _ = await loop.connect_read_pipe(_protocol(output), stream)
            self._transports.append(transport)
        if stdin is not None:
            writer, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, stdin)
            self._transports.append(writer)
            writer.write(input or b"")
            writer.write_eof()

    async def _drain(self) -> None:
        # All writers are gone, so the output ends at once, unless a process forked from this one at
        # the wrong moment holds a pipe open.
        await asyncio.wait([self._stdout.closed, self._stderr.closed], timeout=DRAIN_SECONDS)
        for transport in self._transports:
            transport.close()


async def run_program(
    argv: Sequence[Argument],
    *,
    cwd: Argument | None = None,
    env: Mapping[str, str] | None = None,
    input: bytes | None = None,
    on_stdout: Callable[[str], None] | None = None,
    on_stderr: Callable[[str], None] | None = None,
    grace_seconds: float = 2.0,
    check: bool = True,
    tail_bytes: int = TAIL_BYTES,
    process_deadline: ProcessDeadline | None = None,
) -> ProgramResult:
    """Run a program and return its result; see `Program.start` for the arguments.

    When the calling task is cancelled, the program and all its descendants are gone before the
    cancellation propagates. With `check`, an exit code other than 0 raises a Permanent error with
    the code `program_failed`.
    """
    check_seconds("grace_seconds of a program", grace_seconds, zero=True)
    program = await Program.start(
        argv,
        cwd=cwd,
        env=env,
        input=input,
        on_stdout=on_stdout,
        on_stderr=on_stderr,
        tail_bytes=tail_bytes,
        process_deadline=process_deadline,
    )
    try:
        result = await program.wait()
    except BaseException:
        await await_uncancelled(program.stop(grace_seconds), hurry=program.kill)
        raise
    if check and result.returncode != 0:
        raise _failed(os.fspath(argv[0]), result)
    return result


def _protocol(output: ProgramOutput) -> Callable[[], ProgramOutput]:
    return lambda: output


def _failed(name: str, result: ProgramResult) -> Permanent:
    if result.returncode < 0:
        number = -result.returncode
        is_known = number in {known.value for known in signal.Signals}
        how = f"was ended by {signal.Signals(number).name if is_known else f'signal {number}'}"
    else:
        how = f"exited with {result.returncode}"
    tail = result.stderr_tail.strip()[-4000:]
    end = f"; the end of its stderr: {tail}" if tail else ""
    return Permanent(
        f'the program "{name}" {how}{end}',
        code="program_failed",
        program=name,
        returncode=result.returncode,
        stderr_tail=tail,
    )
