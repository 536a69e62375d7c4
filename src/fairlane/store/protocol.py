"""The verbs a database must offer. The core chooses states; a store only keeps them.

Three kinds of caller. *Anybody* reads, and appends to the inbox. A process that wants to lead tries
`lead`; from then until `resign` it alone may call the *leader's* verbs, on one thread, and every
commit is fenced by the epoch it was given. All methods are coroutines; a store on a blocking driver
runs its reads in a thread of its own and the leader's verbs where they are called, because the
leader has a thread for that.

Durable means durable: when `commit` or `append` returns, a power cut changes nothing. When `commit`
raises, the caller must not assume either outcome: it loads again.
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
    Picture,
    Place,
    Query,
)


class Image(Struct):
    """Everything the core is rebuilt from. `jobs` come in order of position."""

    jobs: list[LiveJob]
    dependencies: list[tuple[JobId, JobId]]
    records: dict[tuple[str, str], str]
    takes: list[tuple[str, float, JobId]]
    grants: list[tuple[JobId, str, str]]
    seq: int


class InboxRow(Struct):
    id: int
    key: str
    body: str
    at: float


class Writing:
    """A commit whose changes have been read; to wait for it is to write them."""

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
        """Forget every handle without closing it: they belong to the parent of this fork."""

    # anybody
    async def append(self, key: str, body: str, at: float) -> None:
        """Put a command into the inbox; the same key twice is one row."""

    async def answers(self, keys: Sequence[str]) -> dict[str, str]:
        """Return the leader's answers to appended commands, as far as there are any yet."""

    async def version(self) -> int:
        """Return a number that changes whenever another connection has committed."""

    async def jobs(self, ids: Sequence[JobId]) -> dict[JobId, JobView]:
        """Show jobs, live or ended; those still in the inbox as `created`."""

    async def submission(self, job: JobId) -> Submission | None:
        """Return a job's original input, as it was submitted, for another run of it."""

    async def history(self, query: Query) -> Page:
        """List ended jobs, the newest end first; a cursor is the number of an end."""

    async def live_jobs(self, query: Query) -> Page:
        """List live jobs by descending id, which is the newest first; a cursor is an id."""

    async def last_seq(self) -> int:
        """Return the number of the newest event."""
        ...

    async def counts(self) -> dict[str, dict[str, int]]:
        """Return how many live jobs each queue has, by state."""
        ...

    async def read_snapshot(
        self, *, waiting: int = 200, ended: int = 50, lanes: int = 200
    ) -> Picture:
        """Show the present; of the lanes first those of the jobs that run or are shown to wait."""

    async def jobs_behind(self, queue: str, *, after: Place, limit: int) -> list[JobView]:
        """Show the jobs that stand in a queue's order behind a place."""
        ...

    async def lanes(self, queue: str | None = None) -> list[LaneView]: ...

    async def events(self, after: int, limit: int) -> list[EventView] | None:
        """Return stored events above `after` in order; None if that is too old or in the future."""

    async def log(self, job: JobId, *, limit: int = 1000) -> list[LogLine]: ...

    async def records(self, kind: str) -> dict[str, str]: ...

    async def firings(self, schedule: str, *, limit: int = 50) -> list[FiringView]: ...

    async def durations(self) -> dict[str, float]:
        """Return the median seconds that lately completed jobs of each task ran."""

    async def read_image(self, *, queue: str | None = None, limit: int | None = None) -> Image:
        """Read what the core is rebuilt from, as one consistent snapshot."""

    async def prune(self, pruning: Pruning, since: Pruned) -> Pruned:
        """Forget a piece of the history for good; pass on what the piece before came to."""
        ...

    # the leader
    async def lead(self) -> int | None:
        """Try once to become the leader; return the new epoch, or None while another leads."""

    async def resign(self) -> None: ...

    async def leader(self) -> str | None:
        """Say who leads, for people."""

    async def load(self) -> Image:
        """Like `read_image`, on the leader's own connection."""

    async def read_inbox(self, limit: int) -> list[InboxRow]:
        """Read the oldest inbox rows. They are removed by the commit that consumes them.

        A row whose key has been answered before is removed and not returned.
        """

    async def ended_jobs(self, ids: Sequence[JobId]) -> dict[JobId, LiveJob]:
        """Return those of the ids that have ended, as the core knew them."""

    async def payloads(self, starts: Sequence[Start]) -> Mapping[JobId, Payload]: ...

    def commit(self, changes: Changes, at: float) -> Writing:
        """Write all of it in one durable transaction, or raise.

        The changes are read at once, before anybody waits: their jobs may change from then on.
        NotLeading when the epoch has moved on; StoreUnavailable when the database cannot take it
        now (full disk, lock, I/O); any other exception when the changes themselves are at fault.
        """
