"""The test's side of `process_app.py`: start, command and kill it."""

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from pathlib import Path
from typing import Any, Self

import fairlane
from tests.support import process_journal
from tests.support.eventually import eventually
from tests.support.process_journal import Entry
from tests.support.programs_processes import SUPPORT


def environment(**more: str) -> dict[str, str]:
    """Return the environment with which a script finds Fairlane and the tests."""
    package = Path(fairlane.__path__[0]).parent
    paths = os.pathsep.join([str(package), str(SUPPORT.parent.parent)])
    return {**os.environ, "PYTHONPATH": paths, **more}


class Refused(Exception):
    """The error that the program's call raised."""

    def __init__(self, problem: dict[str, Any]) -> None:
        super().__init__(f"{problem['type']}: {problem['message']}")
        self.type = problem["type"]
        self.facts = problem["facts"]


class Program:
    """A running `process_app.py`."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._numbers = iter(range(1, 1_000_000))
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._ready = asyncio.Event()
        self.stopped_cleanly = False
        self._reading = asyncio.create_task(self._read())

    @classmethod
    async def start(cls, folder: Path, database: Path, *options: str) -> Self:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            str(SUPPORT / "process_app.py"),
            *options,
            stdin=PIPE,
            stdout=PIPE,
            limit=2**20,
            env=environment(PROCESS_APP_FOLDER=str(folder), PROCESS_APP_DATABASE=str(database)),
        )
        return cls(process)

    async def ready(self) -> Self:
        async with asyncio.timeout(20):
            await self._ready.wait()
        return self

    async def _read(self) -> None:
        assert self._process.stdout is not None
        while line := await self._process.stdout.readline():
            message = json.loads(line)
            if "ready" in message:
                self._ready.set()
            elif "stopped" in message:
                self.stopped_cleanly = True
            else:
                waiting = self._answers.pop(message["number"])
                if waiting.done():
                    continue
                if "problem" in message:
                    waiting.set_exception(Refused(message["problem"]))
                else:
                    waiting.set_result(message["answer"])
        for waiting in self._answers.values():
            if not waiting.done():
                waiting.set_exception(EOFError("the program has ended"))
                waiting.exception()  # mark it as retrieved, because it may have no waiter

    @property
    def pid(self) -> int:
        return self._process.pid

    def begin(self, command: str, **arguments: Any) -> asyncio.Future[Any]:
        """Send a command; return the future of its answer."""
        assert self._process.stdin is not None
        number = next(self._numbers)
        waiting: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._answers[number] = waiting
        message = {"number": number, "command": command, "arguments": arguments}
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        return waiting

    async def ask(self, command: str, **arguments: Any) -> Any:
        async with asyncio.timeout(30):
            return await self.begin(command, **arguments)

    async def submit(self, task: str, options: dict[str, Any] | None = None, **params: Any) -> str:
        return str(await self.ask("submit", task=task, params=params, options=options or {}))

    async def state(self, job: str) -> str:
        return str((await self.ask("show", job=job))["state"])

    async def leads(self) -> None:
        await eventually(lambda: self.ask("is_leading"), what="this program's turn to lead")

    def send(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    async def kill(self) -> None:
        """Kill the program with SIGKILL."""
        if self._process.returncode is None:
            self._process.kill()
        await self.ended()

    async def stop(self) -> None:
        """Stop the program cleanly."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        await self.ended()

    async def ended(self) -> int:
        async with asyncio.timeout(30):
            code = await self._process.wait()
            await self._reading
        return code


class Bench:
    """A folder with a database, a journal and gates, and the programs that use it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.database = folder / "work.db"
        self.journal = folder / "journal"
        (folder / "gates").mkdir()
        self._programs: list[Program] = []

    async def program(self, *options: str) -> Program:
        program = await Program.start(self.folder, self.database, *options)
        self._programs.append(program)
        return await program.ready()

    def open(self, gate: str) -> None:
        (self.folder / "gates" / gate).touch()

    def entries(self, what: str | None = None) -> list[Entry]:
        return process_journal.read(self.journal, what)

    def names(self, what: str) -> list[str]:
        return process_journal.names(self.journal, what)

    async def written(self, what: str, name: str, times: int = 1) -> None:
        """Wait until the journal has so many entries of this name."""
        await eventually(
            lambda: self.names(what).count(name) >= times,
            what=f"{what} of {name}, {times} times,",
        )

    async def written_lines(self, number: int) -> None:
        await eventually(
            lambda: len(self.entries()) >= number, what=f"line {number} of the journal"
        )

    async def close(self) -> None:
        for program in self._programs:
            await program.kill()
