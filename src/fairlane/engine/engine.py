"""The engine of one process: a leader that may lead, a worker that works, and those who listen.

The leader has a thread and a loop of its own; everything else lives on the loop that started the
engine. Decisions cross from one to the other as one call per commit.
"""

import asyncio
import logging
import os
import socket
import threading
from collections.abc import Callable, Mapping
from typing import Any, Final

from fairlane.core.decisions import Decisions, Stop
from fairlane.core.inputs import Ask, Command, Input, WorkerGone, WorkerJoined
from fairlane.core.job import JobId
from fairlane.core.lifecycle import State
from fairlane.engine.calls import Calls
from fairlane.engine.clock import Clock
from fairlane.engine.definition import Definition
from fairlane.engine.feed import Feed
from fairlane.engine.hooks import Hook, Hooks
from fairlane.engine.inbox import Inbox
from fairlane.engine.leader import Leader
from fairlane.engine.publishing import clean_up, remove_finished
from fairlane.engine.rhythm import USUAL, Rhythm
from fairlane.engine.services import Service
from fairlane.engine.threads import in_thread, to_its_end
from fairlane.engine.waits import Waits
from fairlane.engine.worker import Worker
from fairlane.ids import new_id
from fairlane.store.protocol import Store
from fairlane.store.views import Payload

log = logging.getLogger("fairlane.engine")

_FAREWELL_SECONDS: Final = 5.0


