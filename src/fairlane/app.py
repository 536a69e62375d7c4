"""`Fairlane`: declare queues, limits, tasks and schedules; run an engine; submit jobs.

Calls about jobs, queues, lanes and the other nouns are in `fairlane.client`, one class for each.
"""

import inspect
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Final,
    ParamSpec,
    Self,
    TypeVar,
    Unpack,
    overload,
)

import msgspec

from fairlane.client.commands import Commands
from fairlane.client.devices import Devices
from fairlane.client.drain import drain
from fairlane.client.events import Events
from fairlane.client.job import Job
from fairlane.client.jobs import Jobs
from fairlane.client.lanes import Lanes
from fairlane.client.limits import Limits
from fairlane.client.queues import Queues
from fairlane.client.schedules import Schedules
from fairlane.client.submissions import Submissions
from fairlane.client.workers import Workers
from fairlane.core.inputs import ChangeSetting, Input, SaveRecord
from fairlane.core.queues import QueueOptions, settings_from
from fairlane.core.retry import Retry
from fairlane.core.validation import check_amounts, check_name, check_option_names, check_path_name
from fairlane.engine.engine import Engine
from fairlane.engine.lifetime import Lifetime
from fairlane.errors import BadSetting, UnknownName, UsageError
from fairlane.leader.end_hooks import Hook
from fairlane.leader.history_retention import HistoryLimit, check_history_limit
from fairlane.leader.schedule import Rules, Schedule, decode_schedule, make_schedule
from fairlane.runtime.clock import Clock, SystemClock
from fairlane.snapshot import Snapshot, snapshot_from
from fairlane.store.open_store import store_at
from fairlane.store.protocol import Store
from fairlane.sync import Sync
from fairlane.task.context import Context, SyncContext
from fairlane.task.definition import GRACE_SECONDS, Definition, Isolation, Precondition, Template
from fairlane.task_schema import task_schema_of
from fairlane.tasks import Call, Policies, Task, require_call
from fairlane.uploads import LARGEST_UPLOAD, Uploads
from fairlane.worker.device import Device
from fairlane.worker.worker import RECHECK_SECONDS

if TYPE_CHECKING:
    from fastapi import FastAPI
    from typer import Typer

P = ParamSpec("P")
R = TypeVar("R")

DEFAULT_DATABASE: Final = "sqlite:///fairlane.db"
DEFAULT_SLOTS: Final = 256

_TASK_OPTIONS: Final = [
    *(name for name in inspect.signature(Definition).parameters if name != "function"),
    *Policies.__struct_fields__,
]


