"""The next batch is decided while a commit is written; answers are sent after their own commit."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import msgspec

from fairlane.cluster.fleet import MessageRef
from fairlane.core.decisions import Changes, Decisions, Start, Stop
from fairlane.core.inputs import (
    ChangeSetting,
    Failure,
    Outcome,
    Prioritize,
    RetryJob,
    Submission,
    Submit,
    WorkerJoined,
)
from fairlane.core.lifecycle import Priority
from fairlane.core.live_job import JobId, WorkerId
from fairlane.errors import FairlaneError, StoreUnavailable
from fairlane.leader.commit_pipeline import Batch, CommitPipeline
from fairlane.leader.host import LeaderHost
from fairlane.leader.inbox import Inbox
from fairlane.leader.leader import Leader
from fairlane.leader.notifications import Notifications
from fairlane.runtime.poll_intervals import PollIntervals
from fairlane.store.memory.store import MemoryStore
from fairlane.store.protocol import Writing
from fairlane.store.views import Payload
from fairlane.testing import FakeClock

WORKER = WorkerId("w")


class SlowStore(MemoryStore):
    """A store with commits that wait at a gate; `failures` lists how the next commits end."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = asyncio.Semaphore(0)
        self.is_open = True
        self.waiting = 0
        self.failures: list[Exception | None] = []
        self.consumed: list[int] = []

    def commit(self, changes: Changes, at: float) -> Writing:
        return Writing(partial(self._slowly, super().commit(changes, at), list(changes.consumed)))

    async def _slowly(self, writing: Writing, consumed: list[int]) -> None:
        if not self.is_open:
            self.waiting += 1
            await self.gate.acquire()
            self.waiting -= 1
        failure = self.failures.pop(0) if self.failures else None
        if failure is not None:
            raise failure
        await writing
        self.consumed += consumed


class Leadership:
    """A leader with one worker of one slot; its notifications are recorded."""

    def __init__(self) -> None:
        self.answers: dict[str, Any] = {}
        self.started: list[str] = []
        self.checked: list[str] = []
        self.loads = 0
        self.leading = False
        self.store = SlowStore()
        self.inbox = Inbox()
        notifications = Notifications(asyncio.get_running_loop(), self._deliver)
        notifications.on_leadership.append(self._change_leadership)
        notifications.on_reload.append(self._count_load)
        self.leader = Leader(
            self.store,
            self.inbox,
            FakeClock(),
            LeaderHost(
                declare=lambda _: [ChangeSetting("", "queue", "default", "code", {})],
                joined=lambda: [WorkerJoined(WORKER, name="w", slots=1, tasks=("noop",))],
                unacknowledged=list,
                poll_seconds=lambda: 60.0,
                sees_leader=lambda: False,
                is_own=lambda worker: worker == WORKER,
                is_running=lambda: False,
                needs_check=lambda _: True,
                check_early=self._check,
                report_missing_tasks=lambda _: None,
            ),
            notifications,
            intervals=PollIntervals(poll_seconds=60, retry_seconds=0.001),
        )

    def _deliver(
        self, decisions: Decisions, _payloads: Mapping[JobId, Payload], _message: MessageRef
    ) -> None:
        self.answers.update(decisions.answers)
        self.started += [start.job for start in decisions.starts]

    def _change_leadership(self, leading: bool) -> None:
        self.leading = leading

    def _count_load(self, _: list[Stop]) -> None:
        self.loads += 1

    def _check(self, starts: list[tuple[Start, Payload]]) -> None:
        self.checked += [start.job for start, _ in starts]

    @property
    def known(self) -> set[str]:
        return set(self.leader.board.jobs)

    async def submit(self, job: str) -> None:
        """Submit a job and wait until it is decided, not until it is durable."""
        self.inbox.put(submission(job))
        await until(lambda: job in self.known)

    def let_one(self) -> None:
        self.store.gate.release()

    def let_all(self) -> None:
        self.store.is_open = True
        for _ in range(self.store.waiting):
            self.store.gate.release()


def submission(job: str) -> Submit:
    return Submit(job, [Submission(id=JobId(job), task="noop")])


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110 - bounded, and no event is set for the condition
            await asyncio.sleep(0)


@asynccontextmanager
async def reigning() -> AsyncIterator[Leadership]:
    reign = Leadership()
    await reign.store.open()
    leading = asyncio.create_task(reign.leader.run())
    await until(lambda: reign.leading)
    reign.store.is_open = False
    yield reign
    reign.let_all()
    reign.leader.stop()
    await leading


async def test_the_next_batch_is_decided_while_a_commit_is_being_written() -> None:
    async with reigning() as reign:
        await reign.submit("a")
        await reign.submit("b")
        assert reign.store.waiting == 1  # the second commit waits for the first
        assert reign.answers == {}
        assert await reign.store.jobs([JobId("a"), JobId("b")]) == {}
        reign.let_one()
        await until(lambda: "a" in reign.answers)
        assert "b" not in reign.answers
        assert set(await reign.store.jobs([JobId("a"), JobId("b")])) == {"a"}
        reign.let_one()
        await until(lambda: "b" in reign.answers)
        assert reign.started == ["a"]


