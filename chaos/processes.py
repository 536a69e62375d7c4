"""The driver's side of its processes: start, command and kill them."""

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, Self

import fairlane
from chaos.journal import Journal

READY_SECONDS = 60.0


class ProcessDied(Exception):
    """The process died before it answered, so the result of the command is unknown."""


class CommandRefused(Exception):
    """The error that the program's call raised."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code


class ChildProcess:
    """A child process of the driver, with its number in the journal."""

    def __init__(self, process: Process, number: int, journal: Journal) -> None:
        self._process = process
        self._journal = journal
        self.number = number

    @property
    def is_alive(self) -> bool:
        return self._process.returncode is None

    @property
    def pid(self) -> int:
        return self._process.pid

    async def ended(self) -> int:
        """Wait until the process has exited; return its exit code."""
        return await self._process.wait()

    async def kill(self) -> None:
        self._journal.note("killed", program=self.number)
        await end(self._process)
        self._journal.note("dead", program=self.number)


class Program(ChildProcess):
    """A running `chaos.program_main`, or another module with the same protocol."""

    def __init__(self, process: Process, number: int, journal: Journal) -> None:
        super().__init__(process, number, journal)
        self._numbers = iter(range(1, 1_000_000))
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._ready = asyncio.get_running_loop().create_future()
        self._reading = asyncio.create_task(self._read())

    @classmethod
    async def start(
        cls, number: int, journal: Journal, environment: dict[str, str], errors: IO[bytes],
        *, load: bool, module: str = "chaos.program_main", within: Sequence[str] = (),
    ) -> Self:  # fmt: skip
        """Start the program; `within` is a command prefix that runs it in another network."""
        process = await asyncio.create_subprocess_exec(
            *(*within, sys.executable, "-m", module, *(["load"] if load else [])),
            stdin=PIPE, stdout=PIPE, stderr=errors,
            env={**environment, "CHAOS_PROGRAM": str(number)},
        )  # fmt: skip
        return cls(process, number, journal)

    async def ready(self) -> None:
        """Wait until the engine of the program runs."""
        async with asyncio.timeout(READY_SECONDS):
            await self._ready

    async def _read(self) -> None:
        assert self._process.stdout is not None
        while line := await self._process.stdout.readline():
            message = json.loads(line)
            if "ready" in message:
                self._ready.set_result(None)
            else:
                answer = self._answers.pop(message.pop("number"))
                if not answer.done():  # the caller may have been cancelled
                    answer.set_result(message)
        for waiting in (self._ready, *self._answers.values()):
            if not waiting.done():
                waiting.set_exception(ProcessDied())
                waiting.exception()  # mark it as retrieved, because it may have no waiter

    async def ask(self, verb: str, name: str, **named: Any) -> Any:
        """Execute a command in the program; raise if it was refused, or if the program died
        meanwhile."""
        number = next(self._numbers)
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._answers[number] = answer
        if self._reading.done():
            raise ProcessDied
        assert self._process.stdin is not None
        message = {"number": number, "verb": verb, "name": name, "named": named}
        try:
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            await self._process.stdin.drain()
        except OSError as error:
            raise ProcessDied from error
        said = await answer
        if "problem" in said:
            raise CommandRefused(said["problem"], said["message"])
        return said.get("value")

    async def kill(self) -> None:
        await super().kill()
        await self._reading

    async def stop(self) -> int:
        """Stop the program cleanly."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        async with asyncio.timeout(READY_SECONDS):
            code = await self._process.wait()
        await self._reading
        return code


async def end(process: Process) -> None:
    """Kill a process and wait until it has exited.

    The signal is sent directly: the process object would first poll whether it has exited, and take
    away the exit status that the loop waits for.
    """
    if process.returncode is None:
        try:
            os.kill(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass  # it has just exited
    await process.wait()


async def start_inbox_client(
    number: int, environment: dict[str, str], errors: IO[bytes]
) -> Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "chaos.inbox_client"),
        stdin=DEVNULL, stdout=DEVNULL, stderr=errors,
        env={**environment, "CHAOS_PROGRAM": str(number)},
    )  # fmt: skip


def environment(folder: Path, database: Path | str, seed: str) -> dict[str, str]:
    """Return the environment with which a process finds Fairlane, this package and its folder."""
    places = [Path(fairlane.__path__[0]).parent, Path(__file__).parent.parent]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(map(str, places)),
        "CHAOS_FOLDER": str(folder),
        "CHAOS_DATABASE": str(database),
        "CHAOS_SEED": seed,
    }


def is_alive(pid: int, started: int | None = None) -> bool:
    """Return whether a process runs; `started` distinguishes it from a later one with the same
    pid."""
    ticks = start_ticks(pid)
    return ticks is not None and started in (None, ticks)


def start_ticks(pid: int) -> int | None:
    """Return the start time of a process in kernel ticks; None if it has exited or is a zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] in "ZX" else int(fields[19])
