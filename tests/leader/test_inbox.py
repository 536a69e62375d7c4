"""The inbox wakes a leader while it has inputs; a standby waits for the next wake-up."""

import asyncio

from fairlane.core.inputs import Submission, Submit, WorkerGone
from fairlane.core.live_job import JobId, WorkerId
from fairlane.leader.inbox import Inbox

SAID = WorkerGone(WorkerId("w"))


async def test_a_leader_does_not_wait_while_the_inbox_has_inputs() -> None:
    inbox = Inbox()
    inbox.put(SAID)
    async with asyncio.timeout(10):
        await inbox.wait(3600)
    assert inbox.pop_batch(10) == [SAID]


async def test_a_batch_ends_after_a_large_submission() -> None:
    large = Submit("k", [Submission(id=JobId(str(number)), task="t") for number in range(9)])
    inbox = Inbox()
    inbox.put(SAID, large, large, SAID)
    assert inbox.pop_batch(5) == [SAID, large]
    assert inbox.pop_all() == [large, SAID]


async def test_a_standby_waits_although_the_inbox_has_inputs() -> None:
    inbox = Inbox()
    inbox.attach(asyncio.get_running_loop())
    inbox.put(SAID)
    standing_by = asyncio.ensure_future(inbox.wait_for_wake(3600))
    for _ in range(5):
        await asyncio.sleep(0)
    assert not standing_by.done()
    inbox.wake()
    async with asyncio.timeout(10):
        await standing_by


async def test_a_standby_stops_waiting_after_the_timeout() -> None:
    async with asyncio.timeout(10):
        await Inbox().wait_for_wake(0.001)