async def test_the_start_of_a_job_is_checked_while_its_commit_is_being_written() -> None:
    async with reigning() as reign:
        for name in "ab":
            await reign.submit(name)
            reign.let_one()
            await until(lambda name=name: name in reign.answers)  # type: ignore[misc]
        assert reign.started == ["a"]  # the worker has one slot
        assert reign.checked == []
        reign.inbox.put(Outcome(JobId("a"), WORKER, 1, "completed"))
        await until(lambda: reign.checked == ["b"])
        assert reign.started == ["a"]
        reign.let_one()
        await until(lambda: reign.started == ["a", "b"])


async def test_decisions_that_follow_a_failed_commit_are_discarded() -> None:
    async with reigning() as reign:
        await reign.submit("a")
        await reign.submit("b")
        loads = reign.loads
        reign.store.failures = [StoreUnavailable("full")]
        reign.let_all()
        await until(lambda: reign.loads > loads)
        assert {key: type(answer) for key, answer in reign.answers.items()} == {
            "a": StoreUnavailable,
            "b": StoreUnavailable,
        }
        assert reign.known == set()
        assert reign.started == []
        assert await reign.store.jobs([JobId("a"), JobId("b")]) == {}


async def test_a_batch_that_cannot_be_stored_does_not_fail_the_next_batch() -> None:
    async with reigning() as reign:
        await reign.submit("a")
        await reign.submit("b")
        loads = reign.loads
        fault = RuntimeError("at fault")
        reign.store.failures = [fault, None, fault]  # batch, reload, "a" alone
        reign.let_all()
        await until(lambda: reign.loads > loads and len(reign.answers) == 2)
        assert isinstance(reign.answers["a"], FairlaneError)
        assert reign.known == {"b"}
        assert set(await reign.store.jobs([JobId("a"), JobId("b")])) == {"b"}


async def test_later_decisions_do_not_change_a_commit_that_is_being_written() -> None:
    async with reigning() as reign:
        await reign.submit("a")
        reign.let_one()
        await until(lambda: reign.started == ["a"])
        await reign.submit("b")  # its commit is being written: state queued
        done = Outcome(JobId("a"), WORKER, 1, "completed", value="1")
        reign.inbox.put(done)
        await until(lambda: reign.known == {"b"})  # "b" is started by the next batch
        reign.let_one()
        await until(lambda: "b" in reign.answers)
        views = await reign.store.jobs([JobId("a"), JobId("b")])
        assert (views[JobId("a")].state, views[JobId("b")].state) == ("running", "queued")


async def test_an_inbox_row_of_another_process_is_decided_once() -> None:
    async with reigning() as reign:
        await reign.submit("a")
        await reign.submit("b")
        row = msgspec.json.encode(Prioritize("k", JobId("b"), Priority.HIGH)).decode()
        await reign.store.append("k", row, 0.0)
        reign.leader.poll_inbox_soon()
        reign.let_one()  # "a" is committed and the row is read, then decided while "b" waits
        jobs = reign.leader.board.jobs
        await until(lambda: jobs[JobId("b")].priority is Priority.HIGH)
        reign.leader.poll_inbox_soon()
        reign.let_one()  # "b" is committed and the row is read again
        await until(lambda: "b" in reign.answers)
        reign.let_all()
        await until(lambda: reign.store.consumed and not reign.leader._pipeline)
        assert reign.store.consumed == [1]


async def test_the_store_is_queried_for_a_job_after_the_commit_that_ends_the_job() -> None:
    async with reigning() as reign:
        await reign.submit("a")
        reign.let_one()
        await until(lambda: reign.started == ["a"])
        failure = Failure("broken", "for good", retryable=False)
        reign.inbox.put(Outcome(JobId("a"), WORKER, 1, "failed", failure=failure))
        await until(lambda: reign.known == set())
        reign.inbox.put(RetryJob("again", JobId("a")))
        for _ in range(10):
            await asyncio.sleep(0)
        reign.let_all()
        await until(lambda: "again" in reign.answers)
        assert not isinstance(reign.answers["again"], FairlaneError)
        await until(lambda: reign.started == ["a", "a"])


async def test_a_cancelled_leader_does_not_wait_for_the_commit_that_is_being_written() -> None:
    never = asyncio.Event()

    async def decide(batch: Batch) -> Batch:
        return batch

    async def decide_for_ever(batch: Batch) -> Batch:
        await never.wait()
        return batch

    async def write(_: Batch) -> None:
        await never.wait()

    pipeline = CommitPipeline(on_end=lambda: None)
    await pipeline.submit(Batch([]), decide, write)
    next_one = asyncio.create_task(pipeline.submit(Batch([]), decide_for_ever, write))
    await asyncio.sleep(0)
    next_one.cancel()
    await asyncio.wait([next_one], timeout=5)
    assert next_one.cancelled()
    pipeline.cancel()
    assert not pipeline
