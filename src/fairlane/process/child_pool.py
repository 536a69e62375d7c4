"""Child processes that run the attempts of `isolation="process"`, one at a time in each.

A child is started through the supervisor like any program, with one additional socket. Each message
on it is JSON with its length in four bytes before it. The child inherits stdout and stderr of the
worker, so the prints of a task stay visible. The types of the messages are up to the caller.
"""

import asyncio
import contextlib
import os
import socket
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Final, Self

import msgspec

from fairlane.errors import InternalError, NotStarted, TooLarge, UsageError
from fairlane.process.process_group import ProcessDeadline, ProcessGroup
from fairlane.runtime.threads import await_uncancelled

FD_VARIABLE: Final = "FAIRLANE_CHILD_FD"
IN_CHILD: Final = "FAIRLANE_CHILD"  # set in a child process, where no engine may start
MESSAGE_BYTES: Final = 64 * 1024 * 1024
GRACE_SECONDS: Final = 2.0


class MessagePipe:
    """One end of the socket between a worker and its child; belongs to one event loop.

    `messages` is the type of the messages to receive, such as a union of tagged structs.
    """

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, messages: Any
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(messages)

    @classmethod
    async def from_socket(cls, end: socket.socket, messages: Any = Any) -> Self:
        end.setblocking(False)
        return cls(*await asyncio.open_unix_connection(sock=end), messages)

    def post(self, message: Any) -> None:
        """Send a message without waiting; it is lost silently if the other process has ended."""
        self.write(self.encode(message))

    def encode(self, message: Any) -> bytes:
        """Return the bytes of a message; from any thread."""
        body = msgspec.json.encode(message)
        if len(body) > MESSAGE_BYTES:
            raise TooLarge(
                "a message between a worker and its child process", len(body), MESSAGE_BYTES
            )
        return len(body).to_bytes(4, "big") + body

    def write(self, encoded: bytes) -> None:
        if not self._writer.is_closing():
            self._writer.write(encoded)

    async def send(self, message: Any) -> None:
        """Send a message, and wait while the other process reads slowly."""
        self.post(message)
        with contextlib.suppress(ConnectionError):
            await self._writer.drain()

    async def receive(self) -> Any:
        """Return the next message; raise EOFError at the end of the stream, also mid-message."""
        try:
            size = int.from_bytes(await self._reader.readexactly(4), "big")
            if size > MESSAGE_BYTES:
                raise InternalError(
                    f"a message of {size:,} bytes was announced, the limit is {MESSAGE_BYTES:,}; "
                    "does the task write to a file descriptor that it did not open?"
                )
            body = await self._reader.readexactly(size)
        except (asyncio.IncompleteReadError, ConnectionError) as error:
            raise EOFError("the other process has ended") from error
        return self._decoder.decode(body)

    async def messages(self) -> AsyncIterator[Any]:
        """Yield every message until the other process closes the socket."""
        while True:
            try:
                message = await self.receive()
            except EOFError:
                return
            yield message

    @property
    def is_over(self) -> bool:
        """Whether the other process has closed the socket and all its messages are read."""
        return self._reader.at_eof()

    def close(self) -> None:
        self._writer.close()