class Engine:
    def __init__(
        self,
        store: Store,
        definitions: Mapping[str, Definition],
        declare: Callable[[Mapping[tuple[str, str], str]], list[Input]],
        *,
        clock: Clock,
        slots: int,
        recheck_seconds: float,
        hooks: list[Hook],
        work: bool,
        inbox: Inbox | None = None,
        rhythm: Rhythm = USUAL,
    ) -> None:
        self.store = store
        self.inbox = Inbox() if inbox is None else inbox
        self.calls = Calls(store, self.inbox, clock, rhythm)
        self.feed = Feed(store)
        self.waits = Waits(store)
        self.worker = Worker(
            self.inbox.put_together,
            definitions,
            clock,
            slots=slots,
            recheck_seconds=recheck_seconds,
        )
        self.leader = Leader(store, self.inbox, clock, self, rhythm)
        self._declare = declare
        self._definitions = definitions
        self._work = work
        self._rhythm = rhythm
        self._loop = asyncio.get_running_loop()
        self._elected = asyncio.Event()
        self._thread: threading.Thread | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._hooks = Hooks(store, hooks, self.calls.call)
        self._hook_service = Service("hooks", self._call_hooks)
        self._feed_service = Service("feed", self._pump)
        self._seen = -1
        self._ended: set[JobId] = set()
        self._anything_ended = False
        self._wait_service = Service("waits", self._look)

    async def start(self) -> None:
        await self._hooks.prepare()
        self.begin_to_lead()
        services = [
            Service("reports", self.worker.flush_reports),
            Service("preconditions", self.worker.recheck_blocked),
            self._hook_service,
            self._feed_service,
            self._wait_service,
        ]
        self._tasks = [asyncio.create_task(service.run()) for service in services]
        try:
            await self._elected.wait()
        except BaseException:
            await to_its_end(self._end())
            raise

    def begin_to_lead(self) -> None:
        """Give the leader a thread of its own, so that user code which blocks cannot stop it."""
        self._thread = threading.Thread(target=self._lead, name="fairlane-leader", daemon=True)
        self._thread.start()

    async def led(self) -> None:
        """Return when the leader has ended."""
        if self._thread is not None:
            await in_thread(self._thread.join)

    def _lead(self) -> None:
        try:
            asyncio.run(self.leader.run())
        except Exception:
            log.exception("the leader ended with an error that it should have handled")

    async def stop(self, grace_seconds: float) -> None:
        """Hand back what runs, have it recorded, and end."""
        self.inbox.put(self._joined(accepting=False))
        try:
            await self.worker.close(grace_seconds)
            if self.calls.leading:
                self.inbox.put(WorkerGone(self.worker.id))
                await self._said_everything()
        finally:
            await to_its_end(self._end())

    async def _end(self) -> None:
        self.leader.stop()
        await self.led()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self.calls.lost()
        self.waits.close()
        await self.feed.close()

    async def _said_everything(self) -> None:
        deadline = self._loop.time() + _FAREWELL_SECONDS
        while (  # noqa: ASYNC110 - bounded, and only while stopping
            self.worker.unsettled() or len(self.inbox)
        ) and self._loop.time() < deadline:
            await asyncio.sleep(0.005)

    async def settled(self) -> None:
        """Return once the leader has decided on everything there is now, and we have heard of it.

        Two rounds: what the first one brings about (an outcome, a start) is decided in the second.
        """
        for _ in range(2):
            await self.worker.flush_reports()
            await self.call(Ask(new_id(), queued=""))
            await asyncio.sleep(0)

    # what the leader asks of us, on its thread

    def joined(self) -> list[Input]:
        return [self._joined(accepting=self.worker.accepting)] if self._work else []

    def declared(self, stored: Mapping[tuple[str, str], str]) -> list[Input]:
        return self._declare(stored)

    def still_runs(self) -> bool:
        return self.worker.running > 0

    def unsettled(self) -> list[Input]:
        return self.worker.unsettled()

    def _joined(self, *, accepting: bool) -> WorkerJoined:
        return WorkerJoined(
            id=self.worker.id,
            name=f"{socket.gethostname()}:{os.getpid()}",
            slots=self.worker.slots,
            tasks=tuple(sorted(self._definitions)),
            accepting=accepting,
            host=socket.gethostname(),
            pid=os.getpid(),
        )

    def is_own(self, worker: str) -> bool:
        return worker == self.worker.id

    def clean_up(self, payloads: Mapping[JobId, Payload]) -> None:
        for job, payload in payloads.items():
            for path in clean_up(payload.kept):
                log.info("removed %s, left half written by job %s", path, job)

    def discard(self, payloads: Mapping[JobId, Payload]) -> None:
        for payload in payloads.values():
            remove_finished(payload.kept)
            clean_up(payload.kept)

    def found(self, tasks: set[str]) -> None:
        unknown = sorted(tasks - set(self._definitions)) if self._work else []
        if unknown:
            log.warning(
                "jobs wait for tasks that this program does not have: %s; they stay queued until a "
                "program that has them runs, or they are cancelled", ", ".join(unknown)
            )  # fmt: skip

    def reloaded(self, stops: list[Stop]) -> None:
        self._loop.call_soon_threadsafe(self._reloaded_here, stops)

    def elected(self, *, leading: bool) -> None:
        self._loop.call_soon_threadsafe(self._elected_here, leading)

    def perform(self, decisions: Decisions, payloads: Mapping[JobId, Payload]) -> None:
        self._loop.call_soon_threadsafe(self._perform_here, decisions, payloads)

    # and what becomes of it, on ours

    def _elected_here(self, leading: bool) -> None:
        if self.calls.leading and not leading:
            self.calls.lost()
        self.calls.leading = leading
        self._elected.set()
        self._wait_service.wake()
        self._hook_service.wake()

    def _reloaded_here(self, stops: list[Stop]) -> None:
        for stop in stops:
            self.worker.stop(stop)
        self._anything_ended = True
        self._wait_service.wake()
        self._hook_service.wake()
        self._feed_service.wake()

    def _perform_here(self, decisions: Decisions, payloads: Mapping[JobId, Payload]) -> None:
        worker = self.worker
        if decisions.durable:
            worker.settled(decisions.durable)
        if decisions.granted:
            worker.settled(decisions.granted)
        if decisions.denied:
            worker.denied(decisions.denied)
        if decisions.unblock:
            worker.unwatch(decisions.unblock)
        if decisions.starts:
            worker.accept(decisions.starts, payloads)
        for stop in decisions.stops:
            worker.stop(stop)
        self.calls.answered(decisions.answers)
        if decisions.changes.ended:
            worker.forget(decisions.changes.ended)
            _log_failures(decisions)
            if self._hooks.any:
                self._hook_service.wake()
            awaited = self.waits.awaited(decisions.changes.ended)
            if awaited:
                self._ended.update(awaited)
                self._wait_service.wake()
        if decisions.changes.events and self.feed.has_followers:
            self._feed_service.wake()

    # services

    async def _look(self) -> float | None:
        """Tell who waits for jobs; where another process leads, watch the store for changes."""
        ended, self._ended = self._ended, set()
        anything, self._anything_ended = self._anything_ended, False
        if self.calls.leading:
            try:
                await self.waits.look(None if anything else ended)
            except BaseException:
                self._anything_ended = True  # the next look must not miss what this one did not see
                raise
            return None
        if self.waits.anybody or self.feed.has_followers:
            version = await self.store.version()
            if version != self._seen:
                self._seen = version
                await self.waits.look(None)
                await self.feed.pump()
        return self._rhythm.others_seconds

    async def _pump(self) -> float | None:
        await self.feed.pump()
        return None

    async def _call_hooks(self) -> float | None:
        if self.calls.leading:
            await self._hooks.run_once()
        return None

    async def call(self, command: Command) -> Any:
        return await self.calls.call(command)


def _log_failures(decisions: Decisions) -> None:
    """A job that failed for good is told to whoever reads the log, even if nobody waits for it."""
    for job, ended in decisions.changes.ended.items():
        if ended.job.state is State.FAILED:
            error = ended.error or {}
            log.warning(
                "job %s of task %s failed in attempt %d: %s",
                job, ended.job.task, ended.job.attempt, error.get("message", "no reason kept"),
            )  # fmt: skip
