"""The inbox: a leader wakes for what lies there, a standby does not spin over it."""

import asyncio

from fairlane.core.inputs import Submission, Submit, WorkerGone
from fairlane.core.live_job import JobId, WorkerId
from fairlane.leader.inbox import Inbox

SAID = WorkerGone(WorkerId("w"))


async def test_a_leader_does_not_wait_while_something_lies_here() -> None:
    inbox = Inbox()
    inbox.put(SAID)
    async with asyncio.timeout(10):
        await inbox.wait(3600)
    assert inbox.pop_batch(10) == [SAID]


async def test_a_large_submission_is_taken_without_more_beside_it() -> None:
    large = Submit("k", [Submission(id=JobId(str(number)), task="t") for number in range(9)])
    inbox = Inbox()
    inbox.put(SAID, large, large, SAID)
    assert inbox.pop_batch(5) == [SAID, large]
    assert inbox.pop_all() == [large, SAID]


async def test_a_standby_waits_though_something_lies_here() -> None:
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


async def test_a_standby_looks_again_after_its_time() -> None:
    async with asyncio.timeout(10):
        await Inbox().wait_for_wake(0.001)
