"""Signal handling of a process that runs jobs.

* The first signal stops the process; running jobs have a grace period to finish.
* The second ends the grace period; jobs are returned to the queue.
* The third ends the process at once, as a crash would. Without it, the process waits for a thread
  that does not stop, because a job must not run twice.

SIGTERM, SIGINT and SIGHUP count; SIGHUP (a closed terminal) is ignored under nohup.
"""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import typer

from fairlane.app import Fairlane
from fairlane.engine.engine import Engine


def stopping_message(app: Fairlane) -> str:
    """Return the line that announces the grace period of running jobs."""
    grace = f"{app._stop_grace_seconds:g} s"
    return (
        f"stopping: no new jobs start; running jobs have {grace} to finish, "
        "then they return to the queue"
    )


def echo(words: str) -> None:
    """Print a line, unless the terminal is closed."""
    with suppress(OSError):
        typer.echo(words)


class ShutdownSignals:
    def __init__(self) -> None:
        self.stop_requested = asyncio.Event()
        self._engine: Engine | None = None
        self._starting = asyncio.current_task()

    @asynccontextmanager
    async def run_engine(self, app: Fairlane) -> AsyncIterator[Engine | None]:
        """Run the engine for the duration of the block; yield None if a signal came before."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
                loop.add_signal_handler(number, self._on_signal, number)
        try:
            await app.__aenter__()
        except asyncio.CancelledError:
            if not self.stop_requested.is_set():
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

    def _on_signal(self, number: int) -> None:
        if self._engine is None:
            if not self.stop_requested.is_set() and self._starting is not None:
                self._starting.cancel()
        elif self._engine.worker.grace_skipped.is_set():
            os._exit(128 + number)
        elif self.stop_requested.is_set():
            self._engine.worker.grace_skipped.set()
            echo("running jobs return to the queue now; one more signal ends the process at once")
        self.stop_requested.set()
