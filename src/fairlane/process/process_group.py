"""A program with all its descendants, started and ended together.

Every program is started through `supervisor.py`, which kills it with all descendants when this
process dies, freezes past its lease, or sends `kill`. This module is the worker's end of the
supervisor's control socket.

Why not asyncio's subprocesses: their child watchers depend on the loop, the thread and the Python
version, and another caller of `waitpid` can take their exit codes. The supervisor sends the status
through its socket, and a pidfd shows its end.
"""

import asyncio
import contextlib
import errno
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, Final, Self

from fairlane.errors import Permanent, Retryable, TaskError
from fairlane.runtime.clock import BOOT_CLOCK, boot_seconds
from fairlane.runtime.threads import await_uncancelled

SUPERVISOR: Final = str(Path(__file__).resolve().with_name("supervisor.py"))
POLL_SECONDS: Final = 0.05  # where there is no pidfd

Argument = str | os.PathLike[str]


class ProcessDeadline:
    """The deadline of all programs of a worker, which is the end of its lease; thread-safe.

    `renew(deadline)` takes an instant of `boot_seconds()`. The supervisors kill their programs when
    the newest deadline passes, even if this process is frozen by then. `missed` counts the
    deadlines that passed before the next one was set.
    """

    def __init__(self, deadline: float | None = None) -> None:
        self.deadline = deadline
        self._missed = 0
        self._lock = threading.Lock()
        self._groups: weakref.WeakSet[ProcessGroup] = weakref.WeakSet()

    @property
    def has_passed(self) -> bool:
        return self.deadline is not None and boot_seconds() >= self.deadline

    @property
    def missed(self) -> int:
        return self._missed + self.has_passed

    def renew(self, deadline: float) -> None:
        with self._lock:
            self._missed = self.missed
            self.deadline = deadline
            for group in self._groups:
                group.renew(deadline)

    def add(self, group: "ProcessGroup") -> None:
        with self._lock:
            self._groups.add(group)
            if self.deadline is not None:
                group.renew(self.deadline)

    def remove(self, group: "ProcessGroup") -> None:
        with self._lock:
            self._groups.discard(group)


class ProcessGroup:
    """A program and all its descendants, as the worker sees them."""

    def __init__(self, process: subprocess.Popen[bytes], control: socket.socket) -> None:
        self.pid = 0  # the program's, also the id of its process group
        self._loop = asyncio.get_running_loop()
        self._process = process
        self._control = control
        self._control_lock = threading.Lock()  # renewals come from another thread
        self._unread = b""
        self._status: int | None = None
        self._failure = 0
        self._started: asyncio.Future[None] = self._loop.create_future()
        self._ended: asyncio.Future[int] = self._loop.create_future()
        self._process_deadline: ProcessDeadline | None = None
        self._pidfd: int | None = None
        self._watch()

    @classmethod
    async def start(
        cls,
        argv: Sequence[Argument],
        *,
        cwd: Argument | None = None,
        env: Mapping[str, str] | None = None,
        stdin: int | IO[bytes] | None = subprocess.DEVNULL,
        stdout: int | IO[bytes] | None = None,
        stderr: int | IO[bytes] | None = None,
        fds: Iterable[int] = (),
        process_deadline: ProcessDeadline | None = None,
    ) -> Self:
        """Return once the program runs; `fds` stay open in it under their numbers."""
        arguments = _check_arguments(argv)
        folder = _check_folder(cwd)
        executable = _find_executable(arguments[0], cwd=folder, env=env)
        inherited = tuple(fds)
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        facts = (theirs.fileno(), os.getpid(), BOOT_CLOCK, ",".join(map(str, inherited)))
        try:
            # Popen returns after the exec of the supervisor, in about a millisecond.
            process = subprocess.Popen(  # noqa: ASYNC220, S603
                [sys.executable, "-I", "-S", SUPERVISOR, *map(str, facts), executable, *arguments],
                cwd=folder,
                env=env,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                pass_fds=(theirs.fileno(), *inherited),
                start_new_session=True,
            )
        except OSError as error:
            ours.close()
            raise _start_error(arguments[0], error.errno or 0) from error
        finally:
            theirs.close()
        group = cls(process, ours)
        if process_deadline is not None:
            group._process_deadline = process_deadline
            process_deadline.add(group)
        try:
            await asyncio.shield(group._started)
        except BaseException:
            group.kill()
            await await_uncancelled(group.ended())
            raise
        if not group.pid:
            await await_uncancelled(group.ended())
            raise _start_error(arguments[0], group._failure)
        return group

    @property
    def has_ended(self) -> bool:
        return self._ended.done()

    async def ended(self) -> int:
        """Wait until the program and every descendant are gone; a negative code is a signal."""
        return await asyncio.shield(self._ended)

    async def ended_within(self, seconds: float) -> bool:
        await asyncio.wait([self._ended], timeout=seconds)
        return self._ended.done()

    def when_ended(self, callback: Callable[[], None]) -> None:
        self._ended.add_done_callback(lambda _: callback())

    def terminate(self) -> None:
        self._send("term")

    def kill(self) -> None:
        self._send("kill")

    def renew(self, deadline: float) -> None:
        self._send(f"lease {deadline!r}")

    async def stop(self, grace_seconds: float) -> int:
        """Send SIGTERM, kill the rest after the grace, and return when all are gone."""
        if grace_seconds > 0:
            self.terminate()
            await self.ended_within(grace_seconds)
        self.kill()
        return await self.ended()

    def _send(self, line: str) -> None:
        # A full or broken socket belongs to a supervisor that is about to end.
        with self._control_lock, contextlib.suppress(OSError):
            self._control.send(line.encode() + b"\n")

    def _watch(self) -> None:
        self._loop.add_reader(self._control.fileno(), self._read_status)
        try:
            self._pidfd = os.pidfd_open(self._process.pid)
        except (AttributeError, OSError):  # not Linux, or an old one
            self._poll_supervisor()
        else:
            self._loop.add_reader(self._pidfd, self._supervisor_gone)

    def _poll_supervisor(self) -> None:
        if self._process.poll() is None:
            self._loop.call_later(POLL_SECONDS, self._poll_supervisor)
        else:
            self._supervisor_gone()

    def _read_status(self) -> bool:
        """Read lines from the supervisor; return whether more may follow."""
        try:
            received = self._control.recv(4096)
        except BlockingIOError:
            return False
        except OSError:
            received = b""
        if not received:
            self._loop.remove_reader(self._control.fileno())
            return False
        *lines, self._unread = (self._unread + received).split(b"\n")
        for line in lines:
            word, _, number = line.partition(b" ")
            if word == b"started":
                self.pid = int(number)
                self._report_started()
            elif word == b"failed":
                self._failure = int(number)
                self._report_started()
            else:
                self._status = int(number) if word == b"exited" else -int(number)
        return True

    def _report_started(self) -> None:
        if not self._started.done():
            self._started.set_result(None)

    def _supervisor_gone(self) -> None:
        while self._read_status():
            pass
        self._loop.remove_reader(self._control.fileno())
        if self._pidfd is not None:
            self._loop.remove_reader(self._pidfd)
            os.close(self._pidfd)
        if self._process_deadline is not None:
            self._process_deadline.remove(self)
        with self._control_lock:
            self._control.close()
        supervisor_code = self._process.wait()
        if self._status is None:
            # The supervisor was killed, and the kernel killed the program; kill its group as well.
            self._status = supervisor_code if supervisor_code < 0 else -signal.SIGKILL
            if self.pid:
                with contextlib.suppress(OSError):
                    os.killpg(self.pid, signal.SIGKILL)
        self._report_started()
        self._ended.set_result(self._status)


