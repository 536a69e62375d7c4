"""The log of the queues: jobs accepted, started and ended, and lengths, with structured fields."""

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from fairlane import Context, Device, Fairlane, Retry
from fairlane.leader.queue_log import MOST_LINES, length_is_news
from fairlane.testing import FakeClock, running
from tests.support.apps import Doors
from tests.support.eventually import eventually


@pytest.fixture
def app() -> Fairlane:
    return Fairlane("memory://", clock=FakeClock(), stop_grace_seconds=0)


class Records(logging.Handler):
    """The records of the queues, each as a dictionary of the fields that a test names."""

    def __init__(self) -> None:
        super().__init__()
        self.all: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.all.append(record)

    def fields(self, event: str, *names: str) -> list[tuple[Any, ...]]:
        found = [vars(record) for record in self.all if vars(record)["event"] == event]
        return [tuple(record.get(name) for name in names) for record in found]


@pytest.fixture
def records() -> Iterator[Records]:
    """Enable the log of the queues for the duration of a test."""
    logger, records = logging.getLogger("fairlane.queue"), Records()
    logger.addHandler(records)
    logger.setLevel(logging.INFO)
    yield records
    logger.removeHandler(records)
    logger.setLevel(logging.NOTSET)


async def test_a_queue_logs_each_job_that_it_accepts_starts_and_ends(
    app: Fairlane, records: Records, doors: Doors
) -> None:
    app.queue("mail")

    @app.task(queue="mail", lane="{to}")
    async def send(to: str) -> None:
        await doors.wait(to)

    async with running(app) as world:
        job = await send.submit("ann")
        await doors.reached("ann")
        world.clock.advance(2.5)
        doors.open("ann")
        await job.wait()
        worker = (await job.show()).worker

    about = ("queue", "job", "task", "lane")
    same = ("mail", job.id, "send", "ann")
    assert records.fields("accepted", *about, "state", "waiting") == [(*same, "queued", 0)]
    assert records.fields("started", *about, "attempt", "worker", "device", "waiting") == [
        (*same, 1, worker, None, 0)
    ]
    assert records.fields("ended", *about, "state", "seconds", "attempt", "waiting") == [
        (*same, "completed", 2.5, 1, 0)
    ]
    assert [record.levelname for record in records.all] == ["INFO"] * 3
    assert records.all[1].getMessage() == f'queue "mail" started job {job.id} on worker {worker}'
    assert records.all[2].getMessage() == f'queue "mail" ended job {job.id}: completed after 2.5 s'


async def test_a_start_on_a_device_is_logged_with_the_device(
    app: Fairlane, records: Records
) -> None:
    app.queue("phones", devices=Device)

    @app.task(queue="phones")
    async def tap(ctx: Context) -> None: ...

    async with running(app):
        await app.devices.save("pixel", queue="phones")
        await (await tap.submit()).wait()

    assert records.fields("started", "queue", "device") == [("phones", "pixel")]
    assert records.all[1].getMessage().endswith(" on device pixel")


async def test_a_failure_is_logged_with_its_code_also_if_the_job_is_tried_again(
    app: Fairlane, records: Records
) -> None:
    @app.task(retry=Retry(times=1, first_seconds=5))
    async def fail() -> None:
        raise TimeoutError

    async with running(app) as world:
        job = await fail.submit()
        await world.idle()
        await world.advance(5)

    states = [("retrying", "timeout"), ("queued", None)]
    assert records.fields("changed", "state", "code") == states
    assert records.fields("ended", "job", "state", "code") == [(job.id, "failed", "timeout")]
    assert records.fields("started", "attempt") == [(1,), (2,)]


async def test_a_queue_logs_its_length_when_it_has_grown_or_shrunk_a_lot(
    app: Fairlane, records: Records
) -> None:
    @app.task
    async def work() -> None: ...

    async with running(app) as world:
        await app.queues.pause("default")
        for _ in range(9):
            await work.submit()
        assert records.fields("length", "waiting") == []
        for _ in range(11):
            await work.submit()
        assert records.fields("length", "queue", "waiting", "running") == [
            ("default", 10, 0),
            ("default", 20, 0),
        ]
        await app.queues.resume("default")
        await world.idle()
        await eventually(lambda: records.fields("length", "waiting")[-1] == (0,))


async def test_many_jobs_in_one_commit_are_one_line_for_each_worker_and_state(
    app: Fairlane, records: Records
) -> None:
    app.queue("mail", max_concurrent=1_000)

    @app.task(queue="mail")
    async def work() -> None: ...

    count = MOST_LINES + 1
    async with running(app) as world:
        await app.submit_many([work.call() for _ in range(count)])
        await world.idle()

    assert records.fields("accepted", "queue", "count", "job") == [("mail", count, None)]
    started = records.fields("started", "count")
    assert sum(amount or 1 for (amount,) in started) == count
    ended = records.fields("ended", "state", "count")
    assert sum(amount or 1 for _, amount in ended) == count


async def test_without_info_the_queues_format_nothing(app: Fairlane, records: Records) -> None:
    logging.getLogger("fairlane.queue").setLevel(logging.WARNING)

    @app.task
    async def work() -> None: ...

    async with running(app):
        await (await work.submit()).wait()

    assert records.all == []


async def test_a_handler_that_raises_stops_no_job(app: Fairlane) -> None:
    class Broken(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            raise OSError("no space left on device")

    logger, broken = logging.getLogger("fairlane.queue"), Broken()
    logger.addHandler(broken)
    logger.setLevel(logging.INFO)

    @app.task
    async def work() -> int:
        return 1

    try:
        async with running(app):
            assert [await (await work.submit()).wait() for _ in range(3)] == [1, 1, 1]
    finally:
        logger.removeHandler(broken)
        logger.setLevel(logging.NOTSET)


def test_a_length_is_news_when_it_doubles_from_ten_or_halves() -> None:
    lengths = [0, 5, 9, 10, 15, 19, 20, 12, 10, 19, 20, 3, 2, 1, 0, 1, 0]
    logged, last = [], 0
    for length in lengths:
        if length_is_news(last, length):
            logged.append(length)
            last = length
    assert logged == [10, 20, 10, 20, 3, 1, 0]
