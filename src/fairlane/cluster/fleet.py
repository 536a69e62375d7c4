"""The workers of a leader: the one of its own process, or those of many processes.

`SoloFleet`: on a database of one process, leading proves every other worker dead, and orders are
handed to the worker in memory. `SharedFleet`: other workers are alive by their leases, orders are
messages that the deciding commit writes, and time is the database's.
"""

import asyncio
import contextlib
from collections.abc import Callable, Collection, Mapping
from typing import Final, Protocol

import msgspec
from msgspec import Struct

from fairlane.cluster.lease_watch import LeaseWatch
from fairlane.core.decisions import Decisions
from fairlane.core.inputs import Input, WorkerGone, WorkerJoined
from fairlane.core.live_job import WorkerId, carrier_of
from fairlane.store.shared_protocol import SharedStore

_LOOK_SECONDS: Final = 2.5  # between two checks of the leases, which also keep the session alive
_SHORTEST_LOOK_SECONDS: Final = 0.5  # if a lease ends before the next check
_PAST_SECONDS: Final = 0.05  # a check after the end of a lease, not shortly before
_ERROR_SECONDS: Final = 0.25  # a smaller skew may be an error of the measurement
_EPOCH_STEP: Final = 1 << 32  # more messages than one leader sends
_NEVER: Final = float("inf")
_encode = msgspec.json.Encoder().encode


class MessageRef(Struct, frozen=True):
    """The last message to the local worker, and the one before it.

    A commit with an unknown result may have stored a message that was never delivered in memory.
    The worker notices that by the number of the message before.
    """

    number: int = 0
    after: int = 0


NO_MESSAGE: Final = MessageRef()


class Fleet(Protocol):
    is_alone: bool
    has_inbox_rows: bool
    """Whether the last check of the leases found rows in the inbox."""

    def start_epoch(self, epoch: int) -> None:
        """Number messages above those of all former leaders."""

    def find_dead(
        self, others: Collection[WorkerId], records: Mapping[tuple[str, str], str]
    ) -> list[WorkerId]:
        """Return the workers of other processes that cannot be alive at a takeover."""
        ...

    async def clock_skew(self) -> float:
        """Return by how many seconds the database's clock is ahead of this machine's."""
        ...

    async def check_leases(self, known: Collection[WorkerId]) -> list[Input]:
        """Return `WorkerJoined` for workers that are alive again, `WorkerGone` for dead ones."""
        ...

    def seconds_to_check(self) -> float:
        """Return the seconds until the leases have to be checked again."""
        ...

    def filter_inputs(self, inputs: list[Input]) -> list[Input]:
        """Drop `WorkerJoined` inputs of workers that are reported gone in the same batch."""
        ...

    def add_messages(self, decisions: Decisions, known: Collection[WorkerId]) -> MessageRef:
        """Add the orders of workers to the commit as messages, if several processes work."""
        ...


class SoloFleet:
    is_alone = True
    has_inbox_rows = False

    def start_epoch(self, epoch: int) -> None: ...

    def find_dead(
        self,
        others: Collection[WorkerId],
        records: Mapping[tuple[str, str], str],  # noqa: ARG002
    ) -> list[WorkerId]:
        return sorted(others)

    async def clock_skew(self) -> float:
        return 0.0

    async def check_leases(self, known: Collection[WorkerId]) -> list[Input]:  # noqa: ARG002
        return []

    def seconds_to_check(self) -> float:
        return _NEVER

    def filter_inputs(self, inputs: list[Input]) -> list[Input]:
        return inputs

    def add_messages(self, decisions: Decisions, known: Collection[WorkerId]) -> MessageRef:  # noqa: ARG002
        return NO_MESSAGE


class SharedFleet:
    is_alone = False

    def __init__(
        self, store: SharedStore, lease_watch: LeaseWatch, is_own: Callable[[str], bool]
    ) -> None:
        self._store = store
        self._lease_watch = lease_watch
        self._is_own = is_own
        self._next_check_at = 0.0
        self.has_inbox_rows = False
        self._number = 0
        self._written = NO_MESSAGE

    def start_epoch(self, epoch: int) -> None:
        self._number = epoch * _EPOCH_STEP
        self._written = MessageRef(self._number, self._number)

    def find_dead(
        self, others: Collection[WorkerId], records: Mapping[tuple[str, str], str]
    ) -> list[WorkerId]:
        known: dict[WorkerId, WorkerJoined] = {}
        for worker in others:
            with contextlib.suppress(KeyError, msgspec.MsgspecError):  # no usable record
                body = records["worker", worker]
                known[worker] = msgspec.json.decode(body, type=WorkerJoined)
        dead = {w for w in others if w not in known or carrier_of(w) not in known}
        self._lease_watch.load(joined for worker, joined in known.items() if worker not in dead)
        return sorted(dead)

    async def clock_skew(self) -> float:
        clock_skew = await self._store.clock_skew()
        return clock_skew if abs(clock_skew) > _ERROR_SECONDS else 0.0

    async def check_leases(self, known: Collection[WorkerId]) -> list[Input]:
        self.has_inbox_rows = False
        if self.seconds_to_check() > 0:
            return []
        leases = await self._store.lease_counts()
        self.has_inbox_rows = leases.has_inbox_rows
        others = {worker: lease for worker, lease in leases.of.items() if not self._is_own(worker)}
        inputs = self._lease_watch.check(others, [w for w in known if not self._is_own(w)])
        pause = min(_LOOK_SECONDS, self._lease_watch.seconds_left() + _PAST_SECONDS)
        self._next_check_at = _loop_time() + max(pause, _SHORTEST_LOOK_SECONDS)
        return inputs

    def seconds_to_check(self) -> float:
        return self._next_check_at - _loop_time()

    def filter_inputs(self, inputs: list[Input]) -> list[Input]:
        """Note the workers that introduced themselves; one that is gone stays gone."""
        gone = {input.id for input in inputs if type(input) is WorkerGone}
        for input in inputs:
            if type(input) is WorkerJoined:
                self._lease_watch.mark_introduced(input.id)
        if not gone:
            return inputs
        return [
            input for input in inputs if type(input) is not WorkerJoined or input.id not in gone
        ]

    def add_messages(self, decisions: Decisions, known: Collection[WorkerId]) -> MessageRef:
        orders = {worker: told for worker, told in decisions.orders.items() if worker in known}
        if orders:
            self._number += 1
            decisions.changes.messages.extend(
                (worker, self._number, _encode(told).decode()) for worker, told in orders.items()
            )
            if any(self._is_own(worker) for worker in orders):
                self._written = MessageRef(self._number, self._written.number)
        return self._written


def _loop_time() -> float:
    return asyncio.get_running_loop().time()