class Fairlane:
    """A durable task queue and scheduler inside this program.

    `database` is `sqlite:///work.db`, `postgresql://user@host/name` or `memory://`; without it
    FAIRLANE_DATABASE counts, else `fairlane.db` in the working folder. `slots` is how many jobs
    this process runs at a time, `queues` narrows the queues that it serves, and `labels` name what
    this machine has for tasks that `require` it; a process with `work=False` runs no jobs.
    `keep_history` limits the history of ended jobs: a timedelta such as timedelta(days=30), or a
    number of jobs. `uploads` is the folder to which clients of `asgi()` may send files, each of
    `largest_upload` bytes at most.
    """

    def __init__(
        self,
        database: str | None = None,
        *,
        slots: int = DEFAULT_SLOTS,
        stop_grace_seconds: float = 10.0,
        recheck_seconds: float = RECHECK_SECONDS,
        clock: Clock | None = None,
        work: bool = True,
        queues: Sequence[str] | None = None,
        labels: Sequence[str] = (),
        keep_history: HistoryLimit = None,
        uploads: str | os.PathLike[str] | None = None,
        largest_upload: int = LARGEST_UPLOAD,
    ) -> None:
        check_history_limit(keep_history)
        if slots < 1:
            raise BadSetting(f"slots is {slots}; a process needs at least 1 to run anything")
        self.database = database or os.environ.get("FAIRLANE_DATABASE") or DEFAULT_DATABASE
        self.tasks: dict[str, Task[Any, Any]] = {}
        self._slots = slots
        self._work = work
        self._only_queues = None if queues is None else tuple(queues)
        self._keep_history = keep_history
        self._uploads = None if uploads is None else Uploads(uploads, largest=largest_upload)
        self._labels = tuple(labels)
        for label in self._labels:
            check_name("label", label)
        self._stop_grace_seconds = stop_grace_seconds
        self._recheck_seconds = recheck_seconds
        self._in_a_hurry = False
        self._opened_in: int | None = None  # the process whose engine is started
        self._definitions: dict[str, Definition] = {}
        self._settings: dict[tuple[str, str], ChangeSetting] = {}
        self._schedules: dict[str, Schedule] = {}
        self._hooks: list[Hook] = []
        self._drivers: dict[str, type[Device]] = {}  # by the queue whose devices they drive
        self._lifetime = Lifetime(self._open, self._close)
        self._commands = Commands(self._lifetime, clock or SystemClock())
        self._submissions = Submissions(self._commands, self.tasks, self._new_store)
        self.jobs = Jobs(self._commands, self._submissions)
        self.queues = Queues(self._commands)
        self.lanes = Lanes(self._commands, self._submissions)
        self.schedules = Schedules(self._commands)
        self.devices = Devices(self._commands, self.queues)
        self.limits = Limits(self._commands)
        self.events = Events(self._commands)
        self.workers = Workers(self._commands)
        self.sync = Sync(self, self._lifetime.run_sync)
        self._shown_database = store_at(self.database).address  # a wrong one is told here
        self.queue("default")

    def __repr__(self) -> str:
        state = "started" if self._is_started else "not started"
        return f"<Fairlane {self._shown_database}, {len(self.tasks)} tasks, {state}>"

    # declaring

    def queue(
        self,
        name: str,
        *,
        devices: bool | type[Device] = False,
        **settings: Unpack[QueueOptions],
    ) -> None:
        """Declare a queue.

        Settings: max_concurrent, order ("fifo", "strict", "round_robin"), on_conflict ("queue",
        "reject", "merge", "reject_running"), anti_starvation, starvation_picks,
        starvation_seconds. What an operator set while running stays in force over these. With
        `devices` its jobs run on devices, one at a time on each, which the class says how to drive;
        True leaves that to other programs.
        """
        values: dict[str, Any] = {**settings}
        driver = devices if isinstance(devices, type) and issubclass(devices, Device) else None
        if devices is not False:
            values["devices"] = True if driver is not None else devices
        settings_from(name, values)
        self._declare("queue", name)
        self._drivers.pop(name, None)
        if driver is not None:
            self._drivers[name] = driver
        self._settings["queue", name] = ChangeSetting("", "queue", name, "code", values)

    def limit(self, key: str, *, starts: int, per_seconds: float) -> None:
        """Allow so many starts in every window; `key:anything` counts apart, by the same rule."""
        values = {"starts": starts, "per_seconds": per_seconds}
        check_amounts("rate", key, values)
        self._declare("limit", key)
        self._settings["rate", key] = ChangeSetting("", "rate", key, "code", values)

    def resource(self, name: str, amount: int) -> None:
        """Say how much there is of something that jobs and stages use."""
        values = {"amount": amount}
        check_amounts("resource", name, values)
        self._declare("resource", name)
        self._settings["resource", name] = ChangeSetting("", "resource", name, "code", values)

    def _declare(self, what: str, name: str) -> None:
        """Raise while an engine runs: it has taken what was declared and would not notice more."""
        if self._is_started:
            raise UsageError(
                f'{what} "{name}" comes too late, the engine is started; '
                "declare it before the engine starts"
            )

    @property
    def _is_started(self) -> bool:
        return self._opened_in == os.getpid()  # a forked child has no engine yet

    @overload
    def task(self, function: Callable[Concatenate[Context, P], Awaitable[R]], /) -> Task[P, R]: ...
    @overload
    def task(self, function: Callable[Concatenate[SyncContext, P], R], /) -> Task[P, R]: ...
    @overload
    def task(self, function: Callable[P, Awaitable[R]], /) -> Task[P, R]: ...
    @overload
    def task(self, function: Callable[P, R], /) -> Task[P, R]: ...
    @overload
    def task(
        self,
        *,
        name: str | None = None,
        queue: str = "default",
        lane: Template | None = None,
        bucket: Template | None = None,
        dedupe: Template | None = None,
        limits: Sequence[Template] = (),
        uses: Mapping[str, int] | None = None,
        requires: Sequence[Template] = (),
        retry: Retry | None = None,
        recover: int = 1,
        hold_lane: bool = True,
        isolation: Isolation = "none",
        timeout_seconds: float | None = None,
        stall_seconds: float | None = None,
        grace_seconds: float = GRACE_SECONDS,
        stages: Sequence[str] = (),
        outputs: Sequence[Template] = (),
        on_output: str = "rename",
        preconditions: Sequence[Precondition] = (),
    ) -> "Decorator": ...

    def task(self, *function: Callable[..., Any], **options: Any) -> Any:
        """Register a function as a task.

        Its parameters are checked by their annotations when a job is submitted. A first parameter
        called `ctx` gets the context. An async function runs on the loop, a plain one in a thread,
        with `isolation="process"` in a child process that can be killed. `lane`, `dedupe`,
        `limits`, `requires` and `outputs` are templates over the parameters, such as "{handle}".
        """
        if function:
            return self._register(function[0], options)
        return lambda decorated: self._register(decorated, options)

    def _register(self, function: Callable[..., Any], options: dict[str, Any]) -> Task[Any, Any]:
        check_option_names("task", options, _TASK_OPTIONS)
        for_scheduler = {k: v for k, v in options.items() if k in Policies.__struct_fields__}
        for_worker = {k: v for k, v in options.items() if k not in for_scheduler}
        if for_scheduler.get("uses") is None:
            for_scheduler["uses"] = {}
        definition, policies = Definition(function, **for_worker), Policies(**for_scheduler)
        policies.check(definition)
        self._declare("task", definition.name)
        if definition.name in self.tasks:
            raise BadSetting(f'there is already a task "{definition.name}"; give this one a name=…')
        task: Task[Any, Any] = Task(self._submissions, definition, policies)
        self.tasks[definition.name] = task
        self._definitions[definition.name] = definition
        return task

    def schedule(self, name: str, call: Call[Any], **rules: Unpack[Rules]) -> None:
        """Declare a schedule: by `cron` expression, `every_seconds` or `at` a single instant.

        A firing that is late by no more than `grace_seconds` happens; with `coalesce` once for all
        that piled up. `overlap` says what happens while the previous firing's job is still alive.
        What somebody changes while it runs (`app.schedules.change`) stays in force over this.
        """
        check_path_name("schedule", name)
        submission = require_call(call).submission()
        self._declare("schedule", name)
        self._schedules[name] = make_schedule(name, submission, rules)

    def on_end(self, hook: Hook) -> Hook:
        """Call this with the job whenever one ends, at least once each."""
        if not callable(hook):
            raise BadSetting(f"on_end takes a function, got {hook!r}")
        self._declare("hook", getattr(hook, "__name__", repr(hook)))
        self._hooks.append(hook)
        return hook

    # running

    async def __aenter__(self) -> Self:
        await self._lifetime.enter()
        return self

    async def __aexit__(self, kind: object, *_: object) -> None:
        """Stop the engine; who leaves by an error or Ctrl-C does not wait for what runs."""
        self._in_a_hurry = kind is not None
        await self._lifetime.leave()

    def __enter__(self) -> Self:
        """Start the engine in a thread of its own and stop it at the end of the block."""
        if self._is_started:
            raise UsageError("the engine is already started in this process; enter it only once")
        self.start()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self._in_a_hurry = kind is not None
        self.stop()

    def start(self) -> None:
        """Start the engine in a thread of its own, for programs without asyncio. Safe to repeat."""
        self._lifetime.start()

    def stop(self) -> None:
        """Stop an engine that `start` started: what runs has its grace, then goes back."""
        self._lifetime.stop()

    async def _open(self) -> Engine:
        self._check_names()
        store = self._new_store()
        await store.open()
        try:
            self._opened_in = os.getpid()
            engine = self._new_engine(store)
            await engine.start()
        except BaseException:
            self._opened_in = None
            await store.close()
            raise
        return engine

    def _work_as(
        self,
        *,
        slots: int | None,
        queues: Sequence[str] | None,
        labels: Sequence[str] | None,
        stop_grace_seconds: float | None,
    ) -> None:
        """Let the command line choose what a process is for; what is None stays."""
        unknown = [name for name in queues or () if ("queue", name) not in self._settings]
        if unknown:
            known = [name for kind, name in self._settings if kind == "queue"]
            raise UnknownName("queue", unknown[0], known)
        self._work = True
        self._slots = self._slots if slots is None else slots
        self._only_queues = self._only_queues if not queues else tuple(queues)
        self._labels = self._labels if not labels else tuple(labels)
        if stop_grace_seconds is not None:
            self._stop_grace_seconds = stop_grace_seconds

    def _new_store(self) -> Store:
        return store_at(self.database)

    def _new_engine(self, store: Store, *, kind: type[Engine] = Engine, **more: Any) -> Engine:
        return kind(
            store,
            self._definitions,
            self._declarations,
            clock=self._commands.clock,
            slots=self._slots,
            recheck_seconds=self._recheck_seconds,
            hooks=self._hooks,
            work=self._work,
            queues=self._only_queues,
            labels=self._labels,
            drivers=self._drivers,
            keep_history=self._keep_history,
            **more,
        )

    async def _close(self, engine: Engine) -> None:
        try:
            await engine.stop(0.0 if self._in_a_hurry else self._stop_grace_seconds)
        finally:
            self._opened_in, self._in_a_hurry = None, False
            if not engine.is_running():
                await engine.store.close()  # otherwise what it holds ends with the process

    def _check_names(self) -> None:
        """Tell about a task that names what nobody declared, before anything runs."""
        queues = [name for kind, name in self._settings if kind == "queue"]
        for name in self._only_queues or ():
            if name not in queues:
                raise UnknownName("queue", name, queues)
        for task in self.tasks.values():
            if task.policies.queue not in queues:
                raise UnknownName("queue", task.policies.queue, queues)

    def _declarations(self, stored: Mapping[tuple[str, str], str]) -> list[Input]:
        inputs: list[Input] = list(self._settings.values())
        for name, schedule in self._schedules.items():
            text = stored.get(("schedule", name))
            before = None if text is None else decode_schedule(text)
            after = schedule.declared_after(before)
            inputs.append(SaveRecord("", "schedule", name, after.text()))
        for task in self.tasks.values():
            body = msgspec.json.encode(task_schema_of(task)).decode()
            inputs.append(SaveRecord("", "task", task.name, body))
        return inputs

    def asgi(
        self,
        *,
        token: str | None = None,
        read_token: str | None = None,
        hosts: Sequence[str] = (),
        largest_body: int = 8 * 1024 * 1024,
    ) -> "FastAPI":
        """Return the HTTP API as an ASGI application, to be served or mounted under any prefix.

        Served by itself it starts the engine; mounted, the program around it does (`async with
        app`). Without a token it answers only this machine. `hosts` are further names it may be
        asked by. FAIRLANE_TOKEN, FAIRLANE_READ_TOKEN and FAIRLANE_ALLOWED_HOSTS count as well.
        """
        try:
            from fairlane.api.application import asgi
        except ModuleNotFoundError as error:
            raise UsageError(
                f"the HTTP API needs {error.name}, which is not installed; install the extra: "
                'pip install "fairlane[server]"'
            ) from None
        return asgi(
            self, token=token, read_token=read_token, hosts=hosts, largest_body=largest_body
        )

    def commands(self) -> "Typer":
        """Return a command line for this app, to which a program adds commands of its own.

        It has the verbs of `fairlane`, by default on this app's database: `serve` and `work` run
        this app, `jobs`, `watch`, `pause` and the rest steer it.
        """
        from fairlane.cli import commands

        return commands(self)

    # submitting, and the whole at a glance

    async def submit(self, call: Call[R]) -> Job[R]:
        """Submit a call; once this returns the job is on disk."""
        return await self._submissions.submit(call)

    async def submit_many(self, calls: Sequence[Call[Any]]) -> list[Job[Any]]:
        """Submit calls in this order, all or none: one conflict refuses all and names it."""
        return await self._submissions.submit_many(calls)

    async def drain(self, queue: str | None = None) -> None:
        """Return when no job runs or will run: all have ended, or their queue is paused."""
        await drain(self._commands, queue)

    async def snapshot(self, *, waiting: int = 200, ended: int = 50, lanes: int = 200) -> Snapshot:
        """Return the present, true at its `seq`; `app.events.follow(after=seq)` continues it.

        It has the first waiting jobs of each queue, the newest ended jobs of all queues, and so
        many lanes, the active ones first.
        """
        reading = self._store.read_snapshot(waiting=waiting, ended=ended, lanes=lanes)
        picture = await self._commands.on_loop(reading)
        return snapshot_from(picture, self._commands.clock.now())

    @property
    def _engine(self) -> Engine:
        return self._commands.engine

    @property
    def _store(self) -> Store:
        return self._commands.store


class Decorator:
    """What `app.task(...)` with options returns; only its type matters."""

    @overload
    def __call__(
        self, function: Callable[Concatenate[Context, P], Awaitable[R]], /
    ) -> Task[P, R]: ...
    @overload
    def __call__(self, function: Callable[Concatenate[SyncContext, P], R], /) -> Task[P, R]: ...
    @overload
    def __call__(self, function: Callable[P, Awaitable[R]], /) -> Task[P, R]: ...
    @overload
    def __call__(self, function: Callable[P, R], /) -> Task[P, R]: ...
    def __call__(self, function: Any, /) -> Any: ...
