"""One process of several on a database: its lease, and its messages from and to the leader."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from fairlane.cluster.lease_renewal import LeaseCallbacks, LeaseRenewal, LeaseTimes
from fairlane.cluster.mailbox import WorkerMailbox
from fairlane.core.inputs import FromWorker, Input
from fairlane.errors import StoreUnavailable
from fairlane.runtime.clock import Clock
from fairlane.runtime.service import Service
from fairlane.store.shared_protocol import ELECTED, SharedStore

if TYPE_CHECKING:
    from fairlane.engine.engine import Engine
    from fairlane.worker.worker import Worker

log = logging.getLogger("fairlane.engine")

_LEASE_SECONDS: Final = 15.0


class Membership:
    """The parts of an engine that exist only because other processes share its database.

    Of the engine it uses the seams that a simulated engine replaces: the thread of the lease
    renewal, the clock of the lease, and the end of the process.
    """

    def __init__(
        self,
        engine: "Engine",
        worker: "Worker",
        store: SharedStore,
        clock: Clock,
        poll_seconds: Callable[[], float],
        times: LeaseTimes,
        *,
        notify_channel: Callable[[str], None],
    ) -> None:
        self._engine = engine
        self._worker = worker
        self._store = store
        self._times = times
        self._notify_channel = notify_channel
        self._loop = asyncio.get_running_loop()
        self.mailbox = WorkerMailbox(
            store,
            clock,
            worker_id=lambda: worker.id,
            unacknowledged=worker.unacknowledged,
            execute_orders=worker.execute_orders,
            poll_seconds=poll_seconds,
        )
        self._lease_renewal: LeaseRenewal | None = None
        worker.has_valid_lease = lambda: (
            self._lease_renewal is None or self._lease_renewal.is_held()
        )
        self._has_lease = asyncio.Event()
        self._is_over = False
        self._restarting: asyncio.Task[None] | None = None  # a reference keeps the task alive
        self.services: Sequence[Service] = (self.mailbox.sending, self.mailbox.receiving)

    async def begin(self, *, works: bool) -> None:
        """Listen to the store, and take out the lease before the leader can assign jobs."""
        await self._store.listen(self._notified)
        if works:
            self._start_renewal()
            try:
                async with asyncio.timeout(_LEASE_SECONDS):
                    await self._has_lease.wait()
            except TimeoutError:
                raise StoreUnavailable(
                    "no lease could be taken out, so this process cannot be given work; "
                    "see the log for why the database refuses it"
                ) from None

    async def end(self) -> None:
        self._is_over = True
        if self._lease_renewal is not None:
            self._lease_renewal.stop()
            await self._engine.join_lease_renewal()

    @property
    def is_listening(self) -> bool:
        return self._store.is_listening

    def sees_leader(self) -> bool:
        """Tell whether another process led a moment ago; from any thread."""
        return self._lease_renewal is not None and self._lease_renewal.sees_leader()

    def _notified(self, channel: str) -> None:
        if channel == ELECTED:
            channel = ""  # the notifications of the leader before may be missing
        # The leader's own worker is handed its orders, and reads messages only if one is missing.
        if channel == "" or (channel == self._worker.id and not self.mailbox.leading):
            self.mailbox.receiving.wake()
        if channel == "":
            self.mailbox.sending.wake()  # the database is back, or another process leads
        self._notify_channel(channel)

    # messages

    def send(self, inputs: Sequence[Input]) -> None:
        """Send the worker's inputs to the leader in another process."""
        self.mailbox.send(*(input for input in inputs if isinstance(input, FromWorker)))

    def change_leadership(self, leading: bool) -> None:
        self.mailbox.elected(leading=leading)
        if not leading:
            self.send(self._engine.inbox.pop_all())  # the leader is in another process now

    # the lease

    def _start_renewal(self) -> None:
        worker = self._worker
        callbacks = LeaseCallbacks(
            is_standby=self._engine.is_standby,
            stand=self._engine.leader.stand_soon,
            renew_deadline=worker.process_deadline.renew,
            is_running=worker.has_attempts_of,
            introduce=lambda: self._call_soon(self._introduce),
            return_jobs=lambda: self._call_soon(worker.return_jobs),
            resume=lambda: self._call_soon(self._resume),
            restart=lambda: self._call_soon(self._restart),
            end_process=lambda: self._engine.end_process(),
        )
        self._lease_renewal = LeaseRenewal(
            worker.id, self._store.lease(worker.id), callbacks,
            times=self._times, now=self._engine.now,
        )  # fmt: skip
        self._engine.start_lease_renewal(self._lease_renewal)

    def _call_soon(self, function: Callable[[], None]) -> None:
        try:
            self._loop.call_soon_threadsafe(function)
        except RuntimeError:
            pass  # the loop of the program has ended

    @property
    def lease_ends_at(self) -> float | None:
        """Return until when no other process runs the jobs of this one."""
        renewed_at = None if self._lease_renewal is None else self._lease_renewal.renewed_at
        return None if renewed_at is None else renewed_at + self._times.lease_seconds

    def _introduce(self) -> None:
        self._has_lease.set()
        self._engine.introduce_worker()

    def _resume(self) -> None:
        self._worker.resume()
        self._engine.introduce_worker()

    def _restart(self) -> None:
        self._worker.restart_with_new_id()
        self.mailbox.restart_with_new_id()
        self._restarting = self._loop.create_task(self._resume_when_idle())

    async def _resume_when_idle(self) -> None:
        """Resume with the new worker id, once no attempt of the old one runs any more."""
        await self._worker.idle.wait()
        if not self._is_over:
            self._worker.resume()
            self._start_renewal()  # the worker is introduced when it has its lease