def _check_arguments(argv: Sequence[Argument]) -> list[str]:
    if isinstance(argv, str | bytes):
        raise Permanent(
            f"a program is started from a list of arguments, got the text {argv!r}; no shell "
            'splits it, so pass e.g. ["ffmpeg", "-i", path]',
            code="program_bad_arguments",
        )
    arguments = []
    for number, argument in enumerate(argv):
        try:
            text = os.fspath(argument)
            has_nul = "\0" in text
        except TypeError:  # neither, or bytes
            raise Permanent(
                f"argument {number} of a program must be text or a path, got {argument!r}; "
                "convert it with str()",
                code="program_bad_arguments",
            ) from None
        if has_nul:
            raise Permanent(
                f"argument {number} of a program holds a NUL character, which no program can "
                f"receive: {text!r}",
                code="program_bad_arguments",
            )
        arguments.append(text)
    if not arguments or not arguments[0]:
        raise Permanent(
            f"a program needs at least its name, got {list(argv)!r}", code="program_bad_arguments"
        )
    return arguments


def _check_folder(cwd: Argument | None) -> str | None:
    if cwd is None:
        return None
    folder = os.fspath(cwd)
    if "\0" in folder or not Path(folder).is_dir():
        raise Permanent(
            f"the working folder {folder!r} of a program does not exist; create it first",
            code="program_folder_missing",
            cwd=folder,
        )
    return folder


def _find_executable(name: str, *, cwd: str | None, env: Mapping[str, str] | None) -> str:
    """Return the file to execute, searched on the PATH of the program's environment."""
    if os.sep in name:
        path = Path(cwd or "", name)
        if not path.exists():
            raise _start_error(name, errno.ENOENT)
        if path.is_dir() or not os.access(path, os.X_OK):
            raise _start_error(name, errno.EACCES)
        return name
    search = (os.environ if env is None else env).get("PATH", os.defpath)
    executable = shutil.which(name, path=search)
    if executable is None:
        raise _start_error(name, errno.ENOENT)
    return str(Path(executable).absolute())


def _start_error(name: str, number: int) -> TaskError:
    if number == errno.ENOENT:
        return Permanent(
            f'the program "{name}" was not found (or, if it is a script, its interpreter); '
            "install it, add its folder to PATH or pass its full path",
            code="program_missing",
            program=name,
        )
    if number in (errno.EACCES, errno.EPERM, errno.ENOEXEC, errno.EISDIR):
        return Permanent(
            f'"{name}" cannot be executed ({os.strerror(number)}); it must be a program this user '
            "may execute, or a script that begins with #! and is marked executable",
            code="program_not_executable",
            program=name,
        )
    if number == errno.E2BIG:
        return Permanent(
            f'the arguments and environment of "{name}" are too long for this system; pass them in '
            "a file or through `input`",
            code="program_bad_arguments",
            program=name,
        )
    reason = os.strerror(number) if number else "its supervisor was killed"
    return Retryable(
        f'the program "{name}" could not be started: {reason}', code="program_not_started"
    )
