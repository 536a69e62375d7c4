"""While a commit is on its way the next one is decided; nobody is told of either before its own."""

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
    Input,
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
from fairlane.leader.commit_pipeline import Batch, Carry, CommitPipeline
from fairlane.leader.inbox import Inbox
from fairlane.leader.leader import Leader
from fairlane.runtime.poll_intervals import PollIntervals
from fairlane.store.memory.store import MemoryStore
from fairlane.store.protocol import Writing
from fairlane.store.views import Payload
from fairlane.testing import FakeClock

WORKER = WorkerId("w")


class SlowStore(MemoryStore):
    """Commits wait at a gate; how the next ones end can be said beforehand."""

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


class Hall:
    """A process with one worker, of which only what it is told is noted."""

    def __init__(self) -> None:
        self.answers: dict[str, Any] = {}
        self.started: list[str] = []
        self.ahead: list[str] = []
        self.loads = 0
        self.leading = False

    def joined(self) -> list[Input]:
        return [WorkerJoined(WORKER, name="w", slots=1, tasks=("noop",))]

    def declared(self, stored: Mapping[tuple[str, str], str]) -> list[Input]:
        return [ChangeSetting("", "queue", "default", "code", {})]

    def unacknowledged_inputs(self) -> list[Input]:
        return []

    def is_own(self, worker: str) -> bool:
        return worker == WORKER

    def remove_half_written(self, payloads: Mapping[JobId, Payload]) -> None: ...

    def discard(self, payloads: Mapping[JobId, Payload]) -> None: ...

    def outputs_on_other_hosts(
        self, payloads: Mapping[JobId, Payload], *, finished: bool
    ) -> list[tuple[str, dict[str, str]]]:
        return []

    def checks(self, task: str) -> bool:
        return True

    def check_preconditions_early(self, starts: list[tuple[Start, Payload]]) -> None:
        self.ahead += [start.job for start, _ in starts]

    def perform(
        self, decisions: Decisions, payloads: Mapping[JobId, Payload], written: MessageRef
    ) -> None:
        self.answers.update(decisions.answers)
        self.started += [start.job for start in decisions.starts]

    def found(self, tasks: set[str]) -> None: ...

    def reloaded(self, stops: list[Stop]) -> None:
        self.loads += 1

    def still_runs(self) -> bool:
        return False

    def elected(self, *, leading: bool) -> None:
        self.leading = leading


class Reign:
    def __init__(self) -> None:
        self.store = SlowStore()
        self.host = Hall()
        self.inbox = Inbox()
        intervals = PollIntervals(others_seconds=60, retry_seconds=0.001)
        self.leader = Leader(self.store, self.inbox, FakeClock(), self.host, intervals)

    @property
    def known(self) -> set[str]:
        return set(self.leader._scheduler.board.jobs)

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
        while not condition():  # noqa: ASYNC110 - bounded, and nobody else would say it
            await asyncio.sleep(0)


@asynccontextmanager
async def reigning() -> AsyncIterator[Reign]:
    reign = Reign()
    await reign.store.open()
    leading = asyncio.create_task(reign.leader.run())
    await until(lambda: reign.host.leading)
    reign.store.is_open = False
    yield reign
    reign.let_all()
    reign.leader.stop()
    await leading


async def test_the_next_batch_is_decided_while_a_commit_is_on_its_way() -> None:
    async with reigning() as reign:
        await reign.submit("a")
        await reign.submit("b")
        assert reign.store.waiting == 1  # the second waits for the first
        assert reign.host.answers == {}
        assert await reign.store.jobs([JobId("a"), JobId("b")]) == {}
        reign.let_one()
        await until(lambda: "a" in reign.host.answers)
        assert "b" not in reign.host.answers
        assert set(await reign.store.jobs([JobId("a"), JobId("b")])) == {"a"}
        reign.let_one()
        await until(lambda: "b" in reign.host.answers)
        assert reign.host.started == ["a"]


async def test_what_is_about_to_start_is_looked_at_while_that_is_being_written() -> None:
    async with reigning() as reign:
        for name in "ab":
            await reign.submit(name)
            reign.let_one()
            await until(lambda name=name: name in reign.host.answers)  # type: ignore[misc]
        assert reign.host.started == ["a"]  # the worker has one slot
        assert reign.host.ahead == []
        reign.inbox.put(Outcome(JobId("a"), WORKER, 1, "completed"))
        await until(lambda: reign.host.ahead == ["b"])
        assert reign.host.started == ["a"]
        reign.let_one()
        await until(lambda: reign.host.started == ["a", "b"])


