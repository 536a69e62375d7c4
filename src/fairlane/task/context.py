"""What a task sees of its own job.

`Context` is for async functions, `SyncContext` for plain ones; they differ only in whether one
awaits. Both tell a `WorkerLink` what they learn and know nothing of who listens: the worker in this
process, or a pipe to it.
"""

import asyncio
import concurrent.futures
import contextvars
import os
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol

import msgspec
from msgspec import Struct

from fairlane.core.live_job import JobId
from fairlane.errors import Permanent, TooLarge
from fairlane.process.process_group import ProcessDeadline
from fairlane.process.program import Finished, run_program
from fairlane.runtime.storable_text import storable
from fairlane.runtime.threads import in_thread
from fairlane.store.views import Artifact, Progress, ReportBody, StageView
from fairlane.task.output_publisher import OutputPublisher
from fairlane.task.stages import Stage, SyncStage
from fairlane.task.worker_link import WorkerLink

LARGEST_VALUE: Final = 64 * 1024
LONGEST_MESSAGE: Final = 500


class JobFacts(Struct, frozen=True, kw_only=True):
    """The job a context belongs to."""

    id: JobId
    task: str
    queue: str
    lane: str | None
    kind: str
    attempt: int
    meta: dict[str, Any]


def _as_json(what: str, value: Any) -> Any:
    """Return a copy of a value that is written as JSON later, or say now why that cannot be."""
    try:
        text = msgspec.json.encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise Permanent(
            f"{what} cannot be written as JSON ({error}); keep numbers, text, lists and dicts "
            "there",
            code="not_json",
        ) from None
    if len(text) > LARGEST_VALUE:
        raise TooLarge(what, len(text), LARGEST_VALUE)
    return value if isinstance(value, str | int | float | None) else msgspec.json.decode(text)


class Checkpoint(dict[str, Any]):
    """What the job wants to remember; every change is shown to the link."""

    def __init__(self, values: Mapping[str, Any], changed: Callable[[], None]) -> None:
        super().__init__(values)
        self._changed = changed

    def __setitem__(self, key: str, value: Any) -> None:
        if not isinstance(key, str):
            raise Permanent(f"checkpoint[{key!r}]: a key must be text", code="not_json")
        super().__setitem__(storable(key), _as_json(f"checkpoint[{key!r}]", value))
        self._changed()

    def update(self, *others: Any, **values: Any) -> None:
        for key, value in dict(*others, **values).items():
            self[key] = value

    def setdefault(self, key: str, default: Any = None) -> Any:
        if key not in self:
            self[key] = default
        return self[key]

    def __delitem__(self, key: str) -> None:
        super().__delitem__(key)
        self._changed()

    def pop(self, key: str, *default: Any) -> Any:
        value = super().pop(key, *default)
        self._changed()
        return value

    def clear(self) -> None:
        super().clear()
        self._changed()


class Body:
    """The report of one attempt, changed from the task's thread, read by the worker."""

    def __init__(
        self,
        link: WorkerLink,
        *,
        earlier: ReportBody,
        stages: Sequence[str],
        checkpoint: dict[str, Any],
    ) -> None:
        self._link = link
        self.lock = threading.RLock()
        self.stages = {
            stage.name: stage if stage.status in ("done", "skipped") else StageView(stage.name)
            for stage in earlier.stages
        }
        for name in stages:
            self.stages.setdefault(name, StageView(name))
        self.progress = Progress()
        self.explicit = False
        self.statistics = dict(earlier.statistics)
        self.artifacts = {artifact.path: artifact for artifact in earlier.artifacts}
        self.checkpoint = Checkpoint(checkpoint, self.changed)
        self.is_empty = not (stages or earlier.stages or self.statistics or checkpoint)

    def changed(self, stage: str | None = None) -> None:
        self.is_empty = False
        self._link.report(self.snapshot, stage)

    def snapshot(self) -> ReportBody:
        with self.lock:
            return ReportBody(
                Progress(self._percent(), self.progress.message),
                [msgspec.structs.replace(stage) for stage in self.stages.values()],
                dict(self.statistics),
                list(self.artifacts.values()),
                dict(self.checkpoint),
            )

    def _percent(self) -> float | None:
        """A job that does not say how far it is, is as far as its stages are."""
        if self.explicit or not self.stages:
            return self.progress.percent
        done = [
            100.0 if s.status in ("done", "skipped") else s.percent for s in self.stages.values()
        ]
        return round(sum(done) / len(done), 1)

    def stage(self, name: str, **changes: Any) -> None:
        with self.lock:
            view = self.stages.setdefault(name, StageView(name))
            for field, value in changes.items():
                setattr(view, field, value)
        self.changed(name)


