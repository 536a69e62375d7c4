"""A host of a world: its process is started, killed and restarted under the same name."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextvars import Context, copy_context
from functools import partial
from random import Random
from typing import Any

from fairlane import Fairlane
from fairlane.core.inputs import Outcome
from fairlane.engine.engine import Engine
from fairlane.errors import FairlaneError
from fairlane.leader.inbox import Inbox
from fairlane.runtime.poll_intervals import PollIntervals
from fairlane.store.protocol import Store
from simulation.clock import ProcessClock, WallClock
from simulation.databases import Database
from simulation.engine import ForgetfulInbox, SimulatedEngine
from simulation.faulty_store import FaultyStore
from simulation.journal import Journal
from simulation.loop import Process, SimulatedLoop, current
from simulation.program import ProcessContext, declare, process_context
from simulation.store_faults import StoreFaults


class SimulatedFairlane(Fairlane):
    """The real client on the store and engine of a world."""

    def __init__(self, host: "Host", clock: ProcessClock) -> None:
        super().__init__("memory://", clock=clock, slots=host.slots, stop_grace_seconds=3.0)
        self._host = host

    def _new_store(self) -> Store:
        return self._host.open_store()

    def _new_engine(self, store: Store, **more: Any) -> Engine:
        host = self._host
        engine = super()._new_engine(
            store, kind=SimulatedEngine, inbox=host.new_inbox(), intervals=host.intervals, **more
        )
        engine.end_process = lambda: host.kill(at="its own hand")  # type: ignore[method-assign]
        return engine


class Host:
    def __init__(
        self, name: str, *, loop: SimulatedLoop, wall: WallClock, database: Database,
        journal: Journal,
        faults: StoreFaults, random: Random, intervals: PollIntervals, slots: int, lost: float,
    ) -> None:  # fmt: skip
        self.name = name
        self.slots = slots
        self.intervals = intervals
        self._loop = loop
        self._wall = wall
        self._database = database
        self._journal = journal
        self._faults = faults
        self._random = random
        self.lost = lost
        self._starts = 0
        self._frozen_since = 0.0
        self._closing: asyncio.Event | None = None
        self.committed: Callable[[Host, FaultyStore], Awaitable[None]] | None = None
        self.user_tasks: list[asyncio.Task[None]] = []
        self.stores: list[FaultyStore] = []
        self.inboxes: list[ForgetfulInbox] = []
        self.outcomes: list[Outcome] = []
        self.processes: list[Process] = []
        self.process = Process(f"{name}0")
        self.process.alive = False
        self.app: SimulatedFairlane | None = None
        self.up = False

    # start

    def start(self, run_users: Callable[["Host"], Coroutine[Any, Any, None]]) -> None:
        """Run the program, with `run_users` inside it, until it is stopped or killed."""
        self._starts += 1
        self.process = Process(f"{self.name}{self._starts}")
        self.processes.append(self.process)
        self._journal.slots[self.process.name] = self.slots
        context = copy_context()
        context.run(current.set, self.process)
        here = ProcessContext(self.process.name, self._journal, self._wall)
        context.run(process_context.set, here)
        self._loop.create_task(self._live(run_users), context=context)

    async def _live(self, run_users: Callable[["Host"], Coroutine[Any, Any, None]]) -> None:
        process = self.process
        self._closing = closing = asyncio.Event()
        self.app = app = SimulatedFairlane(self, ProcessClock(self._wall))
        declare(app)
        try:
            async with app:
                self.up = True
                living = asyncio.ensure_future(run_users(self))
                await closing.wait()
                living.cancel()
                self.stop_users()
                self.up = False
        except FairlaneError as error:
            self._journal.record_fault("start failed", f"{process.name}: {error.code}")
        finally:
            if process is self.process:
                self.up = False
                process.alive = False
                self._journal.killed(process.name)

    def open_store(self) -> Store:
        store = FaultyStore(
            self._database.store(), self.process.name, self._faults, self.kill, self._journal
        )
        if self.committed is not None:
            store.committed = partial(self.committed, self, store)
        self.stores.append(store)
        return store

    def new_inbox(self) -> Inbox:
        inbox = OutcomeRecordingInbox(self.outcomes, self._random, lost=self.lost, twice=self.lost)
        self.inboxes.append(inbox)
        return inbox

    @property
    def engine(self) -> Engine:
        assert self.app is not None
        return self.app._engine

    @property
    def is_leading(self) -> bool:
        return self.up and not self.process.frozen and self.engine.calls.leading

    # faults

    def kill(self, *, at: str | None = None) -> None:
        """End the process at its current await; the database releases its locks and sessions."""
        if self.process.alive:
            self._journal.record_fault("kill" if at is None else f"kill at {at}", self.process.name)
            self.process.alive = False
            self.process.frozen = True
            self.up = False
            self._journal.killed(self.process.name)
            self._database.release_process(self.stores[-1].real)

    def freeze(self) -> None:
        self._journal.record_fault("freeze", self.process.name)
        self._frozen_since = self._loop.time()
        self.process.frozen = True
        if self._journal.shared and self.engine.membership is not None:
            self._loop.call_at(
                self._lease_ends_at(), self._lease_expired, self.process, context=Context()
            )

    def _lease_ends_at(self) -> float:
        membership = self.engine.membership
        ends_at = None if membership is None else membership.lease_ends_at
        return max(self._loop.time(), ends_at or 0.0)

    def _lease_expired(self, process: Process) -> None:
        """Mark the runs of a frozen process as doubtful: other processes may run its jobs now."""
        if process is self.process and process.alive and process.frozen:
            self._journal.mark_doubtful(process.name)

    def thaw(self) -> None:
        if self.process.alive and self.process.frozen:
            self._journal.record_fault("thaw", self.process.name)
            self._journal.delayed(self.process.name, self._frozen_since)
            self._loop.thaw(self.process)

    def cut(self, seconds: float) -> None:
        """Cut the connection between this process and the server for `seconds`."""
        store, since = self.stores[-1], self._loop.time()
        if store.is_cut:
            return
        self._journal.record_fault("cut", self.process.name)
        store.change_connection(is_cut=True)

        def heal() -> None:
            store.change_connection(is_cut=False)
            self._journal.record_fault("heal", self.process.name)
            self._journal.delayed(self.process.name, since)

        self._loop.call_later(seconds, heal, context=Context())

    def stop_users(self) -> None:
        """Cancel the users of this process; the program continues."""
        for person in self.user_tasks:
            person.cancel()

    def close(self) -> None:
        """Stop the program as SIGTERM does."""
        self._journal.record_fault("close", self.process.name)
        if self._closing is not None:
            self._closing.set()


class OutcomeRecordingInbox(ForgetfulInbox):
    """Record the outcomes that workers report, so that a world can send them again when they are
    stale."""

    def __init__(self, heard: list[Outcome], random: Random, *, lost: float, twice: float) -> None:
        super().__init__(random, lost=lost, twice=twice)
        self._heard = heard

    def put_coalesced(self, *inputs: Any) -> None:
        self._heard.extend(said for said in inputs if isinstance(said, Outcome))
        super().put_coalesced(*inputs)
