"""A waiter gets the end of its job, but not an end from before the job was retried."""

import asyncio
from collections.abc import Sequence

from fairlane.core.live_job import JobId
from fairlane.engine.job_waiters import JobWaiters
from fairlane.store.memory.store import MemoryStore
from fairlane.store.views import JobView
from tests.support.stores import NOW, a_job, admitted, ended

A = JobId("a")


class SlowReads(MemoryStore):
    """A store with reads that return the state from before they waited at the gate."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = asyncio.Event()
        self.gate.set()

    async def jobs(self, ids: Sequence[JobId]) -> dict[JobId, JobView]:
        found = await super().jobs(ids)
        await self.gate.wait()
        return found


async def test_a_waiter_ignores_an_end_that_was_read_before_the_job_was_retried() -> None:
    store = SlowReads()
    await store.open()
    await store.lead()
    job = a_job("a")
    await store.commit(admitted(job), NOW)
    waits = JobWaiters(store)
    early = asyncio.create_task(waits.wait_for_end(A))
    await asyncio.sleep(0)
    await store.commit(ended(job), NOW)
    store.gate.clear()
    look = asyncio.create_task(waits.notify([A]))
    await asyncio.sleep(0)  # the first notification has read the end of the job
    again = a_job("a")
    changes = admitted(again)
    changes.submitted, changes.revived = [], [A]
    await store.commit(changes, NOW)
    late = asyncio.create_task(waits.wait_for_end(A))
    await asyncio.sleep(0)
    store.gate.set()
    await look
    assert (await early).state == "completed"
    for _ in range(5):
        await asyncio.sleep(0)
    assert not late.done()
    late.cancel()
