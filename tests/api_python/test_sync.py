"""The same calls without `await`, for programs that have no event loop."""

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fairlane import Fairlane, JobFailed, LaneBusy, NotStarted, UsageError
from fairlane.testing import running


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Fairlane]:
    app = Fairlane(f"sqlite:///{tmp_path}/work.db", stop_grace_seconds=0)
    app.queue("archive", on_conflict="reject")

    @app.task(name="double")
    def double(number: int) -> int:
        return number * 2

    @app.task(name="fail")
    async def fail() -> None:
        raise ValueError("no")

    @app.task(name="hold", queue="archive", lane="x")
    def hold() -> None:
        held.wait(20)

    held = threading.Event()
    app.start()
    yield app
    held.set()
    app.stop()


def test_a_prompt_can_complete_the_names_of_the_calls(started: Fairlane) -> None:
    assert {"submit", "submit_many", "snapshot", "jobs", "queues"} <= set(dir(started.sync))
    assert {"show", "explain", "history"} <= set(dir(started.sync.jobs))
    job = started.sync.submit(started.tasks["double"].call(21))
    assert {"wait", "cancel", "id"} <= set(dir(job))


def test_a_plain_program_submits_and_waits(started: Fairlane) -> None:
    job = started.sync.submit(started.tasks["double"].call(21))

    assert job.wait() == 42
    assert job.show().state == "completed"
    assert started.sync.jobs.show(job.id).result == 42
    assert [view.id for view in started.sync.jobs.history().items] == [job.id]


def test_many_jobs_are_handles_as_well(started: Fairlane) -> None:
    jobs = started.sync.submit_many([started.tasks["double"].call(n) for n in range(3)])

    assert [job.wait() for job in jobs] == [0, 2, 4]


def test_a_job_can_be_moved_before_another_one(started: Fairlane) -> None:
    started.sync.queues.pause("default")
    first, second = (started.sync.submit(started.tasks["double"].call(n)) for n in range(2))

    second.move(before=first)

    line = started.sync.queues.line("default").items
    assert [view.id for view in line] == [second.id, first.id]


def test_errors_are_the_same(started: Fairlane) -> None:
    with pytest.raises(JobFailed, match="no"):
        started.sync.submit(started.tasks["fail"].call()).wait()
    started.sync.submit(started.tasks["hold"].call())
    with pytest.raises(LaneBusy):
        started.sync.submit(started.tasks["hold"].call())


def test_events_are_followed_in_a_plain_loop(started: Fairlane) -> None:
    seq = started.sync.snapshot().seq
    job = started.sync.submit(started.tasks["double"].call(1))
    states = []
    for event in started.sync.events.follow(after=seq, job=job.id):
        states.append(event.data.get("state"))
        if states[-1] == "completed":
            break

    assert states == ["queued", "running", "completed"]


async def test_a_follower_on_another_loop_can_be_cancelled_at_any_moment(
    started: Fairlane,
) -> None:
    async def follow() -> None:
        async for _ in started.events.follow(after=0):
            pass

    for steps in range(100):  # of this loop, while the engine's loop reads the stored events
        follower = asyncio.create_task(follow())
        for _ in range(steps):
            await asyncio.sleep(0)
        follower.cancel()
        with pytest.raises(asyncio.CancelledError):
            await follower


def test_any_thread_may_call(started: Fairlane) -> None:
    def doubled(number: int) -> int:
        return int(started.sync.submit(started.tasks["double"].call(number)).wait())

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(doubled, range(16))) == [n * 2 for n in range(16)]


def test_starting_at_the_same_time_gives_one_engine(tmp_path: Path) -> None:
    app = Fairlane(f"sqlite:///{tmp_path}/work.db")
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda _: app.start(), range(8)))
    workers = app.sync.snapshot().workers
    app.stop()

    assert len(workers) == 1


def test_a_stopped_engine_can_be_started_again(tmp_path: Path) -> None:
    app = Fairlane(f"sqlite:///{tmp_path}/work.db")

    @app.task
    def double(number: int) -> int:
        return number * 2

    app.start()
    app.stop()
    with pytest.raises(NotStarted):
        app.sync.snapshot()
    app.start()
    assert app.sync.submit(double.call(2)).wait() == 4
    app.stop()


async def test_on_a_running_loop_it_raises_instead_of_blocking_it(app: Fairlane) -> None:
    @app.task
    async def work() -> None: ...

    async with running(app):
        with pytest.raises(UsageError, match="await the same call without"):
            app.sync.snapshot()
        with pytest.raises(UsageError):
            app.sync.submit(work.call())