class Child:
    """A child process, as its worker sees it."""

    def __init__(self, group: ProcessGroup, connection: MessagePipe) -> None:
        self._killed = False
        self._group = group
        self._connection = connection

    @classmethod
    async def start(
        cls,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        process_deadline: ProcessDeadline | None = None,
        messages: Any = Any,
    ) -> Self:
        """Start a program that calls `connect()`; `env` replaces the whole environment."""
        ours, theirs = socket.socketpair()
        environment = dict(os.environ if env is None else env)
        environment[FD_VARIABLE] = str(theirs.fileno())
        try:
            with theirs:
                group = await ProcessGroup.start(
                    argv,
                    cwd=cwd,
                    env=environment,
                    fds=[theirs.fileno()],
                    process_deadline=process_deadline,
                )
        except BaseException:
            ours.close()
            raise
        try:
            connection = await MessagePipe.from_socket(ours, messages)
        except BaseException:
            ours.close()
            await await_uncancelled(group.stop(0))
            raise

        def end_reading() -> None:
            # A process forked from this one at the wrong moment may hold the child's end open.
            with contextlib.suppress(OSError):
                ours.shutdown(socket.SHUT_RD)

        group.when_ended(end_reading)
        return cls(group, connection)

    @property
    def pid(self) -> int:
        return self._group.pid

    @property
    def is_usable(self) -> bool:
        return not (self._killed or self._group.has_ended or self._connection.is_over)

    def send(self, message: Any) -> None:
        self._connection.post(message)

    def messages(self) -> AsyncIterator[Any]:
        """Yield the messages of the child until it ends, including all that it sent before."""
        return self._connection.messages()

    def kill(self) -> None:
        """Kill the child and every descendant at once; `ended` returns when they are gone."""
        self._killed = True
        self._group.kill()

    async def ended(self) -> int:
        """Wait until the child and all descendants are gone; a negative code is a signal."""
        return await self._group.ended()

    async def stop(self, grace_seconds: float = GRACE_SECONDS) -> int:
        """Close the socket, which ends the child; kill it if it still runs after the grace.

        No SIGTERM: Python would die of it with the user's last prints still in its buffers.
        """
        self._connection.close()
        if grace_seconds > 0:
            await self._group.ended_within(grace_seconds)
        return await self._group.stop(0)


class ChildPool:
    """Reusable children; at most `idle_limit` of them wait for the next job."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        process_deadline: ProcessDeadline | None = None,
        messages: Any = Any,
        idle_limit: int | None = None,
    ) -> None:
        if idle_limit is not None and idle_limit < 0:
            raise UsageError(f"idle_limit must be 0 or more, got {idle_limit}")
        self._argv = list(argv)
        self._env = env
        self._cwd = cwd
        self._process_deadline = process_deadline
        self._messages = messages
        self._idle_limit = idle_limit if idle_limit is not None else os.cpu_count() or 1
        self._idle: list[Child] = []
        self._lent: set[Child] = set()
        self._closed = False

    @contextlib.asynccontextmanager
    async def lend(self) -> AsyncIterator[Child]:
        """Lend a child for one job.

        A child that is alive at the normal end of the block goes back into the pool. After an
        exception the state of the child is unknown, so it is killed, and gone before the exception
        propagates.
        """
        child = await self._idle_or_new_child()
        self._lent.add(child)
        try:
            yield child
        except BaseException:
            child.kill()
            await await_uncancelled(child.stop(0))
            raise
        finally:
            self._lent.discard(child)
        await self._return_child(child)

    async def close(self) -> None:
        """Stop every child, lent ones too, and return when all are gone."""
        self._closed = True
        for child in self._lent:
            child.kill()
        children = [*self._idle, *self._lent]
        self._idle.clear()
        await await_uncancelled(_stop_all(children))

    async def _idle_or_new_child(self) -> Child:
        self._refuse_if_closed()
        while self._idle:
            child = self._idle.pop()  # the most recently used one: its memory is warm
            if child.is_usable:
                return child
            await child.stop(0)
        child = await Child.start(
            self._argv, env=self._env, cwd=self._cwd, process_deadline=self._process_deadline,
            messages=self._messages,
        )  # fmt: skip
        try:
            self._refuse_if_closed()  # the pool may have been closed while the child started
        except NotStarted:
            await await_uncancelled(child.stop(0))
            raise
        return child

    def _refuse_if_closed(self) -> None:
        if self._closed:
            raise NotStarted("this pool of child processes is closed; its worker is stopping")

    async def _return_child(self, child: Child) -> None:
        if not child.is_usable:
            await await_uncancelled(child.stop(0))
        elif self._closed or len(self._idle) >= self._idle_limit:
            await await_uncancelled(child.stop())
        else:
            self._idle.append(child)


async def _stop_all(children: list[Child]) -> None:
    await asyncio.gather(*(child.stop() for child in children))


async def connect(messages: Any = Any) -> MessagePipe:
    """Return the connection to the worker; called in the child process.

    The variable that names the socket is removed and the socket is not inherited further, so that
    programs started by the child cannot mistake themselves for it.
    """
    number = os.environ.pop(FD_VARIABLE, None)
    if number is None:
        raise NotStarted(
            f"{FD_VARIABLE} is not set: this program is started by a Fairlane worker, not by hand"
        )
    end = socket.socket(fileno=int(number))
    end.set_inheritable(False)
    return await MessagePipe.from_socket(end, messages)
