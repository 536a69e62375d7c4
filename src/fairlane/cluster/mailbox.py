"""What goes to and fro between our worker and a leader that may be in another process.

Both ways it is rows in the database: what the worker says goes into the inbox, what it is told are
messages. Where the leader is in this process both are handed over directly, and the messages are
there all the same: whoever leads next, a worker finds everything it was told, in order and once.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from fairlane.cluster.fleet import MessageRef
from fairlane.core.decisions import Orders
from fairlane.core.inputs import Failure, FromWorker, Outcome
from fairlane.core.live_job import JobId, WorkerId
from fairlane.ids import new_id
from fairlane.runtime.clock import Clock
from fairlane.runtime.service import Service
from fairlane.store.shared_protocol import SharedStore
from fairlane.store.views import Payload

log = logging.getLogger("fairlane.worker")

_MOST: Final = 1_000  # of what is said in one row
_REPEAT_SECONDS: Final = 5.0
_FORGET_SECONDS: Final = 1.0
_decode: Final = msgspec.json.Decoder(Orders)
_encode: Final = msgspec.json.Encoder().encode


class WorkerMailbox:
    def __init__(
        self,
        store: SharedStore,
        clock: Clock,
        *,
        worker_id: Callable[[], WorkerId],
        unacknowledged: Callable[[], Mapping[str, FromWorker]],
        execute_orders: Callable[[Orders, Mapping[JobId, Payload]], None],
        poll_seconds: float,
    ) -> None:
        self._store = store
        self._clock = clock
        self._worker_id = worker_id  # changes when the worker restarts
        self._unacknowledged = unacknowledged  # inputs of the worker, by token
        self._execute_orders = execute_orders
        self._poll_seconds = poll_seconds
        self._loop = asyncio.get_running_loop()
        self._outgoing: deque[FromWorker] = deque()
        self._sent_at: dict[str, float] = {}
        self._number = 0  # of the last message that was obeyed
        self._deleted_up_to = 0
        self._deleted_at = 0.0
        self.leading = False
        self.sending = Service("sending", self._send)
        self.receiving = Service("receiving", self.receive)

    def __len__(self) -> int:
        return len(self._outgoing)

    # what the worker says

    def send(self, *said: FromWorker) -> None:
        """Have it said; from any thread."""
        self._outgoing.extend(said)
        self._loop.call_soon_threadsafe(self.sending.wake)

    def elected(self, *, leading: bool) -> None:
        """Begin or cease to be beside the leader."""
        self.leading = leading
        self._sent_at.clear()
        if not leading:
            self.send(*self._unacknowledged().values())  # nobody knows what came of it
        self.receiving.wake()

    async def _send(self) -> float:
        if not self.leading:
            self._repeat()
        while self._outgoing:
            batch = [self._outgoing.popleft() for _ in range(min(_MOST, len(self._outgoing)))]
            try:
                await self._store.send_report(new_id(), _encode_batch(batch), self._clock.now())
            except BaseException:
                self._outgoing.extendleft(reversed(batch))
                raise
        return _REPEAT_SECONDS / 2

    def _repeat(self) -> None:
        """Say again what nobody has acknowledged for a while: the database may have lost it."""
        now = self._loop.time()
        waiting = self._unacknowledged()
        self._sent_at = {token: self._sent_at.get(token, now) for token in waiting}
        for token, said in waiting.items():
            if now - self._sent_at[token] >= _REPEAT_SECONDS:
                self._sent_at[token] = now
                self._outgoing.append(said)

    # what it is told

    def deliver(self, at: MessageRef, orders: Orders, payloads: Mapping[JobId, Payload]) -> None:
        """Obey what the leader beside us decided, unless earlier messages must be read first."""
        if at.after > self._number:
            self.receiving.wake()
        elif at.number > self._number:
            self._number = at.number
            self._execute_orders(orders, payloads)

    async def receive(self) -> float:
        """Read and obey every message there is; return when to look again."""
        worker = self._worker_id()
        messages = await self._store.messages(worker, self._number)
        read = [(message.number, _decode.decode(message.body)) for message in messages]
        starts = [start for _, orders in read for start in orders.starts]
        payloads = await self._store.assigned_payloads(starts) if starts else {}
        if worker != self._worker_id():
            return 0.0  # it began anew meanwhile: these were for its former self
        for number, orders in read:
            if number > self._number:
                self._number = number
                self._execute_orders(orders, payloads)
        await self._delete_executed(worker)
        return self._poll_seconds

    async def _delete_executed(self, worker: WorkerId) -> None:
        """Have messages that were obeyed removed, many at a time."""
        now = self._loop.time()
        if self._number > self._deleted_up_to and now - self._deleted_at >= _FORGET_SECONDS:
            await self._store.delete_messages(worker, self._number)
            self._deleted_up_to, self._deleted_at = self._number, now

    def restart_with_new_id(self) -> None:
        """The worker has a new id: nothing said or told before concerns it."""
        self._outgoing.clear()
        self._sent_at.clear()


def _encode_batch(batch: list[FromWorker]) -> str:
    try:
        return _encode(batch).decode()
    except (TypeError, ValueError, RecursionError):
        return _encode([said for said in map(_encodable, batch) if said is not None]).decode()


def _encodable(said: FromWorker) -> FromWorker | None:
    """Return what can be written of it; an attempt is over, whatever cannot be said about it."""
    try:
        _encode(said)
    except (TypeError, ValueError, RecursionError) as error:
        log.exception("what a worker said cannot be written")
        if isinstance(said, Outcome):
            failure = Failure("internal_error", f"its outcome cannot be written: {error!r}", False)
            return Outcome(said.job, said.worker, said.fence, "failed", failure=failure)
        return None
    return said
