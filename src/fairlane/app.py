"""`Fairlane`: declare queues, limits, tasks and schedules; run an engine; submit jobs.

Calls about jobs, queues, lanes and the other nouns are in `fairlane.client`, one class for each.
"""

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
from fairlane.core.queues import QueueOptions
from fairlane.core.retry import Retry
from fairlane.core.validation import check_name, check_seconds, is_count, shown
from fairlane.declarations import Declarations
from fairlane.engine.engine import Engine
from fairlane.engine.lifetime import Lifetime
from fairlane.errors import BadSetting, UsageError
from fairlane.leader.history_retention import HistoryLimit, check_history_limit
from fairlane.leader.hook_delivery import DAY_SECONDS
from fairlane.leader.schedule import Rules
from fairlane.leader.webhook import Hook
from fairlane.runtime.clock import Clock, SystemClock
from fairlane.site import SiteApplication, new_site
from fairlane.snapshot import Snapshot, snapshot_from
from fairlane.store.open_store import store_at
from fairlane.store.protocol import Store
from fairlane.sync import Sync
from fairlane.task.context import Context, SyncContext
from fairlane.task.definition import GRACE_SECONDS, Isolation, Precondition, Template
from fairlane.task.secret_cipher import SecretsKey, cipher_for
from fairlane.tasks import Call, Task
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


