"""Whom a leader leads: the worker beside it alone, or those of many processes.

Alone, leading proves every other worker dead, and what the worker is told needs no paper. Among
many, the others live by their leases, what they are told is a message of the commit that decided
it, and time is the database's.
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

_LOOK_SECONDS: Final = 1.0  # between two looks at the leases of others
_ERROR_SECONDS: Final = 0.25  # by which one clock cannot tell that another is wrong
_EPOCH_STEP: Final = 1 << 32  # more messages than one leader sends
_NEVER: Final = float("-inf")
_encode = msgspec.json.Encoder().encode


class MessageRef(Struct, frozen=True):
    """The message that holds what our worker is told, and the one before it.

    A commit of which nobody knows whether it happened may have left one that was never handed over.
    """

    number: int = 0
    after: int = 0


NO_MESSAGE: Final = MessageRef()


class Fleet(Protocol):
    is_alone: bool

    def start_epoch(self, epoch: int) -> None:
        """A reign begins."""

    def find_dead(
        self, others: Collection[WorkerId], records: Mapping[tuple[str, str], str]
    ) -> list[WorkerId]:
        """Name those of the others who cannot be alive now that we lead."""
        ...

    async def clock_skew(self) -> float:
        """Return by how many seconds the clock we go by is ahead of this machine's."""
        ...

    async def check_leases(self, known: Collection[WorkerId]) -> list[Input]:
        """Say who of the others has come back to life and who is dead."""
        ...

    def filter_inputs(self, inputs: list[Input]) -> list[Input]:
        """Return what counts of what happened."""
        ...

    def add_messages(self, decisions: Decisions, known: Collection[WorkerId]) -> MessageRef:
        """Make what workers are told part of the commit, where that must outlive the leader."""
        ...


class SoloFleet:
    is_alone = True

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
        self._looked_at = _NEVER
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
            with contextlib.suppress(KeyError, msgspec.MsgspecError):  # nobody can go by that
                body = records["worker", worker]
                known[worker] = msgspec.json.decode(body, type=WorkerJoined)
        dead = {w for w in others if w not in known or carrier_of(w) not in known}
        self._lease_watch.load(joined for worker, joined in known.items() if worker not in dead)
        return sorted(dead)

    async def clock_skew(self) -> float:
        clock_skew = await self._store.clock_skew()
        return clock_skew if abs(clock_skew) > _ERROR_SECONDS else 0.0

    async def check_leases(self, known: Collection[WorkerId]) -> list[Input]:
        now = asyncio.get_running_loop().time()
        if now - self._looked_at < _LOOK_SECONDS:
            return []
        self._looked_at = now
        beats = await self._store.lease_counts()
        others = {worker: count for worker, count in beats.items() if not self._is_own(worker)}
        return self._lease_watch.check(others, [w for w in known if not self._is_own(w)])

    def filter_inputs(self, inputs: list[Input]) -> list[Input]:
        """Note who spoke for itself; whoever is gone does not come back by what it said before."""
        gone = {said.id for said in inputs if type(said) is WorkerGone}
        for said in inputs:
            if type(said) is WorkerJoined:
                self._lease_watch.mark_introduced(said.id)
        if not gone:
            return inputs
        return [said for said in inputs if type(said) is not WorkerJoined or said.id not in gone]

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
