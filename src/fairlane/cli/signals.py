"""What signals mean to a process that runs jobs.

The first: stop, and let what runs have its grace. The second: no more grace. The third: end at
once, as a crash would; a thread that does not stop is otherwise waited for, because nothing may run
twice. A terminal that is closed is a signal too, except to who was started with nohup.
"""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import typer

from fairlane.app import Fairlane
from fairlane.engine.engine import Engine


def farewell(app: Fairlane) -> str:
    """Say what happens to what runs."""
    grace = f"{app._stop_grace_seconds:g} s"
    return f"stopping: nothing new begins; what runs has {grace} to finish, then it is put back"


def say(words: str) -> None:
    """Say something, if anybody is left to hear it."""
    with suppress(OSError):  # the terminal may be gone
        typer.echo(words)


class Stopping:
    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self._engine: Engine | None = None
        self._starting = asyncio.current_task()

    @asynccontextmanager
    async def running(self, app: Fairlane) -> AsyncIterator[Engine | None]:
        """Run the engine for as long as the block lasts; None if it was stopped before."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
                loop.add_signal_handler(number, self._hear, number)
        try:
            await app.__aenter__()
        except asyncio.CancelledError:
            if not self.asked.is_set():
                raise
            yield None
            return
        self._engine = app._engine
        try:
            yield self._engine
        except BaseException as error:
            await app.__aexit__(type(error), error, error.__traceback__)
            raise
        await app.__aexit__(None, None, None)

    def _hear(self, number: int) -> None:
        if self._engine is None:
            if not self.asked.is_set() and self._starting is not None:
                self._starting.cancel()
        elif self._engine.worker.grace_skipped.is_set():
            os._exit(128 + number)
        elif self.asked.is_set():
            self._engine.worker.grace_skipped.set()
            say("what runs is handed back now; one more signal ends the process at once")
        self.asked.set()
