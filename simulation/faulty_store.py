"""A store whose calls fail, wait or kill the process, as the faults of the world decide."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final

from fairlane.core.decisions import Changes
from fairlane.errors import NotLeading, StoreUnavailable
from fairlane.store.memory.shared import SharedMemoryStore
from fairlane.store.protocol import Store, Writing
from simulation.journal import Journal
from simulation.store_faults import Moment, StoreFaults

# The methods that can fail, with their words in the journal.
VERBS: Final = {
    **{name: name for name in (
        "open", "close", "append", "answers", "version", "jobs", "submission", "history",
        "counts", "lanes", "events", "log", "records", "firings", "durations", "lead", "resign",
        "leader", "load", "payloads", "messages",
    )},
    "assigned_payloads": "assigned",
    "clock_skew": "skew",
    "delete_messages": "heard",
    "ended_jobs": "ended",
    "last_seq": "seq",
    "lease_counts": "beats",
    "read_image": "image",
    "read_inbox": "take",
    "read_snapshot": "picture",
    "send_report": "say",
}  # fmt: skip
_LEADERS: Final = frozenset({
    "lead", "load", "take", "ended", "payloads", "commit", "beats", "skew",
})  # fmt: skip

_RECOVERY_SECONDS: Final = 3.0


class FaultyStore:
    """Pass each call through `faults`; refuse all calls once the process is killed or the world is
    over."""

    def __init__(
        self,
        real: Store,
        process: str,
        faults: StoreFaults,
        kill: Callable[..., None],
        journal: Journal,
    ) -> None:
        self.real = real
        self._process = process
        self._faults = faults
        self._kill = kill
        self._journal = journal
        self.over = False
        self.is_cut = False  # the connection to the server is cut in both directions
        # Called when memory and store agree.
        self.committed: Callable[[], Awaitable[None]] | None = None

    def __getattr__(self, name: str) -> Any:
        real = getattr(self.real, name)
        verb = VERBS.get(name)
        if verb is None:
            return real

        async def call(*args: Any, **kwargs: Any) -> Any:
            await self._inject_fault(verb, "before")
            answer = await real(*args, **kwargs)
            await self._inject_fault(verb, "after")
            return answer

        return call

    def commit(self, changes: Changes, at: float) -> Writing:
        return Writing(partial(self._write, self.real.commit(changes, at)))

    async def _write(self, writing: Writing) -> None:
        await self._inject_fault("commit", "before")
        await writing
        if self.committed is not None:
            await self.committed()
        await self._inject_fault("commit", "after")

    def lease(self, worker: Any) -> Any:
        return _FaultyLease(self, self.real.lease(worker))  # type: ignore[attr-defined]

    @property
    def is_listening(self) -> bool:
        return not self.is_cut and bool(self.real.is_listening)  # type: ignore[attr-defined]

    def change_connection(self, *, is_cut: bool) -> None:
        self.is_cut = is_cut
        if isinstance(self.real, SharedMemoryStore):
            self.real.interrupt()

    async def listen(self, heard: Callable[[str], None]) -> None:
        def hear(name: str) -> None:
            if (name == "" or not self.is_cut) and not self.over:
                heard(name)

        await self.real.listen(hear)  # type: ignore[attr-defined]

    async def _inject_fault(self, verb: str, moment: Moment) -> None:
        if self.over:
            raise asyncio.CancelledError
        if self.is_cut and verb not in ("open", "close", "resign"):
            if verb in _LEADERS:
                raise NotLeading("the connection was lost")
            raise StoreUnavailable("the connection was lost")
        fault = self._faults.at(self._process, verb, moment)
        if fault.wait:
            began = self._journal.now()
            await asyncio.sleep(fault.wait)
            self._journal.delayed(self._process, began)
        if fault.kill:
            self._kill(at=f"{moment} {verb}")
            await asyncio.get_running_loop().create_future()  # a killed process never continues
        if fault.error is not None:
            self._journal.was_broken |= not isinstance(fault.error, StoreUnavailable)
            self._journal.record_fault(f"error {moment} {verb}", self._process)
            self._journal.stalled(self._process, seconds=_RECOVERY_SECONDS)
            raise fault.error


class _FaultyLease:
    def __init__(self, store: FaultyStore, real: Any) -> None:
        self._store = store
        self._real = real

    async def begin(self) -> None:
        await self._store._inject_fault("begin", "before")
        await self._real.begin()
        await self._store._inject_fault("begin", "after")

    async def renew(self) -> Any:
        await self._store._inject_fault("renew", "before")
        standing = await self._real.renew()
        await self._store._inject_fault("renew", "after")
        return standing

    async def close(self) -> None:
        await self._real.close()
