"""Reports and orders between a worker and a leader: none is lost, no order is executed twice."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

import msgspec
import pytest

from fairlane.cluster.fleet import MessageRef
from fairlane.cluster.mailbox import WorkerMailbox
from fairlane.core.decisions import Orders, Stop
from fairlane.core.inputs import FromWorker, LogLines, Outcome
from fairlane.core.live_job import JobId, WorkerId
from fairlane.errors import StoreUnavailable
from fairlane.store.memory.shared import SharedDatabase, SharedMemoryStore
from fairlane.store.views import Payload
from fairlane.testing import FakeClock
from simulation.loop import SimulatedLoop

WORKER = WorkerId("w")


class Worker:
    def __init__(self) -> None:
        self.id = WORKER
        self.obeyed: list[str] = []
        self.waiting: dict[str, FromWorker] = {}

    def unacknowledged(self) -> Mapping[str, FromWorker]:
        return self.waiting

    def execute_orders(self, orders: Orders, payloads: Mapping[JobId, Payload]) -> None:
        self.obeyed += [stop.job for stop in orders.stops]


class Unreliable(SharedMemoryStore):
    failures = 0

    async def send_report(self, key: str, body: str, at: float) -> None:
        if self.failures:
            self.failures -= 1
            raise StoreUnavailable("not now")
        await super().send_report(key, body, at)


class Bench:
    """A mailbox with services that run on simulated time."""

    def __init__(self) -> None:
        self.worker = Worker()
        self.database = SharedDatabase()
        self.store = Unreliable(self.database)
        self.mailbox = WorkerMailbox(
            self.store,
            FakeClock(),
            worker_id=lambda: self.worker.id,
            unacknowledged=self.worker.unacknowledged,
            execute_orders=self.worker.execute_orders,
            poll_seconds=lambda: 0.5,
        )

    def tell(self, number: int, job: str) -> None:
        body = msgspec.json.encode(orders(job)).decode()
        self.database.messages.setdefault(WORKER, []).append((number, body))

    @property
    def said(self) -> list[str]:
        bodies = [msgspec.json.decode(row.body) for row in self.database.inbox.values()]
        return [said["job"] for body in bodies for said in body]


def orders(job: str) -> Orders:
    return Orders(stops=[Stop(JobId(job), WORKER, 1, "keep", False)])


def outcome(job: str) -> Outcome:
    return Outcome(JobId(job), WORKER, 1, "completed", value="1")


Story = Callable[[Bench], Coroutine[Any, Any, None]]


@pytest.fixture
def live() -> Callable[[Story], None]:
    def live(story: Story) -> None:
        loop = SimulatedLoop()

        async def all_of_it() -> None:
            bench = Bench()
            services = (bench.mailbox.sending, bench.mailbox.receiving)
            tasks = [loop.create_task(service.run()) for service in services]
            await story(bench)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

        loop.run_until_complete(all_of_it())
        loop.close()

    return live


def test_reports_that_are_sent_at_once_are_one_inbox_row(live: Callable[[Story], None]) -> None:
    async def story(bench: Bench) -> None:
        bench.mailbox.send(outcome("a"), outcome("b"))
        bench.mailbox.send(outcome("c"))
        await asyncio.sleep(0.1)
        assert bench.said == ["a", "b", "c"]
        assert len(bench.database.inbox) == 1

    live(story)


def test_a_report_that_cannot_be_encoded_does_not_stop_other_reports(
    live: Callable[[Story], None],
) -> None:
    async def story(bench: Bench) -> None:
        unwritable = LogLines(JobId("a"), WORKER, 1, [(0.0, "info", "\ud800")])
        broken = Outcome(JobId("b"), WORKER, 1, "completed", value="\ud800")
        bench.mailbox.send(unwritable, broken, outcome("c"))
        await asyncio.sleep(0.1)
        assert bench.said == ["b", "c"]

    live(story)


def test_reports_that_could_not_be_sent_are_sent_later_in_order(
    live: Callable[[Story], None],
) -> None:
    async def story(bench: Bench) -> None:
        bench.store.failures = 2
        bench.mailbox.send(outcome("a"))
        await asyncio.sleep(0.1)
        bench.mailbox.send(outcome("b"))
        assert bench.said == []
        await asyncio.sleep(60)
        assert bench.said == ["a", "b"]

    live(story)


def test_a_report_is_sent_again_until_it_is_acknowledged(live: Callable[[Story], None]) -> None:
    async def story(bench: Bench) -> None:
        bench.worker.waiting = {"t": outcome("a")}
        bench.mailbox.send(outcome("a"))
        await asyncio.sleep(1)
        assert bench.said == ["a"]
        await asyncio.sleep(9)
        assert bench.said[:2] == ["a", "a"]
        bench.worker.waiting = {}
        count = len(bench.said)
        await asyncio.sleep(60)
        assert len(bench.said) == count

    live(story)


def test_orders_are_executed_once_and_in_order(live: Callable[[Story], None]) -> None:
    async def story(bench: Bench) -> None:
        bench.tell(1, "a")
        bench.tell(2, "b")
        bench.mailbox.receiving.wake()
        await asyncio.sleep(3)
        assert bench.worker.obeyed == ["a", "b"]
        assert bench.database.messages[WORKER] == []

    live(story)


def test_orders_that_a_leader_in_this_process_delivered_are_not_executed_again(
    live: Callable[[Story], None],
) -> None:
    async def story(bench: Bench) -> None:
        bench.tell(1, "a")
        bench.mailbox.deliver(MessageRef(1, 0), orders("a"), {})
        await asyncio.sleep(3)
        assert bench.worker.obeyed == ["a"]

    live(story)


def test_orders_that_were_read_from_the_store_are_not_executed_on_delivery(
    live: Callable[[Story], None],
) -> None:
    async def story(bench: Bench) -> None:
        bench.tell(1, "a")
        await bench.mailbox.receive()
        bench.mailbox.deliver(MessageRef(1, 0), orders("a"), {})
        assert bench.worker.obeyed == ["a"]

    live(story)


def test_orders_that_were_not_delivered_are_read_before_later_orders_are_executed(
    live: Callable[[Story], None],
) -> None:
    async def story(bench: Bench) -> None:
        bench.tell(1, "a")  # the commit of this message seemed to fail, so it was not delivered
        bench.tell(2, "b")
        bench.mailbox.deliver(MessageRef(2, 1), orders("b"), {})
        assert bench.worker.obeyed == []
        await asyncio.sleep(0.1)
        assert bench.worker.obeyed == ["a", "b"]

    live(story)


def test_unacknowledged_reports_are_sent_when_this_process_stops_leading(
    live: Callable[[Story], None],
) -> None:
    async def story(bench: Bench) -> None:
        bench.mailbox.elected(leading=True)
        bench.worker.waiting = {"t": outcome("a")}
        await asyncio.sleep(30)
        assert bench.said == []
        bench.mailbox.elected(leading=False)
        await asyncio.sleep(0.1)
        assert bench.said == ["a"]

    live(story)
