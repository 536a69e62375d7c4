"""The operations of a database. The core chooses the states of jobs; a store only holds them.

Every process may read, and append to the inbox. A process that wants to lead calls `lead`; if that
succeeds, only this process may call the leader's methods until `resign`, on one thread, and each
commit is fenced by the epoch that `lead` returned. All methods are coroutines. A store on a
blocking driver runs its reads in a separate thread, and the leader's methods in the calling thread,
because the leader has a thread for that.

When `commit` or `append` returns, the rows survive a power cut. When `commit` raises, the result is
unknown: the caller loads again.
"""

from collections.abc import Callable, Coroutine, Generator, Mapping, Sequence
from typing import Any, Protocol

from msgspec import Struct

from fairlane.core.decisions import Changes, Start
from fairlane.core.inputs import Submission
from fairlane.core.live_job import JobId, LiveJob
from fairlane.store.prune import Pruned, Pruning
from fairlane.store.views import (
    EventView,
    FiringView,
    JobView,
    LaneView,
    LogLine,
    Page,
    Payload,
    Place,
    Query,
    StoreSnapshot,
)


class Image(Struct):
    """The state that the core is rebuilt from. `jobs` are in order of position."""

    jobs: list[LiveJob]
    dependencies: list[tuple[JobId, JobId]]
    records: dict[tuple[str, str], str]
    rate_starts: list[tuple[str, float, JobId]]
    grants: list[tuple[JobId, str, str]]
    seq: int


class InboxRow(Struct):
    id: int
    key: str
    body: str
    at: float


class Writing:
    """A commit whose changes have been copied; awaiting it writes them."""

    def __init__(self, write: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._write = write

    def __await__(self) -> Generator[Any, Any, None]:
        return self._write().__await__()


class Store(Protocol):
    address: str
    single_process: bool  # true: a new leader proves every other worker dead

    async def open(self) -> None:
        """Connect and bring the schema up to date, or raise one clear StoreError."""

    async def close(self) -> None: ...

    def abandon(self) -> None:
        """Drop every handle without closing it: they belong to the parent of this fork."""

    # every process
    async def append(self, key: str, body: str, at: float) -> None:
        """Append a command to the inbox; the same key twice is one row."""

    async def answers(self, keys: Sequence[str]) -> dict[str, str]:
        """Return the leader's answers to appended commands; a key without an answer is left out."""

    async def version(self) -> int:
        """Return a number that changes whenever another connection has committed."""

    async def jobs(self, ids: Sequence[JobId]) -> dict[JobId, JobView]:
        """Return views of jobs, live or ended; those still in the inbox are `created`."""

    async def submission(self, job: JobId) -> Submission | None:
        """Return the original submission of a job, for another run of it."""

    async def history(self, query: Query) -> Page:
        """List ended jobs, the latest end first; a cursor is the number of an end."""

    async def live_jobs(self, query: Query) -> Page:
        """List live jobs by descending id, the newest first; a cursor is an id."""

    async def last_seq(self) -> int:
        """Return the number of the newest event."""
        ...

    async def counts(self) -> dict[str, dict[str, int]]:
        """Return the number of live jobs of each queue, by state."""
        ...

    async def read_snapshot(
        self, *, waiting: int = 200, ended: int = 50, lanes: int = 200
    ) -> StoreSnapshot:
        """Return a snapshot; lanes of the running and waiting jobs in it come first."""

    async def jobs_behind(self, queue: str, *, after: Place, limit: int) -> list[JobView]:
        """Return the waiting jobs behind a place in the order of a queue."""
        ...

    async def lanes(self, queue: str | None = None) -> list[LaneView]: ...

    async def events(self, after: int, limit: int) -> list[EventView] | None:
        """Return the events above `after` in order; None if it is too old or in the future."""

    async def log(self, job: JobId, *, limit: int = 1000) -> list[LogLine]: ...

    async def records(self, kind: str) -> dict[str, str]: ...

    async def firings(self, schedule: str, *, limit: int = 50) -> list[FiringView]: ...

    async def durations(self) -> dict[str, float]:
        """Return the median seconds that the latest completed jobs of each task ran."""

    async def read_image(self, *, queue: str | None = None, limit: int | None = None) -> Image:
        """Read the state that the core is rebuilt from, as one consistent snapshot."""

    async def prune(self, pruning: Pruning, since: Pruned) -> Pruned:
        """Delete a piece of the history; `since` is the result of the piece before."""
        ...

    # the leader
    async def lead(self) -> int | None:
        """Try once to become the leader; return the new epoch, or None while another leads."""

    async def resign(self) -> None: ...

    async def leader(self) -> str | None:
        """Return a text about the process that leads, for people."""

    async def load(self) -> Image:
        """Like `read_image`, on the leader's connection."""

    async def read_inbox(self, limit: int) -> list[InboxRow]:
        """Read the oldest inbox rows. They are removed by the commit that consumes them.

        A row whose key has been answered before is removed and not returned.
        """

    async def ended_jobs(self, ids: Sequence[JobId]) -> dict[JobId, LiveJob]:
        """Return the jobs among the ids that have ended, as the core had them."""

    async def payloads(self, starts: Sequence[Start]) -> Mapping[JobId, Payload]: ...

    def commit(self, changes: Changes, at: float) -> Writing:
        """Write the changes in one durable transaction, or raise.

        The changes are copied at once, before the first `await`: the jobs in them may change then.
        NotLeading when the epoch has changed; StoreUnavailable when the database cannot write
        now (full disk, lock, I/O); any other exception when the changes themselves are at fault.
        """