class Services(Protocol):
    """How a context waits: by awaiting on the loop, or by blocking its own thread."""

    async def call(self, function: Callable[..., Any], *args: Any, **named: Any) -> Any: ...
    async def sleep(self, seconds: float) -> None: ...
    async def enter(self, limits: tuple[str, ...], uses: tuple[tuple[str, int], ...]) -> str: ...
    async def keep(self, name: str, body: str | None) -> None: ...


class _ContextBase:
    def __init__(
        self,
        job: JobFacts,
        link: WorkerLink,
        body: Body,
        publishing: OutputPublisher,
        kept: dict[str, str],
        loop: asyncio.AbstractEventLoop,
        process_deadline: ProcessDeadline | None = None,
        threads: Executor | None = None,
    ) -> None:
        self.job = job
        self.attempt = job.attempt
        self.device: Any = None  # the one it runs on, as its program drives it
        self._link = link
        self._body = body
        self._publishing = publishing
        self._kept = kept
        self._loop = loop
        self._process_deadline = process_deadline
        self._threads = threads
        self._stop = threading.Event()
        self._begun: set[str] = set()

    def for_driver(self, *, is_async: bool) -> "Context | SyncContext":
        """Return a context of the same attempt for a method of its device, which is of a kind of
        its own and is asked to stop apart from the task."""
        other = (Context if is_async else SyncContext)(
            self.job, self._link, self._body, self._publishing, self._kept, self._loop,
            self._process_deadline, self._threads,
        )  # fmt: skip
        other.device, other._begun = self.device, self._begun
        return other

    @property
    def stopping(self) -> bool:
        """True once somebody wants this job to end: finish soon, start nothing new."""
        return self._stop.is_set()

    @property
    def checkpoint(self) -> Checkpoint:
        """What the job remembers across attempts and leaves to its lane."""
        return self._body.checkpoint

    @property
    def outputs(self) -> list[Path]:
        """The final paths of the declared outputs, as they were taken or, by then, published."""
        return self._publishing.declared

    def report(self, **statistics: Any) -> None:
        """Show statistics: numbers and short texts, the newest of each name."""
        shown = {
            storable(name): _as_json(f"report({name}=…)", value)
            for name, value in statistics.items()
        }
        with self._body.lock:
            self._body.statistics.update(shown)
        self._body.changed()

    def progress(self, percent: float, message: str = "") -> None:
        """Say how far the job is, from 0 to 100."""
        with self._body.lock:
            self._body.explicit = True
            message = storable(str(message)[:LONGEST_MESSAGE])
            self._body.progress = Progress(_bounded(percent), message)
        self._body.changed()

    def log(self, message: str, level: str = "info") -> None:
        """Write a line into the job's own log."""
        self._link.log(level, str(message)[:10_000])

    def artifact(self, path: str | os.PathLike[str], kind: str = "file") -> None:
        """Name a file that this job made."""
        place = Path(path)
        size = place.stat().st_size if place.is_file() else 0
        with self._body.lock:
            name = storable(place)
            self._body.artifacts[name] = Artifact(name, storable(kind), size)
        self._body.changed()

    def request_stop(self) -> None:
        """Called on the loop when somebody wants this job to end."""
        self._stop.set()


def _bounded(percent: float) -> float:
    return round(min(100.0, max(0.0, float(percent))), 2)


