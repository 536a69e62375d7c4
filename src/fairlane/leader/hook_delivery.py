"""The delivery of ended jobs to one hook, at least once each.

The event of an end is stored in the commit that ends the job, so it is the durable notice. The
delivery reads the events after a stored cursor, in order, and calls the hook for each end. A failed
call becomes a record (see `notice`) and is repeated with exponential backoff; later ends go on. The
cursor is stored after those records, and stays below an end until its first call has returned. So
after a crash each end is above the cursor, or delivered, or a record.

A few runners call the hook: one for a callable of the program, so that its calls never overlap, and
several for a webhook, because a slow answer must not hold up later calls. A runner alternates
between new ends and due repetitions, so neither delays the other.
"""

import asyncio
import inspect
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from heapq import heappop, heappush
from typing import Any, Final

from msgspec import Struct

from fairlane.core.inputs import SaveRecord
from fairlane.core.lifecycle import FINAL, State
from fairlane.core.live_job import JobId
from fairlane.core.retry import Retry
from fairlane.ids import new_id
from fairlane.leader.notice import (
    NOTICE_KIND,
    Notice,
    decode_notice,
    hook_of,
    notice_of,
    view_of_end,
)
from fairlane.leader.webhook import Hook, Webhook
from fairlane.runtime.clock import Clock
from fairlane.runtime.service import Service
from fairlane.runtime.storable_text import storable
from fairlane.runtime.threads import DaemonThread, await_thread
from fairlane.store.protocol import Store
from fairlane.store.views import EventView, JobView

log = logging.getLogger("fairlane.hooks")

DAY_SECONDS: Final = 86_400.0
BACKOFF: Final = Retry(first_seconds=5.0, factor=2.0, cap_seconds=3600.0, jitter=0.2)
MOST_WAITING: Final = 50_000  # failed notices of a hook in memory; above it no new ends are read
CURSOR_KIND: Final = "hook"
_CHUNK: Final = 500
_WEBHOOK_RUNNERS: Final = 8
_LONGEST_PAUSE_SECONDS: Final = 60.0  # the wall clock may be set meanwhile
_FAKE_CLOCK_SECONDS: Final = 0.05
_LONGEST_ERROR: Final = 300


class DeclaredHook(Struct, frozen=True):
    """A hook of the program, and for how many seconds a failed call is repeated."""

    hook: Hook
    name: str
    retry_seconds: float = DAY_SECONDS


class HookDelivery:
    def __init__(
        self,
        declared: DeclaredHook,
        store: Store,
        call: Callable[[SaveRecord], Awaitable[Any]],
        clock: Clock,
        *,
        is_leading: Callable[[], bool],
    ) -> None:
        self.name = declared.name
        self.begin: int | None = None  # the cursor of a hook that has none yet
        self.service = Service(f"hook {declared.name}", self.run_once)
        self._runners: set[asyncio.Task[None]] = set()
        self._new_progress: Callable[[], DeliveryProgress] = lambda: DeliveryProgress(
            declared, store, call, clock, self._runners, self.service.wake
        )
        self._progress = self._new_progress()
        self._is_leading = is_leading

    @property
    def undelivered(self) -> int:
        """The number of ends that this leader has read and the hook has not accepted."""
        return self._progress.undelivered

    def lag_seconds(self) -> float:
        """Return the seconds since the end of the oldest job that the hook has not accepted."""
        return self._progress.lag_seconds()

    def reset(self) -> None:
        """Discard the state in memory; the next run loads it."""
        for runner in self._runners:
            runner.cancel()
        self._progress = self._new_progress()

    async def run_once(self) -> float | None:
        if not self._is_leading():
            return None  # an election wakes this service
        return await self._progress.run_once(self.begin)

    async def close(self) -> None:
        self.reset()
        await asyncio.gather(*self._runners, return_exceptions=True)


