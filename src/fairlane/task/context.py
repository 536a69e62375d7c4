"""The context of a job, as its task function sees it.

`Context` is for async functions, `SyncContext` for plain ones; they differ only in how they wait.
Both send reports and requests through a `WorkerLink`: to the worker in this process, or, in a child
process, through a socket.
"""

import asyncio
import concurrent.futures
import os
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from concurrent.futures import Executor, Future
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct

from fairlane.core.live_job import JobId
from fairlane.process.process_group import ProcessDeadline
from fairlane.process.program import ProgramResult, run_program
from fairlane.runtime.storable_text import storable
from fairlane.runtime.threads import await_thread_end
from fairlane.store.views import Artifact
from fairlane.task.attempt_outputs import OutputPublisher
from fairlane.task.attempt_report import AttemptReport, Checkpoint
from fairlane.task.stage_operations import AsyncOperations, BlockingOperations, StageOperations
from fairlane.task.stage_runner import StageRunner
from fairlane.task.stages import Stage, SyncStage
from fairlane.task.worker_link import WorkerLink


class JobFacts(Struct, frozen=True, kw_only=True):
    """The job of a context, as `ctx.job`."""

    id: JobId
    task: str
    queue: str
    lane: str | None
    kind: str
    attempt: int
    meta: dict[str, Any]
    jitter: bool = True  # whether backoffs of stages have their jitter


class JobContext:
    """The methods of a context that never wait, the same for async and plain functions."""

    def __init__(
        self,
        job: JobFacts,
        link: WorkerLink,
        report: AttemptReport,
        publisher: OutputPublisher,
        stored_values: dict[str, str],
        loop: asyncio.AbstractEventLoop,
        process_deadline: ProcessDeadline | None = None,
        threads: Executor | None = None,
    ) -> None:
        self.job = job
        self.attempt = job.attempt
        self.device: Any = None  # the driver of the device that the job runs on
        self._link = link
        self._report = report
        self._publisher = publisher
        self._stored_values = stored_values
        self._loop = loop
        self._process_deadline = process_deadline
        self._threads = threads
        self._stop = threading.Event()
        self._begun: set[str] = set()  # the names of the stages that this attempt has run
        self._leftovers: list[Future[Any]] = []  # threads that still run after their time-out

    @property
    def stopping(self) -> bool:
        """Whether this job is to end: return soon, start no further work."""
        return self._stop.is_set()

    @property
    def checkpoint(self) -> Checkpoint:
        """The values that the job stores for its next attempt and for the next job of its lane."""
        return self._report.checkpoint

    @property
    def outputs(self) -> list[Path]:
        """The final paths of the declared outputs, as reserved or, once published, as published."""
        return self._publisher.declared

    def report(self, **statistics: Any) -> None:
        """Show statistics: numbers and short texts, the newest of each name."""
        self._report.add_statistics(statistics)

    def progress(self, percent: float, message: str = "") -> None:
        """Set the progress of the job, from 0 to 100."""
        self._report.set_progress(percent, message)

    def log(self, message: str, level: str = "info") -> None:
        """Write a line into the log of the job."""
        self._link.log(level, str(message)[:10_000])

    def artifact(self, path: str | os.PathLike[str], kind: str = "file") -> None:
        """List a file that this job made."""
        file = Path(path)
        size = file.stat().st_size if file.is_file() else 0
        self._report.add_artifact(Artifact(storable(file), storable(kind), size))

    def request_stop(self) -> None:
        """Called on the loop when the job is to end."""
        self._stop.set()

    @property
    def has_leftovers(self) -> bool:
        """Whether a function of a stage still runs after its time-out."""
        return not all(work.done() for work in self._leftovers)

    async def await_leftovers(self) -> None:
        """Wait until the functions that still run after their time-out have returned."""
        for work in self._leftovers:
            await await_thread_end(work)

    def _stage_runner(self, name: str, operations: StageOperations) -> StageRunner:
        return StageRunner(
            name, self._report, self._stored_values, self._begun, operations, self._link,
            self._leftovers, jitter_key=f"{self.job.id}:{name}" if self.job.jitter else None,
        )  # fmt: skip


