"""A supervised process of the cluster: when it exits, the next one is started."""

import asyncio
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Final, Literal, Self

from chaos.journal import Journal
from chaos.processes import READY_SECONDS, ChildProcess, ProcessDied, Program
from chaos.result import Result

LEASE_LOST: Final = 70  # the exit code of a process that could neither renew its lease nor stop
PAUSE_SECONDS: Final = 0.2  # before another start, if the last one failed

Kind = Literal["engine", "worker"]


class WorkerProgram(ChildProcess):
    """A running `fairlane work`."""

    @classmethod
    async def start(
        cls, number: int, journal: Journal, environment: dict[str, str], errors: IO[bytes],
        *, within: Sequence[str] = (),
    ) -> Self:  # fmt: skip
        process = await asyncio.create_subprocess_exec(
            *(*within, sys.executable, "-m", "fairlane", "work", "chaos.postgres.program:app"),
            stdin=DEVNULL, stdout=PIPE, stderr=errors,
            env={**environment, "CHAOS_PROGRAM": str(number)},
        )  # fmt: skip
        return cls(process, number, journal)

    async def ready(self) -> None:
        """Wait until the worker prints that it is ready."""
        assert self._process.stdout is not None
        async with asyncio.timeout(READY_SECONDS):
            if not await self._process.stdout.readline():
                raise ProcessDied

    async def stop(self) -> int:
        self._process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(READY_SECONDS):
            return await self._process.wait()


class SupervisedProcess:
    """An engine or a worker under supervision, in this network or inside another one."""

    def __init__(
        self, name: str, kind: Kind, *, folder: Path, journal: Journal, result: Result,
        environment: Mapping[str, str], next_number: Callable[[], int],
        was_away: Callable[[int], bool], within: Sequence[str] = (),
    ) -> None:  # fmt: skip
        self.name = name
        self.kind = kind
        self.is_inside = bool(within)
        self.load = kind == "engine"
        self.is_busy = False  # a fault is being injected
        self.is_ready = asyncio.Event()
        self.process: Program | WorkerProgram | None = None
        self._folder = folder
        self._journal = journal
        self._result = result
        self._environment = dict(environment)
        self._next_number = next_number
        self._was_away = was_away  # whether the server was down since a given time
        self._within = within
        self._expected = False  # the exit of the process is expected
        self._closing = False
        self._supervisor: asyncio.Task[None] | None = None

    def start_supervision(self) -> None:
        self._supervisor = asyncio.create_task(self._supervise())

    async def _supervise(self) -> None:
        while not self._closing:
            number = self._next_number()
            with (self._folder / f"{self.name}.{number}.log").open("ab") as errors:
                process = await self._start(number, errors)
            self._expected, self.process = False, process
            started_at = self._journal.note("started", program=number, text=self.name).at
            was_ready = await self._get_ready(process)
            code = await process.ended()
            self.is_ready.clear()
            self._journal.note("dead", program=number, value=code)
            excused = not was_ready and (self.is_busy or self._was_away(started_at))
            self._judge(number, code, excused=excused)
            if not was_ready:
                await asyncio.sleep(PAUSE_SECONDS)

    async def _start(self, number: int, errors: IO[bytes]) -> Program | WorkerProgram:
        if self.kind == "worker":
            return await WorkerProgram.start(
                number, self._journal, self._environment, errors, within=self._within
            )
        return await Program.start(
            number, self._journal, self._environment, errors, load=self.load,
            module="chaos.postgres.program_main", within=self._within,
        )  # fmt: skip

    async def _get_ready(self, process: Program | WorkerProgram) -> bool:
        try:
            await process.ready()
        except ProcessDied:
            return False
        except TimeoutError:
            self._result.problem(f"process {process.number} ({self.name}) did not get ready")
            await process.kill()
            return False
        self.is_ready.set()
        return True

    def _judge(self, number: int, code: int, *, excused: bool) -> None:
        if self._expected:
            return
        if excused:
            self._result.count("starts while the database was away")
        elif code == LEASE_LOST:
            self._result.count("processes that ended themselves in time")
        else:
            self._result.problem(f"process {number} ({self.name}) ended with the code {code}")

    @property
    def number(self) -> int:
        return 0 if self.process is None else self.process.number

    @property
    def pid(self) -> int:
        return 0 if self.process is None else self.process.pid

    @property
    def is_free(self) -> bool:
        return self.is_ready.is_set() and not self.is_busy

    async def ask(self, verb: str, name: str = "", **named: Any) -> Any:
        if not isinstance(self.process, Program):
            raise ProcessDied
        return await self.process.ask(verb, name, **named)

    async def kill(self) -> None:
        """Kill the process; the supervisor starts the next one at once."""
        assert self.process is not None
        self._expected = True
        self.is_ready.clear()
        await self.process.kill()

    def signal(self, number: signal.Signals) -> None:
        try:
            os.kill(self.pid, number)
        except ProcessLookupError:
            pass  # it has exited, and the supervisor judges its exit code

    async def stop_supervision(self) -> None:
        """Stop the process cleanly, and start no other."""
        self._closing = self._expected = True
        if self.process is not None and self.is_ready.is_set():
            code = await self.process.stop()
            if code:
                self._result.problem(f"process {self.number} ({self.name}) stopped with {code}")
        await self.close()

    async def close(self) -> None:
        """Kill the process and end supervision, after success and failure."""
        self._closing = self._expected = True
        if self._supervisor is not None:
            self._supervisor.cancel()
            await asyncio.gather(self._supervisor, return_exceptions=True)
        if self.process is not None and self.process.is_alive:
            await self.process.kill()