class DeliveryProgress:
    """The progress of a delivery while this process leads; a new one begins with each election."""

    def __init__(
        self,
        declared: DeclaredHook,
        store: Store,
        call: Callable[[SaveRecord], Awaitable[Any]],
        clock: Clock,
        runners: set[asyncio.Task[None]],
        wake: Callable[[], None],
    ) -> None:
        self._hook = declared.hook
        self._name = declared.name
        self._retry_seconds = declared.retry_seconds
        self._store = store
        self._call = call
        self._clock = clock
        self._runners = runners  # a runner of the progress before may still wait for its thread
        self._wake = wake
        self._most_runners = _WEBHOOK_RUNNERS if isinstance(self._hook, Webhook) else 1
        self._read_up_to: int | None = None
        self._stored_cursor: int | None = None
        self._open: dict[int, Notice] = {}  # ends that were read and not called once, in order
        self._new: deque[tuple[Notice, JobView]] = deque()
        self._waiting: dict[int, Notice] = {}  # failed at least once
        self._due: list[tuple[float, int]] = []  # a heap of repetitions
        self._unsaved: dict[str, str | None] = {}  # records to write
        self._takes_new = False

    @property
    def undelivered(self) -> int:
        return len(self._open) + len(self._waiting)

    def lag_seconds(self) -> float:
        notices = [*self._waiting.values(), *list(self._open.values())[:1]]
        oldest = min((notice.ended_at for notice in notices), default=None)
        return 0.0 if oldest is None else max(0.0, self._clock.now() - oldest)

    async def run_once(self, begin: int | None) -> float | None:
        """Read ends, let runners call the hook, and store the progress."""
        if self._read_up_to is None:
            await self._load(begin)
        if not self._new and len(self._waiting) < MOST_WAITING:
            await self._read_ends()
        self._start_runners()
        await self._save()
        if self._new or not self._due:
            return None  # a runner or a commit wakes this service
        seconds = self._clock.seconds_until(self._due[0][0])
        return _FAKE_CLOCK_SECONDS if seconds is None else min(seconds, _LONGEST_PAUSE_SECONDS)

    # progress

    async def _load(self, begin: int | None) -> None:
        stored = (await self._store.records(CURSOR_KIND)).get(self._name)
        records = await self._store.records(NOTICE_KIND)
        if begin is None:
            begin = await self._store.last_seq()
        if stored is not None:
            begin = self._stored_cursor = int(stored)
        for name, body in records.items():
            if hook_of(name) == self._name:
                self._wait(decode_notice(body))
        self._read_up_to = begin

    async def _read_ends(self) -> None:
        assert self._read_up_to is not None
        while not self._new:
            events = await self._store.events(self._read_up_to, _CHUNK)
            if events is None:
                log.warning(
                    "events of ended jobs were deleted before hook %s was called for them",
                    self._name,
                )
                self._read_up_to = await self._store.last_seq()
                return
            ends = [(event, event.job) for event in events if _is_end(event) and event.job]
            views = await self._store.jobs([job for _, job in ends])
            for event, job in ends:
                if job in views and event.seq not in self._waiting:
                    self._add(event, job, views[job])
            if events:
                self._read_up_to = events[-1].seq
            if len(events) < _CHUNK:
                return

    def _add(self, event: EventView, job: JobId, view: JobView) -> None:
        notice = notice_of(self._name, event, job)
        self._open[event.seq] = notice
        self._new.append((notice, view))

    async def _save(self) -> None:
        """Store failed notices, and only then the cursor that passes them."""
        cursor = next(iter(self._open)) - 1 if self._open else self._read_up_to
        unsaved = dict(self._unsaved)
        await asyncio.gather(
            *(
                self._call(SaveRecord(new_id(), NOTICE_KIND, name, body))
                for name, body in unsaved.items()
            )
        )
        for name, body in unsaved.items():
            if name in self._unsaved and self._unsaved[name] == body:
                del self._unsaved[name]
        if cursor != self._stored_cursor:
            await self._call(SaveRecord(new_id(), CURSOR_KIND, self._name, str(cursor)))
            self._stored_cursor = cursor

    # calls

    def _start_runners(self) -> None:
        due = bool(self._due) and self._due[0][0] <= self._clock.now()
        wanted = min(self._most_runners, len(self._new) + (len(self._due) if due else 0))
        while len(self._runners) < wanted:
            runner = asyncio.create_task(self._run())
            self._runners.add(runner)
            runner.add_done_callback(self._end_runner)

    def _end_runner(self, runner: asyncio.Task[None]) -> None:
        self._runners.discard(runner)
        if not runner.cancelled() and runner.exception() is not None:
            log.error("a call of hook %s ended early", self._name, exc_info=runner.exception())
        self._wake()

    async def _run(self) -> None:
        """Call the hook until no end and no repetition is left."""
        thread = DaemonThread(f"fairlane-hook {self._name}")
        try:
            while (taken := self._take()) is not None:
                await self._try(*taken, thread)
        finally:
            thread.close()

    def _take(self) -> tuple[Notice, JobView | None] | None:
        self._takes_new = not self._takes_new
        due = bool(self._due) and self._due[0][0] <= self._clock.now()
        if self._new and (self._takes_new or not due):
            return self._new.popleft()
        if not due:
            return None
        return self._waiting[heappop(self._due)[1]], None

    async def _try(self, notice: Notice, view: JobView | None, thread: DaemonThread) -> None:
        try:
            if view is None:
                view = (await self._store.jobs([notice.job])).get(notice.job)
            if view is not None:
                await self._call_hook(notice, view_of_end(notice, view), thread)
        except (Exception, SystemExit, asyncio.CancelledError) as error:  # user code
            task = asyncio.current_task()
            if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
                raise
            self._fail(notice, error)
        else:
            if view is None:
                log.warning("job %s was pruned before hook %s accepted it", notice.job, self._name)
            self._forget(notice)

    async def _call_hook(self, notice: Notice, view: JobView, thread: DaemonThread) -> None:
        hook = self._hook
        if isinstance(hook, Webhook):
            work = thread.submit(lambda: hook.post(view, notice.key))
            await asyncio.wrap_future(work)  # a stop does not wait for a slow receiver
            return
        if inspect.iscoroutinefunction(hook) or inspect.iscoroutinefunction(type(hook).__call__):
            await hook(view)
            return
        value = await await_thread(thread.submit(lambda: hook(view)))
        if inspect.isawaitable(value):
            await value

    def _forget(self, notice: Notice) -> None:
        self._open.pop(notice.seq, None)
        if self._waiting.pop(notice.seq, None) is not None:
            self._unsaved[notice.record_name] = None

    def _fail(self, notice: Notice, error: BaseException) -> None:
        now = self._clock.now()
        notice.until = notice.until or now + self._retry_seconds
        notice.tries += 1
        notice.tried_at = now
        notice.error = storable(str(error) or type(error).__name__)[:_LONGEST_ERROR]
        if now >= notice.until:
            log.error(
                "hook %s was not called for job %s: it failed %d times, last with: %s",
                self._name, notice.job, notice.tries, notice.error,
            )  # fmt: skip
            self._forget(notice)
            return
        first = notice.tries == 1
        self._wait(notice)
        self._unsaved[notice.record_name] = notice.encode()
        self._open.pop(notice.seq, None)
        log.warning(
            "hook %s failed for job %s, try %d: %s; it is repeated until %d s after the first",
            self._name, notice.job, notice.tries, notice.error, self._retry_seconds,
            exc_info=error if first and not isinstance(self._hook, Webhook) else None,
        )  # fmt: skip

    def _wait(self, notice: Notice) -> None:
        key = notice.record_name if self._clock.jitter else None
        began_at = min(notice.tried_at, self._clock.now())  # the clock may have been set back
        due_at = began_at + BACKOFF.wait_seconds(notice.tries, key=key)
        self._waiting[notice.seq] = notice
        heappush(self._due, (due_at, notice.seq))


def _is_end(event: EventView) -> bool:
    state = event.data.get("state")
    return event.type == "job_state_changed" and state is not None and State(state) in FINAL
