"""The further operations of a database that several processes share.

The leader and the workers are in different processes and communicate through the database. A worker
sends a report as a row in the inbox, like a command. The leader sends a message, which the commit
writes that decided it. A worker proves that it is alive by counting up its lease, which the leader
only reads.

A notification is a wake-up without data. It may be lost, late or repeated: every receiver also
polls the database, and finds the same rows. It polls rarely while notifications arrive. Then a
notification is lost only if its sender dies after it wrote the rows: a new leader therefore
notifies all processes, and the leader looks for unread rows of the inbox whenever it reads the
leases.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal, Protocol

from msgspec import Struct

from fairlane.core.decisions import Start
from fairlane.core.live_job import JobId, WorkerId
from fairlane.store.protocol import Store
from fairlane.store.views import Payload

INBOX: Final = "inbox"  # there are rows for the leader
NEWS: Final = "news"  # the leader has committed events or answers
ELECTED: Final = "elected"  # there is a new leader; notifications of the old one may be missing


class Message(Struct):
    """A message of the leader to a worker; the numbers grow, also from one leader to the next."""

    number: int
    body: str


Standing = Literal["known", "unknown", "dead"]


class Renewal(Struct, frozen=True):
    """The result of a renewal: the standing of the worker, and whether a process leads."""

    standing: Standing
    has_leader: bool


class LeaseCount(Struct, frozen=True):
    """The count of a lease, and how long ago it was counted up, on the database's clock."""

    count: int
    age_seconds: float


class LeaseCounts(Struct, frozen=True):
    """The leases of all workers, and whether the inbox has rows."""

    of: Mapping[WorkerId, LeaseCount]
    has_inbox_rows: bool


class Lease(Protocol):
    """The lease of one worker, for a dedicated thread with its own loop.

    The lease is created before the worker reports itself to the leader, and deleted with the
    worker's record. So a worker without a lease is dead, and never one that is not yet reported.
    """

    async def begin(self) -> None:
        """Create the lease; the call may be repeated when its result is unknown."""

    async def renew(self) -> Renewal:
        """Count the lease up; return whether the leader knows the worker or declared it dead."""
        ...

    async def close(self) -> None: ...


class SharedStore(Store, Protocol):
    @property
    def is_listening(self) -> bool:
        """Tell whether notifications arrive; from any thread."""
        ...

    # every process
    async def send_report(self, key: str, body: str, at: float) -> None:
        """Append a report of a worker to the inbox.

        Unlike a command, a report may be lost if the database crashes: the worker sends it again
        until the leader acknowledges it, and does not wait for the disk each time.
        """

    async def messages(self, worker: WorkerId, after: int) -> list[Message]:
        """Return the messages to a worker above a number, in order."""
        ...

    async def assigned_payloads(self, starts: Sequence[Start]) -> Mapping[JobId, Payload]:
        """Return the payloads of the jobs that a worker was assigned."""
        ...

    async def delete_messages(self, worker: WorkerId, up_to: int) -> None:
        """Delete the messages to a worker up to a number."""

    def lease(self, worker: WorkerId) -> Lease:
        """Return the lease of a worker; it connects on the loop that renews it."""
        ...

    async def listen(self, on_notification: Callable[[str], None]) -> None:
        """Call back with `INBOX`, `NEWS` or the id of a worker when new rows may be there.

        The call comes on this loop, from now until the store is closed. When `is_listening` changes
        it comes with an empty name: notifications may have been missed, and polls have another
        interval from now on.
        """

    # the leader
    async def lease_counts(self) -> LeaseCounts:
        """Return the count of the lease of each worker."""
        ...

    async def clock_skew(self) -> float:
        """Return by how many seconds the clock of the database is ahead of this machine's."""
        ...