class Context(JobContext):
    """The context of an async task."""

    def stage(self, name: str) -> Stage:
        """Begin a stage: `await ctx.stage(name).run(function, …)`, or `async with` it."""
        return Stage(self._stage_runner(name, AsyncOperations(self._link, self._threads)))

    async def run(self, argv: Sequence[str | os.PathLike[str]], **options: Any) -> ProgramResult:
        """Run a program; it and all its descendants end with this job, also when it crashes."""
        return await run_program(argv, process_deadline=self._process_deadline, **options)

    @asynccontextmanager
    async def output(
        self, path: str | os.PathLike[str], *, on_exists: str | None = None, kind: str = "file"
    ) -> AsyncIterator[Path]:
        """Give a temporary path to write to; on success the file is published under its name."""
        output = await self._publisher.open(path, on_exists)
        try:
            yield output.temporary
        except BaseException:
            await self._publisher.discard(output)
            raise
        published = await self._publisher.publish(output)
        if published is not None:
            self.artifact(published, kind)


class SyncContext(JobContext):
    """The context of a plain function, which runs in a thread or in a child process.

    Its thread cannot be interrupted, but its waits can: once the job is to end, waiting for a
    program, a limit or a backoff ends with the same CancelledError that an async task sees.
    """

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self._awaited: set[asyncio.Task[Any]] = set()

    def request_stop(self) -> None:
        super().request_stop()
        for task in self._awaited:
            task.cancel()

    def _wait(self, coroutine: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def _wait_until_stopped(self, coroutine: Any) -> Any:
        """Wait for a coroutine; after a stop, return only when it has really ended."""
        try:
            return self._wait(self._stoppable(coroutine))
        except concurrent.futures.CancelledError:
            raise asyncio.CancelledError from None

    async def _stoppable(self, coroutine: Any) -> Any:
        task = asyncio.ensure_future(coroutine)
        self._awaited.add(task)
        if self.stopping:
            task.cancel()
        try:
            await asyncio.wait([task])
        finally:
            self._awaited.discard(task)
        return task.result()

    def stage(self, name: str) -> SyncStage:
        """Begin a stage: `ctx.stage(name).run(function, …)`, or `with` it."""
        operations = BlockingOperations(
            self._link, self._wait, self._wait_until_stopped, self._stop
        )
        return SyncStage(self._stage_runner(name, operations))

    def run(self, argv: Sequence[str | os.PathLike[str]], **options: Any) -> ProgramResult:
        """Run a program; it and all its descendants end with this job, also when it crashes."""
        program = run_program(argv, process_deadline=self._process_deadline, **options)
        return self._wait_until_stopped(program)  # type: ignore[no-any-return]

    @contextmanager
    def output(
        self, path: str | os.PathLike[str], *, on_exists: str | None = None, kind: str = "file"
    ) -> Iterator[Path]:
        """Give a temporary path to write to; on success the file is published under its name."""
        output = self._wait(self._publisher.open(path, on_exists))
        try:
            yield output.temporary
        except BaseException:
            self._wait(self._publisher.discard(output))
            raise
        published = self._wait(self._publisher.publish(output))
        if published is not None:
            self.artifact(published, kind)


def context_for_driver(context: JobContext, *, is_async: bool) -> Context | SyncContext:
    """Return a context of the same attempt for a method of its device driver.

    The method may be async where the task is plain, or the other way round, and it is stopped
    apart from the task.
    """
    kind = Context if is_async else SyncContext
    other = kind(
        context.job, context._link, context._report, context._publisher, context._stored_values,
        context._loop, context._process_deadline, context._threads,
    )  # fmt: skip
    other.device, other._begun = context.device, context._begun
    other._leftovers = context._leftovers
    return other
