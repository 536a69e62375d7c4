"""One process among several that work on a database: its lease, and its words with the leader."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from fairlane.cluster.fleet import MessageRef
from fairlane.cluster.lease_renewal import LeaseRenewal, LeaseTimes
from fairlane.cluster.mailbox import WorkerMailbox
from fairlane.core.decisions import Orders
from fairlane.core.inputs import FromWorker, Input
from fairlane.core.live_job import JobId, WorkerId
from fairlane.errors import StoreUnavailable
from fairlane.runtime.clock import Clock
from fairlane.runtime.poll_intervals import PollIntervals
from fairlane.runtime.service import Service
from fairlane.store.shared_protocol import SharedStore
from fairlane.store.views import Payload

if TYPE_CHECKING:
    from fairlane.engine.engine import Engine

log = logging.getLogger("fairlane.engine")

_LEASE_SECONDS: Final = 15.0


class Membership:
    """Everything in an engine that is there only because others work beside it."""

    def __init__(
        self,
        engine: "Engine",
        store: SharedStore,
        clock: Clock,
        intervals: PollIntervals,
        terms: LeaseTimes,
    ) -> None:
        self._engine = engine
        self._store = store
        self._terms = terms
        self._loop = asyncio.get_running_loop()
        self._mailbox = WorkerMailbox(
            store,
            engine.worker,
            clock,
            engine.worker.execute_orders,
            look_seconds=intervals.others_seconds,
        )
        self._lease_renewal: LeaseRenewal | None = None
        engine.worker.has_valid_lease = lambda: (
            self._lease_renewal is None or self._lease_renewal.is_held()
        )
        self._has_lease = asyncio.Event()
        self._is_over = False
        self._rising: asyncio.Task[None] | None = None  # kept, or nobody would keep it alive
        self.services: Sequence[Service] = (self._mailbox.sending, self._mailbox.receiving)

    async def begin(self) -> None:
        """Take out a lease, before anybody can give us work."""
        await self._store.listen(self._hinted)
        if self._engine.works:
            self._beat()
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

    def _hinted(self, name: str) -> None:
        # Who leads is handed its orders, and reads along only where one seems to be missing.
        if name == "" or (name == self._engine.worker.id and not self._mailbox.leading):
            self._mailbox.receiving.wake()
        if name == "":
            self._mailbox.sending.wake()  # the database is back
        self._engine.hinted(name)

    # to and from the leader

    @property
    def unsaid(self) -> int:
        return len(self._mailbox)

    def put(self, *inputs: Input) -> None:
        self._mailbox.put(*(said for said in inputs if isinstance(said, FromWorker)))

    def deliver(self, at: MessageRef, orders: Orders, payloads: Mapping[JobId, Payload]) -> None:
        self._mailbox.deliver(at, orders, payloads)

    async def catch_up(self) -> None:
        """Read everything that our worker has been told so far."""
        await self._mailbox.receive()

    def elected(self, *, leading: bool) -> None:
        self._mailbox.elected(leading=leading)
        if not leading:
            inbox = self._engine.inbox
            self.put(*inbox.take_all())  # nobody here will look at it

    # the lease

    def _beat(self) -> None:
        worker = self._engine.worker
        self._lease_renewal = LeaseRenewal(
            worker.id, self._store.lease(worker.id), worker.process_deadline.renew, self,
            terms=self._terms, now=self._engine.now,
        )  # fmt: skip
        self._engine.start_lease_renewal(self._lease_renewal)

    def runs(self, worker: WorkerId) -> bool:
        return self._engine.worker.has_attempts_of(worker)

    def introduce(self) -> None:
        self._soon(self._introduce_here)

    def return_jobs(self) -> None:
        self._soon(self._engine.worker.return_jobs)

    def renewed(self) -> None:
        self._soon(self._renewed_here)

    def died(self) -> None:
        self._soon(self._died_here)

    def _soon(self, what: object) -> None:
        try:
            self._loop.call_soon_threadsafe(what)  # type: ignore[arg-type]
        except RuntimeError:
            pass  # the loop has ended, and everything on it

    def end_process(self) -> None:
        self._engine.end_process()

    @property
    def lease_ends_at(self) -> float | None:
        """Return until when nobody else runs what this process runs."""
        renewed_at = None if self._lease_renewal is None else self._lease_renewal.renewed_at
        return None if renewed_at is None else renewed_at + self._terms.lease_seconds

    def _introduce_here(self) -> None:
        self._has_lease.set()
        self._engine.say(*self._engine.joined())

    def _renewed_here(self) -> None:
        self._engine.worker.resume()
        self._engine.say(*self._engine.joined())

    def _died_here(self) -> None:
        worker = self._engine.worker
        worker.restart_with_new_id()
        self._mailbox.restart_with_new_id()
        self._rising = self._loop.create_task(self._rise())

    async def _rise(self) -> None:
        """Begin as another worker, once nothing of the former one runs any more."""
        worker = self._engine.worker
        await worker.idle.wait()
        if not self._is_over:
            worker.resume()
            self._beat()  # it introduces itself when it has its lease
