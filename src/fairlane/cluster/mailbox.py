"""The mailbox between a worker and a leader that may be in another process.

Both directions are rows in the database: inputs of the worker go into the inbox table, orders of
the leader are messages. If the leader is in this process, both are passed in memory, and the
messages are stored all the same: after a change of leader the worker finds all its orders, in
order and once.
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

_MOST: Final = 1_000  # inputs in one row
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
        poll_seconds: Callable[[], float],
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
        self._number = 0  # of the last message that was executed
        self._deleted_up_to = 0
        self._deleted_at = 0.0
        self.leading = False
        self.sending = Service("sending", self._send)
        self.receiving = Service("receiving", self.receive)

    def __len__(self) -> int:
        return len(self._outgoing)

    # inputs of the worker

    def send(self, *inputs: FromWorker) -> None:
        """Send inputs to the leader; from any thread."""
        self._outgoing.extend(inputs)
        self._loop.call_soon_threadsafe(self.sending.wake)

    def elected(self, *, leading: bool) -> None:
        """Send by memory or by the database from now on."""
        self.leading = leading
        self._sent_at.clear()
        if not leading:
            # The leader in this process may not have decided them.
            self.send(*self._unacknowledged().values())
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
        """Send unacknowledged inputs again after a while: the database may have lost them."""
        now = self._loop.time()
        waiting = self._unacknowledged()
        self._sent_at = {token: self._sent_at.get(token, now) for token in waiting}
        for token, input in waiting.items():
            if now - self._sent_at[token] >= _REPEAT_SECONDS:
                self._sent_at[token] = now
                self._outgoing.append(input)

    # orders of the leader

    def deliver(self, at: MessageRef, orders: Orders, payloads: Mapping[JobId, Payload]) -> None:
        """Execute orders of the leader in this process, unless earlier messages are unread."""
        if at.after > self._number:
            self.receiving.wake()
        elif at.number > self._number:
            self._number = at.number
            self._execute_orders(orders, payloads)

    async def receive(self) -> float:
        """Read and execute all messages; return the seconds until the next poll."""
        worker = self._worker_id()
        messages = await self._store.messages(worker, self._number)
        read = [(message.number, _decode.decode(message.body)) for message in messages]
        starts = [start for _, orders in read for start in orders.starts]
        payloads = await self._store.assigned_payloads(starts) if starts else {}
        if worker != self._worker_id():
            return 0.0  # the worker has restarted: these messages are for its old id
        for number, orders in read:
            if number > self._number:
                self._number = number
                self._execute_orders(orders, payloads)
        await self._delete_executed(worker)
        return self._poll_seconds()

    async def _delete_executed(self, worker: WorkerId) -> None:
        """Delete executed messages, many at a time."""
        now = self._loop.time()
        if self._number > self._deleted_up_to and now - self._deleted_at >= _FORGET_SECONDS:
            await self._store.delete_messages(worker, self._number)
            self._deleted_up_to, self._deleted_at = self._number, now

    def restart_with_new_id(self) -> None:
        """Drop the inputs of the old worker id."""
        self._outgoing.clear()
        self._sent_at.clear()


def _encode_batch(batch: list[FromWorker]) -> str:
    try:
        return _encode(batch).decode()
    except (TypeError, ValueError, RecursionError):
        return _encode([input for input in map(_encodable, batch) if input is not None]).decode()


def _encodable(input: FromWorker) -> FromWorker | None:
    """Return an input that JSON can encode: an outcome without its values, or None."""
    try:
        _encode(input)
    except (TypeError, ValueError, RecursionError) as error:
        log.exception("an input of a worker cannot be encoded")
        if isinstance(input, Outcome):
            failure = Failure("internal_error", f"its outcome cannot be encoded: {error!r}", False)
            return Outcome(input.job, input.worker, input.fence, "failed", failure=failure)
        return None
    return input
