"""A run: a folder, a journal, and the processes on one database."""

import asyncio
import random
import shutil
import time
from asyncio.subprocess import Process
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import apsw

from chaos.checks import CHECKS, Timeline, final_states
from chaos.journal import Journal
from chaos.processes import (
    CommandRefused,
    ProcessDied,
    Program,
    end,
    environment,
    is_alive,
    start_inbox_client,
    start_ticks,
)
from chaos.result import Result

CHILDREN_SECONDS = 5.0  # within which the children of a killed program must exit
DRAIN_SECONDS = 180.0


class Run:
    def __init__(
        self,
        folder: Path,
        result: Result,
        *,
        seed: str,
        database: Path | None = None,
        slow_seconds: float | None = None,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.database = database or folder / "work.db"
        self.journal = Journal(folder / "journal")
        self.result = result
        self.rng = random.Random(seed)
        self.programs: list[Program] = []
        self.inbox_client: Process | None = None
        self._environment = environment(folder, self.database, seed)
        if slow_seconds is not None:
            self._environment["CHAOS_SLOW_SECONDS"] = str(slow_seconds)
        self._errors = (folder / "errors").open("ab")
        self._number = 0

    async def start(self, *, load: bool = True, ready: bool = True) -> Program:
        self._number += 1
        program = await Program.start(
            self._number, self.journal, self._environment, self._errors, load=load
        )
        self.programs.append(program)
        if ready:
            await program.ready()
        return program

    async def start_inbox_client(self) -> None:
        self._number += 1
        self.inbox_client = await start_inbox_client(self._number, self._environment, self._errors)

    async def stop_inbox_client(self) -> None:
        inbox_client, self.inbox_client = self.inbox_client, None
        if inbox_client is not None:
            await end(inbox_client)

    async def kill(self, program: Program) -> None:
        """Kill a program, and check that its children exit and the database is intact."""
        children = self._children(program)
        self.programs.remove(program)
        await program.kill()
        self.result.count("kills")
        # A child that was just being started may appear in the journal only now.
        await self._gone(program, {**children, **self._children(program)})
        await asyncio.to_thread(self.check_integrity)

    def _children(self, program: Program) -> dict[int, int]:
        """Return the live child processes of a program by the journal, with their start times."""
        found: dict[int, int] = {}
        for entry in self.journal.entries()[-5_000:]:
            by_a_body = entry.what in ("begin", "beat", "end")
            if by_a_body and entry.program == program.number and entry.pid != program.pid:
                ticks = start_ticks(entry.pid)
                if ticks is not None:
                    found[entry.pid] = ticks
        return found

    async def _gone(self, program: Program, children: dict[int, int]) -> None:
        began = time.monotonic()
        while left := [pid for pid, started in children.items() if is_alive(pid, started)]:
            if time.monotonic() - began > CHILDREN_SECONDS:
                self.result.problem(
                    f"processes {left} of program {program.number} live {CHILDREN_SECONDS:g} s "
                    "after it was killed"
                )
                return
            await asyncio.sleep(0.002)
        if children:
            self.result.count("children of killed programs, all gone", len(children))
            self.result.longest("seconds until children were gone", time.monotonic() - began)

    def check_integrity(self) -> None:
        """Run SQLite's integrity check without repairing the file, which the next start must do."""
        if not self.database.exists():
            return
        path = self.database
        alone = not self.programs and self.inbox_client is None
        if alone:
            # Closing the last connection would delete the log, so a copy is checked.
            path = self.folder / "copy.db"
            for ending in ("", "-wal"):
                source = self.database.with_name(self.database.name + ending)
                if source.exists():
                    shutil.copyfile(source, path.with_name(path.name + ending))
        try:
            connection = apsw.Connection(str(path))
            connection.set_busy_timeout(10_000)
            try:
                said = connection.execute("PRAGMA integrity_check").get
            finally:
                connection.close()
        except apsw.Error as error:
            said = repr(error)
        if said != "ok":
            self.result.problem(f"integrity_check says {said}")
        self.result.count("integrity checks")
        if alone:
            for ending in ("", "-wal", "-shm"):
                path.with_name(path.name + ending).unlink(missing_ok=True)

    async def command_until_acknowledged(self, verb: str, name: str, **named: Any) -> None:
        """Repeat a command until one program acknowledges it, while programs are killed.

        All commands sent in this way can be repeated safely.
        """
        unsure = False
        while True:
            alive = [program for program in self.programs if program.is_alive]
            if alive:
                try:
                    await self.rng.choice(alive).ask(verb, name, **named)
                except ProcessDied:
                    unsure = True
                except CommandRefused as error:
                    if error.code == "illegal_transition" and unsure:
                        return  # an earlier try was executed
                    if error.code not in ("store_unavailable", "undecided"):
                        raise
                    unsure = True
                else:
                    return
            await asyncio.sleep(0.01)

    async def command(self, verb: str, queue: str, key: str, value: int, **named: Any) -> None:
        """Change a setting, and record it in the journal."""
        self.journal.note("commanding", queue=queue, key=key, value=value)
        await self.command_until_acknowledged(verb, queue, **named)
        self.journal.note("commanded", queue=queue, key=key, value=value)

    async def finish(self) -> None:
        """Let all jobs end, then check the journal."""
        await self.stop_inbox_client()
        for program in list(self.programs):
            await self.kill(program)
        program = await self.start(load=False)
        try:
            async with asyncio.timeout(DRAIN_SECONDS):
                await self._drained(program)
        except TimeoutError:
            self.result.problem(f"not all jobs have ended {DRAIN_SECONDS:g} s after the last kill")
        code = await program.stop()
        self.programs.remove(program)
        if code:
            self.result.problem(f"the last program ended with the code {code}")
        self.check_integrity()
        self.judge()

    async def _drained(self, program: Program) -> None:
        """Drain until no job is live: one drain does not wait for jobs that are due later."""
        await program.ask("schedules.pause", "tick")
        while True:
            for queue in ("lanes", "turns", "desk"):
                # Repeated, because an unacknowledged pause may still be executed.
                await self.command("queues.resume", queue, "pause", 0)
            await program.ask("drain", "")
            if not self._states()[1]:
                return
            await asyncio.sleep(0.2)

    def _states(self) -> tuple[dict[str, str], list[str], int]:
        connection = apsw.Connection(str(self.database))
        connection.set_busy_timeout(10_000)
        try:
            rows = connection.execute("SELECT id, state FROM ended")
            ended = {str(id): str(state) for id, state in rows}
            live = [str(id) for (id,) in connection.execute("SELECT id FROM job")]
            dead_letters = int(connection.execute("SELECT count(*) FROM dead_letter").get)
        finally:
            connection.close()
        return ended, live, dead_letters

    def judge(self) -> None:
        timeline = Timeline(self.journal.entries())
        ended, live, dead_letters = self._states()
        lost = list(final_states(timeline, ended, live, dead_letters))
        self.result.found("lost or wrong at the end", lost)
        for name, check in CHECKS.items():
            self.result.found(name, list(check(timeline)))
        self.result.count("jobs acknowledged", len(timeline.acked))
        self.result.count("attempts begun", len(timeline.begins))
        for state, times in Counter(ended[job] for job in timeline.acked if job in ended).items():
            self.result.count(f"of the jobs {state}", times)
        for code, times in timeline.refused.items():
            self.result.count(f"refused: {code}", times)
        for entry in timeline.entries:
            if entry.what == "refused" and entry.key == "internal_error":
                self.result.problem(f"{entry.job} was answered internal_error: {entry.text}")

    async def close(self) -> None:
        """End all processes of the run, after success and failure."""
        await self.stop_inbox_client()
        for program in self.programs:
            await program.kill()
        self.programs.clear()
        self._errors.close()


async def wait_until(
    seconds: float, probe: Callable[[], bool | Awaitable[bool]], what: str
) -> None:
    """Wait for a condition that other processes fulfil; the timeout only ends a broken run."""
    until = time.monotonic() + seconds
    while True:
        found = probe()
        if found if isinstance(found, bool) else await found:
            return
        if time.monotonic() > until:
            raise TimeoutError(f"waited for {what}: not within {seconds:g} s")
        await asyncio.sleep(0.02)