class Fairlane:
    """A durable task queue and scheduler inside this program.

    `database` is `sqlite:///work.db`, `postgresql://user@host/name` or `memory://`; without it
    FAIRLANE_DATABASE counts, else `fairlane.db` in the working folder. `slots` is how many jobs
    this process runs at a time, `queues` narrows the queues that it serves, and `labels` are those
    that a task may `require` of a process; a process with `work=False` runs no jobs.
    `keep_history` limits the history of ended jobs: a timedelta such as timedelta(days=30), or a
    number of jobs. `uploads` is the folder to which clients of `asgi()` may send files, each of
    `largest_upload` bytes at most. `secrets_key` encrypts secret parameters in the database: a
    Fernet key, or a list of which the first encrypts; without it FAIRLANE_SECRETS_KEY counts.
    `site` is an ASGI application that `asgi()` and `serve` serve at `/`, behind the checks of the
    HTTP API, which is then under `/queue/` with the console; its `public_paths`, such as "/about"
    or "/static/*", need no token. The lifespan of a Starlette application runs inside the engine's.
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
        secrets_key: SecretsKey | None = None,
        site: SiteApplication | None = None,
        public_paths: Sequence[str] = (),
    ) -> None:
        check_history_limit(keep_history)
        cipher = cipher_for(secrets_key)
        _check_slots(slots)
        check_seconds("stop_grace_seconds", stop_grace_seconds, zero=True)
        check_seconds("recheck_seconds", recheck_seconds)
        self.database = database or os.environ.get("FAIRLANE_DATABASE") or DEFAULT_DATABASE
        self.tasks: dict[str, Task[Any, Any]] = {}
        self._slots = slots
        self._work = work
        self._only_queues = None if queues is None else tuple(queues)
        self._keep_history = keep_history
        self._uploads = None if uploads is None else Uploads(uploads, largest=largest_upload)
        self._site = None if site is None else new_site(site, public_paths)
        self._labels = tuple(labels)
        for label in self._labels:
            check_name("label", label)
        self._stop_grace_seconds = stop_grace_seconds
        self._recheck_seconds = recheck_seconds
        self._stops_at_once = False
        self._opened_in: int | None = None  # the process whose engine is started
        self._declarations = Declarations(self.tasks, lambda: self._is_started)
        self._lifetime = Lifetime(self._open, self._close)
        self._commands = Commands(self._lifetime, clock or SystemClock())
        self._submissions = Submissions(self._commands, self.tasks, self._new_store, cipher)
        self.jobs = Jobs(self._commands, self._submissions)
        self.queues = Queues(self._commands)
        self.lanes = Lanes(self._commands, self._submissions)
        self.schedules = Schedules(self._commands, cipher)
        self.devices = Devices(self._commands, self.queues)
        self.limits = Limits(self._commands)
        self.events = Events(self._commands)
        self.workers = Workers(self._commands)
        self.sync = Sync(self, self._lifetime.run_sync)
        self._address = store_at(self.database).address  # raises if the address is wrong
        self.queue("default")

    def __repr__(self) -> str:
        state = "started" if self._is_started else "not started"
        return f"<Fairlane {self._address}, {len(self.tasks)} tasks, {state}>"

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
        starvation_seconds. Settings that an operator changes while running override these. With
        `devices` its jobs run on devices, one at a time on each; the class drives them. True means
        that another program drives them.
        """
        self._declarations.add_queue(name, devices, {**settings})

    def limit(self, key: str, *, starts: int, per_seconds: float) -> None:
        """Declare a rate limit: so many starts in every window of `per_seconds`.

        A job may name `key:suffix`; each suffix is counted separately, by the same limit.
        """
        self._declarations.add_limit(key, {"starts": starts, "per_seconds": per_seconds})

    def resource(self, name: str, amount: int) -> None:
        """Declare the amount of a resource that jobs and stages use."""
        self._declarations.add_resource(name, {"amount": amount})

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
        deadline_seconds: float | None = None,
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
        return self._declarations.add_task(self._submissions, function, options)

    def schedule(self, name: str, call: Call[Any], **rules: Unpack[Rules]) -> None:
        """Declare a schedule: by `cron` expression, `every_seconds` or `at` a single instant.

        A firing that is late by no more than `grace_seconds` still happens; `coalesce` makes one
        firing of several late ones. `overlap` is the policy while the job of the previous firing is
        live. A change by an operator (`app.schedules.change`) overrides this declaration.
        """
        self._declarations.add_schedule(name, call, rules)

    def on_end(
        self, hook: Hook, *, name: str | None = None, retry_seconds: float = DAY_SECONDS
    ) -> Hook:
        """Call a function with each job that ends, at least once for each end.

        A call that raises is repeated with a growing backoff for `retry_seconds`, also by the next
        leader and after a restart; ends of other jobs do not wait for it. The name identifies the
        hook across restarts: by default that of the function, or the host of the webhook.
        """
        self._declarations.add_hook(hook, name, retry_seconds)
        return hook

    # running

    @property
    def _is_started(self) -> bool:
        return self._opened_in == os.getpid()  # a forked child has no engine yet

    async def __aenter__(self) -> Self:
        await self._lifetime.enter()
        return self

    async def __aexit__(self, kind: object, *_: object) -> None:
        """Stop the engine; after an error or Ctrl-C without waiting for running jobs."""
        self._stops_at_once = kind is not None
        await self._lifetime.leave()

    def __enter__(self) -> Self:
        """Start the engine in a dedicated thread and stop it at the end of the block."""
        if self._is_started:
            raise UsageError("the engine is already started in this process; enter it only once")
        self.start()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self._stops_at_once = kind is not None
        self.stop()

    def start(self) -> None:
        """Start the engine in a dedicated thread, for programs without asyncio. Safe to repeat."""
        self._lifetime.start()

    def stop(self) -> None:
        """Stop an engine that `start` started: running jobs get their grace, then are requeued."""
        self._lifetime.stop()

    async def _open(self) -> Engine:
        self._declarations.check_queues(self._only_queues or ())
        self._declarations.check_queues(task.policies.queue for task in self.tasks.values())
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

    def _override_options(
        self,
        *,
        slots: int | None,
        queues: Sequence[str] | None,
        labels: Sequence[str] | None,
        stop_grace_seconds: float | None,
    ) -> None:
        """Override options of this process from the command line; None keeps an option."""
        self._declarations.check_queues(queues or ())
        if slots is not None:
            _check_slots(slots)
            self._slots = slots
        check_seconds("the grace", stop_grace_seconds, zero=True, optional=True)
        self._work = True
        self._only_queues = self._only_queues if not queues else tuple(queues)
        self._labels = self._labels if not labels else tuple(labels)
        if stop_grace_seconds is not None:
            self._stop_grace_seconds = stop_grace_seconds

    def _new_store(self) -> Store:
        return store_at(self.database)

    def _new_engine(self, store: Store, *, kind: type[Engine] = Engine, **more: Any) -> Engine:
        return kind(
            store,
            self._declarations.definitions,
            self._declarations.inputs,
            clock=self._commands.clock,
            slots=self._slots,
            recheck_seconds=self._recheck_seconds,
            hooks=self._declarations.hooks,
            work=self._work,
            queues=self._only_queues,
            labels=self._labels,
            drivers=self._declarations.drivers,
            keep_history=self._keep_history,
            **more,
        )

    async def _close(self, engine: Engine) -> None:
        try:
            await engine.stop(0.0 if self._stops_at_once else self._stop_grace_seconds)
        finally:
            self._opened_in, self._stops_at_once = None, False
            if not engine.is_running():
                await engine.store.close()  # otherwise its connections end with the process

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
        app`). Without a token it answers only this machine. `hosts` are further names of
        this server. FAIRLANE_TOKEN, FAIRLANE_READ_TOKEN and FAIRLANE_ALLOWED_HOSTS count as well.
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
        """Return a command line for this app, to which a program can add commands.

        It has the verbs of `fairlane`, by default on this app's database: `serve` and `work` run
        this app, `jobs`, `watch`, `pause` and the rest control it.
        """
        from fairlane.cli import commands

        return commands(self)

    # submitting, waiting and reading

    async def submit(self, call: Call[R]) -> Job[R]:
        """Submit a call; once this returns the job is on disk."""
        return await self._submissions.submit(call)

    async def submit_many(self, calls: Sequence[Call[Any]]) -> list[Job[Any]]:
        """Submit calls in this order, all or none: one conflict refuses all and names it."""
        return await self._submissions.submit_many(calls)

    async def drain(self, queue: str | None = None) -> None:
        """Return when no job runs or will run: all have ended, or their queue stops after current.

        A plain pause does not end the wait: the jobs of the queue run when it is resumed.
        """
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
    """The type of `app.task(...)` with options; it is never instantiated."""

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


def _check_slots(slots: object) -> None:
    if not is_count(slots, least=1):
        raise BadSetting(
            f"slots is {shown(slots)}; it must be a whole number: a process needs at least 1 to "
            "run jobs"
        )
