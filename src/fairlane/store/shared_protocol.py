"""What a database offers besides where several processes work on it at once.

There a leader and its workers are strangers to each other. What a worker says is a row in the
inbox, as a command is; what the leader tells it is a message, written by the commit that decided
it; and that it lives it shows by counting up its lease, at which the leader only looks.

A hint is a wake-up and carries nothing. It may be lost, late or repeated: whoever gets none looks
at the database now and then, and finds the same.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal, Protocol

from msgspec import Struct

from fairlane.core.decisions import Start
from fairlane.core.live_job import JobId, WorkerId
from fairlane.store.protocol import Store
from fairlane.store.views import Payload

INBOX: Final = "inbox"  # something lies there for the leader
NEWS: Final = "news"  # the leader has committed: events, answers


class Message(Struct):
    """What a leader tells a worker; the numbers only grow, also from one leader to the next."""

    number: int
    body: str


Standing = Literal["known", "unknown", "dead"]


class Lease(Protocol):
    """The sign of life of one worker, for a thread and a loop of its own.

    It is there before the leader hears of the worker, and goes with what the leader knows of it. So
    a worker whose lease is gone is dead, and never one that has not been heard of yet.
    """

    async def begin(self) -> None:
        """Take out the lease, once; harmless to repeat if nobody knows whether that was done."""

    async def renew(self) -> Standing:
        """Count the lease up; return whether the leader knows the worker, or counts it dead."""
        ...

    async def close(self) -> None: ...


class SharedStore(Store, Protocol):
    # anybody
    async def send_report(self, key: str, body: str, at: float) -> None:
        """Put what a worker says into the inbox.

        Unlike a command it may be lost if the database crashes: its worker says it again until it
        hears that it is durable, and need not wait for the disk each time.
        """

    async def messages(self, worker: WorkerId, after: int) -> list[Message]:
        """Return what a worker was told, above a number and in order."""
        ...

    async def assigned_payloads(self, starts: Sequence[Start]) -> Mapping[JobId, Payload]:
        """Return what a worker needs for what it was told to start."""
        ...

    async def delete_messages(self, worker: WorkerId, up_to: int) -> None:
        """Forget a worker's messages up to a number."""

    def lease(self, worker: WorkerId) -> Lease:
        """Return the lease of a worker; it connects on the loop that renews it."""
        ...

    async def listen(self, on_notification: Callable[[str], None]) -> None:
        """Call back with `INBOX`, `NEWS` or a worker's id when something may be there for it.

        The call comes on this loop, from now until the store is closed. After an interruption it
        comes once with an empty name: anything may have been missed.
        """

    # the leader
    async def lease_counts(self) -> dict[WorkerId, int]:
        """Return how far each worker has counted its lease up."""
        ...

    async def clock_skew(self) -> float:
        """Return by how many seconds the database's clock is ahead of this machine's."""
        ...
