"""The shared database in memory ends the session of a leader that sends no requests."""

import asyncio

from fairlane.errors import NotLeading
from fairlane.store.memory.shared import SESSION_SECONDS, SharedDatabase, SharedMemoryStore
from simulation.loop import SimulatedLoop


def test_a_silent_leader_loses_its_session_although_another_store_keeps_trying() -> None:
    loop = SimulatedLoop()

    async def story() -> tuple[float, bool]:
        database = SharedDatabase()
        leader, other = SharedMemoryStore(database), SharedMemoryStore(database)
        assert await leader.lead() is not None
        while await other.lead() is None:  # noqa: ASYNC110 - time is simulated
            await asyncio.sleep(1.0)
        took = loop.time()
        try:
            await leader.load()
        except NotLeading:
            return took, True
        return took, False

    took, was_fenced = loop.run_until_complete(story())
    loop.close()
    assert SESSION_SECONDS < took <= SESSION_SECONDS + 2
    assert was_fenced


def test_a_leader_that_reads_regularly_keeps_its_session() -> None:
    loop = SimulatedLoop()

    async def story() -> None:
        database = SharedDatabase()
        leader, other = SharedMemoryStore(database), SharedMemoryStore(database)
        await leader.lead()
        for _ in range(10):
            await asyncio.sleep(SESSION_SECONDS - 1)
            await leader.read_inbox(1)
            assert await other.lead() is None

    loop.run_until_complete(story())
    loop.close()