class Context(_ContextBase):
    """The context of an async task."""

    def stage(self, name: str) -> Stage:
        """Begin a stage: `await ctx.stage(name).run(function, …)`, or `async with` it."""
        services = _OnLoop(self._link, self._threads)
        return Stage(name, self._body, self._kept, self._begun, services, self._link)

    async def run(self, argv: Sequence[str | os.PathLike[str]], **options: Any) -> Finished:
        """Run a program; it and all its children end with this job, whatever happens."""
        return await run_program(argv, process_deadline=self._process_deadline, **options)

    @asynccontextmanager
    async def output(
        self, path: str | os.PathLike[str], *, on_exists: str | None = None, kind: str = "file"
    ) -> AsyncIterator[Path]:
        """Give a temporary path to write to; the file appears under its own name on success."""
        output = await self._publishing.open(path, on_exists)
        try:
            yield output.temporary
        except BaseException:
            await self._publishing.discard(output)
            raise
        published = await self._publishing.publish(output)
        if published is not None:
            self.artifact(published, kind)


class SyncContext(_ContextBase):
    """The context of a plain function, which runs in a thread or a process of its own.

    Its thread cannot be interrupted, but what it waits for can: once the job is to end, waiting for
    a program, a limit or a backoff ends with the same CancelledError that an async task sees.
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
        """Wait, and return only when it has really ended, also after a stop."""
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
        services = _InThread(self._link, self._wait, self._wait_until_stopped, self._stop)
        return SyncStage(name, self._body, self._kept, self._begun, services, self._link)

    def run(self, argv: Sequence[str | os.PathLike[str]], **options: Any) -> Finished:
        """Run a program; it and all its children end with this job, whatever happens."""
        program = run_program(argv, process_deadline=self._process_deadline, **options)
        return self._wait_until_stopped(program)  # type: ignore[no-any-return]

    @contextmanager
    def output(
        self, path: str | os.PathLike[str], *, on_exists: str | None = None, kind: str = "file"
    ) -> Iterator[Path]:
        """Give a temporary path to write to; the file appears under its own name on success."""
        output = self._wait(self._publishing.open(path, on_exists))
        try:
            yield output.temporary
        except BaseException:
            self._wait(self._publishing.discard(output))
            raise
        published = self._wait(self._publishing.publish(output))
        if published is not None:
            self.artifact(published, kind)


class _OnLoop:
    """Waiting by awaiting. Plain functions of a stage run in a thread: they may block."""

    def __init__(self, link: WorkerLink, threads: Executor | None) -> None:
        self._link = link
        self._threads = threads

    async def call(self, function: Callable[..., Any], *args: Any, **named: Any) -> Any:
        if asyncio.iscoroutinefunction(function):
            return await function(*args, **named)
        call = partial(contextvars.copy_context().run, function, *args, **named)
        value = await in_thread(call, threads=self._threads)
        return await value if asyncio.iscoroutine(value) else value

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def enter(self, limits: tuple[str, ...], uses: tuple[tuple[str, int], ...]) -> str:
        return await self._link.enter_stage(limits, uses)

    async def keep(self, name: str, body: str | None) -> None:
        await self._link.keep(name, body)


class _InThread:
    """Waiting by blocking. These coroutines never suspend, so a plain function can drive them."""

    def __init__(
        self,
        link: WorkerLink,
        wait: Callable[[Any], Any],
        wait_until_stopped: Callable[[Any], Any],
        stop: threading.Event,
    ) -> None:
        self._link = link
        self._wait = wait
        self._wait_until_stopped = wait_until_stopped
        self._stop = stop

    async def call(self, function: Callable[..., Any], *args: Any, **named: Any) -> Any:
        if self._stop.is_set():
            raise asyncio.CancelledError  # nothing new is begun
        value = function(*args, **named)
        return self._wait_until_stopped(value) if asyncio.iscoroutine(value) else value

    async def sleep(self, seconds: float) -> None:
        if self._stop.wait(seconds):
            raise asyncio.CancelledError

    async def enter(self, limits: tuple[str, ...], uses: tuple[tuple[str, int], ...]) -> str:
        return str(self._wait_until_stopped(self._link.enter_stage(limits, uses)))

    async def keep(self, name: str, body: str | None) -> None:
        self._wait(self._link.keep(name, body))
