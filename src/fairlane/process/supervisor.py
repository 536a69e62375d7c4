"""A small program between a worker and every program it starts.

    python -I -S supervisor.py CONTROL_FD WORKER_PID CLOCK FDS EXECUTABLE ARGV…

A worker that is killed or frozen cannot stop its programs; without the supervisor its ffmpeg
would live on and overlap the next attempt. The supervisor runs in a separate session, starts the
program in a separate process group, and adopts every descendant that loses its parent (it is their
subreaper), so that it also finds a daemon that left the group with `setsid`. It ends when all are
gone.

The control socket carries lines. From the worker:

    lease SECONDS    kill all at this instant (absolute, on CLOCK: a line that waited in the
                     socket while the machine slept must not count from when it is read)
    term             SIGTERM to all; descendants that outlive the program get time to end
    kill             SIGKILL to all

To the worker: `started PID` or `failed ERRNO`, then `exited CODE` or `signalled NUMBER`.

The end of the socket, the death of the worker and a missed deadline have the effect of `kill`. The
socket alone does not show the death of the worker, because a process that the worker forked keeps
its end open.

This file has few imports: it is started for each program, and `signal` and `ctypes` alone would
double the 15 ms that it takes. Without /proc (macOS) it reaches the process group of the program,
but no descendant that left the group.
"""

import os
import select
import sys
import time

try:
    import _signal as signal  # type: ignore[import-not-found, unused-ignore]
except ImportError:  # another Python than CPython
    import signal  # type: ignore[no-redef, unused-ignore]

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
SWEEP_SECONDS = 0.02  # between two rounds of killing; a round can miss a process being forked
CHECK_SECONDS = 0.5  # poll() does not count the time that the machine slept; the clock does
HAS_PROC = os.access("/proc/self/stat", os.R_OK)