async def test_what_was_decided_on_top_of_a_commit_that_failed_is_void() -> None:
    async with reigning() as reign:
        await reign.submit("a")
        await reign.submit("b")
        loads = reign.host.loads
        reign.store.failures = [StoreUnavailable("full")]
        reign.let_all()
        await until(lambda: reign.host.loads > loads)
        assert {key: type(answer) for key, answer in reign.host.answers.items()} == {
            "a": StoreUnavailable,
            "b": StoreUnavailable,
        }
        assert reign.known == set()
        assert reign.host.started == []
        assert await reign.store.jobs([JobId("a"), JobId("b")]) == {}


async def test_a_batch_at_fault_does_not_take_the_next_one_with_it() -> None:
    async with reigning() as reign:
        await reign.submit("a")
        await reign.submit("b")
        loads = reign.host.loads
        fault = RuntimeError("at fault")
        reign.store.failures = [fault, None, fault]  # together, loading, alone
        reign.let_all()
        await until(lambda: reign.host.loads > loads and len(reign.host.answers) == 2)
        assert isinstance(reign.host.answers["a"], FairlaneError)
        assert reign.known == {"b"}
        assert set(await reign.store.jobs([JobId("a"), JobId("b")])) == {"b"}


async def test_what_has_been_read_for_a_commit_does_not_change_any_more() -> None:
    async with reigning() as reign:
        await reign.submit("a")
        reign.let_one()
        await until(lambda: reign.host.started == ["a"])
        await reign.submit("b")  # on its way as it is now: queued
        done = Outcome(JobId("a"), WORKER, 1, "completed", value="1")
        reign.inbox.put(done)
        await until(lambda: reign.known == {"b"})  # and started by what is decided meanwhile
        reign.let_one()
        await until(lambda: "b" in reign.host.answers)
        views = await reign.store.jobs([JobId("a"), JobId("b")])
        assert (views[JobId("a")].state, views[JobId("b")].state) == ("running", "queued")


async def test_a_row_of_another_process_is_decided_once() -> None:
    async with reigning() as reign:
        await reign.submit("a")
        await reign.submit("b")
        row = msgspec.json.encode(Prioritize("k", JobId("b"), Priority.HIGH)).decode()
        await reign.store.append("k", row, 0.0)
        reign.leader.look_at_others()
        reign.let_one()  # "a" lands and sees the row, which is decided while "b" is on its way
        jobs = reign.leader._scheduler.board.jobs
        await until(lambda: jobs[JobId("b")].priority is Priority.HIGH)
        reign.leader.look_at_others()
        reign.let_one()  # "b" lands and sees the row once more
        await until(lambda: "b" in reign.host.answers)
        reign.let_all()
        await until(lambda: reign.store.consumed and not reign.leader._pipeline)
        assert reign.store.consumed == [1]


async def test_the_database_is_asked_about_a_job_after_the_commit_that_ends_it() -> None:
    async with reigning() as reign:
        await reign.submit("a")
        reign.let_one()
        await until(lambda: reign.host.started == ["a"])
        failure = Failure("broken", "for good", retryable=False)
        reign.inbox.put(Outcome(JobId("a"), WORKER, 1, "failed", failure=failure))
        await until(lambda: reign.known == set())
        reign.inbox.put(RetryJob("again", JobId("a")))
        for _ in range(10):
            await asyncio.sleep(0)
        reign.let_all()
        await until(lambda: "again" in reign.host.answers)
        assert not isinstance(reign.host.answers["again"], FairlaneError)
        await until(lambda: reign.host.started == ["a", "a"])


async def test_who_is_told_to_end_does_not_wait_for_what_is_on_its_way() -> None:
    never = asyncio.Event()

    async def carry() -> None:
        await never.wait()

    async def decide(_: Batch) -> Carry:
        return carry

    async def decide_for_ever(_: Batch) -> Carry:
        await never.wait()
        return carry

    pipeline = CommitPipeline(landed=lambda: None)
    await pipeline.begin(Batch([]), decide)
    next_one = asyncio.create_task(pipeline.begin(Batch([]), decide_for_ever))
    await asyncio.sleep(0)
    next_one.cancel()
    await asyncio.wait([next_one], timeout=5)
    assert next_one.cancelled()
    pipeline.give_up()
    assert not pipeline
