"""The app of a generated story, whose jobs wait at a gate until the story releases them."""

import asyncio
import logging
from datetime import UTC, datetime
from typing import Final, Self

from fairlane import Context, Fairlane, Permanent, Retryable
from fairlane.store.protocol import Store
from tests.support.stateful_disks import Disk, MemoryDisk
from tests.support.stateful_wishes import AMOUNT, PER_SECONDS, QUEUES, STARTS, TASKS

FAR_AWAY: Final = datetime(2200, 1, 1, tzinfo=UTC)


class Gate:
    """Bodies wait here until the test decides how each one ends."""

    def __init__(self) -> None:
        self.waiting: dict[str, asyncio.Future[str]] = {}
        self._asked: set[str] = set()
        self._closing = False

    async def pass_through(self, job: str, *, stubborn: bool) -> str:
        gate = self.waiting[job] = asyncio.get_running_loop().create_future()
        try:
            while not gate.done():
                try:
                    await asyncio.wait([gate])
                except asyncio.CancelledError:
                    if not stubborn or self._closing:
                        raise
                    self._asked.add(job)
            how: str = gate.result()
        finally:
            del self.waiting[job]
            self._asked.discard(job)
        return how

    def open(self, job: str, how: str) -> None:
        self.waiting[job].set_result(how)

    def close(self) -> None:
        """Make all bodies react to cancellation from now on, including stubborn ones."""
        self._closing = True
        for job in self._asked:
            self.open(job, "completed")


class StoryApp(Fairlane):
    """An app that gets another database for each story, because declaring an app takes longer than
    most stories."""

    def __init__(self) -> None:
        super().__init__("memory://", stop_grace_seconds=0)
        self.gate = Gate()
        self.disk: Disk = MemoryDisk()
        for name, settings in QUEUES.items():
            self.queue(name, **settings)
        self.limit("api", starts=STARTS, per_seconds=PER_SECONDS)
        self.resource("gpu", AMOUNT)
        for name, options in TASKS.items():
            self.task(name=name, queue="main", grace_seconds=3600.0, **options)(self._body)
        by_hand = self.tasks["plain"].options(id="pattern").call("x")
        self.schedule("by hand", by_hand, at=FAR_AWAY)

    async def _body(self, ctx: Context, text: str) -> int:
        how = await self.gate.pass_through(ctx.job.id, stubborn=ctx.job.task == "stubborn")
        count = int(ctx.checkpoint.get("count", 0)) + 1
        ctx.checkpoint["count"] = count
        if how == "permanent":
            raise Permanent(f"{text} is broken")
        if how == "retryable":
            raise Retryable(f"{text} is busy")
        return count

    def _new_store(self) -> Store:
        return self.disk.store()


class Complaints(logging.Handler):
    """Collects log records of an app that must not occur: it repairs some problems by loading
    again."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.heard: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.heard.append(self.format(record))

    def __enter__(self) -> Self:
        log = logging.getLogger("fairlane")
        log.addHandler(self)
        log.propagate = False  # jobs fail intentionally, and would fill the log
        return self

    def __exit__(self, *_: object) -> None:
        log = logging.getLogger("fairlane")
        log.removeHandler(self)
        log.propagate = True