class Supervisor:
    def __init__(self, *, control: int, worker: int, clock: int) -> None:
        self.control = control
        self.worker = worker
        self.clock = clock  # the id of the clock that deadlines are on, see runtime/clock.py
        self.program = 0
        self.status = ""  # how the program ended, once it has
        self.deadline: float | None = None
        self.terminating = False
        self.killing = False
        self.rounds = 0
        self.unread = b""
        self.wakeup, wake = os.pipe()
        os.set_blocking(self.wakeup, False)
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        self.worker_fd = _pidfd(worker)

    def run(self, executable: str, argv: list[str], inherited: list[int]) -> int:
        """Run the program and return its exit code as a shell would; the socket has the details."""
        if not self.worker_lives():
            return 127
        failure = self.start(executable, argv)
        if failure:
            self.send(f"failed {failure}")
            return 127
        self.send(f"started {self.program}")
        # The readers of the program's output must see it end with the program.
        _close_inherited(inherited)
        while self.reap():
            # EPERM: the rest belongs to another user, so give up. But macOS also answers EPERM for
            # a group of zombies, so reap them first.
            if self.killing and not self.signal_all(signal.SIGKILL) and self.reap():
                break
            self.wait()
            if self.is_abandoned():
                self.killing = True
        self.send(self.status or f"signalled {int(signal.SIGKILL)}")
        word, _, number = self.status.partition(" ")
        return int(number) if word == "exited" else 128 + int(number or signal.SIGKILL)

    def wait(self) -> None:
        """Wait for a signal, a line from the worker, its death or the next check."""
        poller = select.poll()
        poller.register(self.wakeup, select.POLLIN)
        if not self.killing:  # once killing, lines of the worker change nothing
            poller.register(self.control, select.POLLIN)
            if self.worker_fd is not None:
                poller.register(self.worker_fd, select.POLLIN)
        for fd, _ in poller.poll(self.wait_milliseconds()):
            if fd == self.control:
                self.read_commands()
            elif fd == self.wakeup:
                os.read(self.wakeup, 4096)

    def start(self, executable: str, argv: list[str]) -> int:
        """Start the program; return 0, or the errno of the failure."""
        supervisor = os.getpid()
        failures, report = os.pipe()  # exec closes it, so an empty pipe means success
        self.program = os.fork()
        if self.program == 0:
            try:
                os.setpgid(0, 0)
                # When the supervisor itself is killed, the kernel kills at least the program.
                _prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL))
                if os.getppid() != supervisor:
                    os._exit(127)
                for name in (
                    "SIGPIPE",
                    "SIGXFSZ",
                ):  # Python ignores them, and exec would pass that on
                    signal.signal(getattr(signal, name), signal.SIG_DFL)
                os.execv(executable, argv)  # noqa: S606 - no shell is the point
            except OSError as error:
                os.write(report, str(error.errno).encode())
            finally:
                os._exit(127)
        os.close(report)
        failure = os.read(failures, 16)
        os.close(failures)
        return int(failure or b"0")

    def reap(self) -> bool:
        """Reap dead children, also adopted ones; return whether a child is left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self.program:
                code = os.waitstatus_to_exitcode(status)
                self.status = f"signalled {-code}" if code < 0 else f"exited {code}"
                if not self.terminating:
                    self.killing = True
                if not HAS_PROC:
                    # Without a subreaper no descendant is adopted; only the group can be reached.
                    _signal_group(pid, signal.SIGKILL)

    def signal_all(self, number: int) -> bool:
        """Signal every descendant; return whether one of them may be signalled.

        Groups are signalled as a whole where possible: a fork cannot outrun that. A group other
        than the supervisor's with a descendant in it holds descendants only, since a process cannot
        join a group of another session.
        """
        family = _descendants(os.getpid())
        own_group = os.getpgrp()
        groups = {group for _, group in family} - {own_group}
        if not self.status:
            groups.add(self.program)
        reached = [_signal_group(group, number) for group in groups]
        for pid, group in family:
            if group == own_group:
                reached.append(_signal_process(pid, number))
        return any(reached)

    def read_commands(self) -> None:
        try:
            received = os.read(self.control, 4096)
        except OSError:
            received = b""
        if not received:
            self.killing = True
            return
        *lines, self.unread = (self.unread + received).split(b"\n")
        for line in lines:
            word, _, rest = line.partition(b" ")
            if word == b"lease":
                self.deadline = float(rest)
            elif word == b"term":
                self.terminating = True
                self.signal_all(signal.SIGTERM)
                self.signal_all(signal.SIGCONT)  # a stopped process could not act on SIGTERM
            elif word == b"kill":
                self.killing = True

    def is_abandoned(self) -> bool:
        expired = self.deadline is not None and time.clock_gettime(self.clock) >= self.deadline
        return expired or not self.worker_lives()

    def worker_lives(self) -> bool:
        return os.getppid() == self.worker

    def wait_milliseconds(self) -> float | None:
        if self.killing:
            # A process stuck in the kernel can take long to die; do not use a whole core meanwhile.
            self.rounds += 1
            return min(SWEEP_SECONDS * self.rounds, CHECK_SECONDS) * 1000
        if self.deadline is not None:
            left = max(0.0, self.deadline - time.clock_gettime(self.clock))
            return min(left, CHECK_SECONDS) * 1000 + 1
        return CHECK_SECONDS * 1000 if self.worker_fd is None else None

    def send(self, line: str) -> None:
        try:
            os.write(self.control, line.encode() + b"\n")
        except OSError:  # the worker has closed its end
            self.killing = True


def _descendants(root: int) -> list[tuple[int, int]]:
    """Return every process below `root` with its group; empty where there is no /proc."""
    children: dict[int, list[tuple[int, int]]] = {}
    for name in os.listdir("/proc") if HAS_PROC else ():  # noqa: PTH208 - pathlib is slow to import
        if not name.isdigit():
            continue
        try:
            fd = os.open(f"/proc/{name}/stat", os.O_RDONLY)
        except OSError:
            continue
        try:
            # The second field, the program's name in brackets, may hold blanks and brackets.
            fields = os.read(fd, 4096).rpartition(b")")[2].split()
        except OSError:
            continue
        finally:
            os.close(fd)
        children.setdefault(int(fields[1]), []).append((int(name), int(fields[2])))
    descendants = list(children.get(root, ()))
    for pid, _ in descendants:  # the list grows while it is walked
        descendants.extend(children.get(pid, ()))
    return descendants


def _signal_group(group: int, number: int) -> bool:
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return True


def _signal_process(pid: int, number: int) -> bool:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return True


def _pidfd(pid: int) -> int | None:
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None


def _prctl(option: int, value: int) -> None:
    """Call prctl where the system has it; without it the process group must suffice."""
    try:
        import _ctypes

        itself = _ctypes.dlopen(None, os.RTLD_NOW)  # type: ignore[arg-type]  # NULL is meant
        function = _ctypes.dlsym(itself, "prctl")
        _ctypes.call_function(function, (option, value, 0, 0, 0))
    except (ImportError, AttributeError, OSError):
        pass


def _close_inherited(inherited: list[int]) -> None:
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    os.close(null)
    for fd in inherited:
        os.close(fd)


def _ignore(number: int, frame: object) -> None:
    """Ignore a signal by a handler instead of SIG_IGN: exec resets it for the program."""


def main() -> int:
    control, worker, clock = map(int, sys.argv[1:4])
    inherited = [int(fd) for fd in sys.argv[4].split(",") if fd]
    signal.pthread_sigmask(signal.SIG_SETMASK, ())  # a thread of the worker may block signals
    for name in ("SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGCHLD"):
        signal.signal(getattr(signal, name), _ignore)
    if os.getsid(0) != os.getpid():
        os.setsid()
    os.set_inheritable(control, False)
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    supervisor = Supervisor(control=control, worker=worker, clock=clock)
    return supervisor.run(sys.argv[5], sys.argv[6:], inherited)


if __name__ == "__main__":
    # Skip the interpreter's shutdown: the worker waits for the end of this process.
    os._exit(main())
