"""Several processes on one database: one leads, all work, and each may vanish."""

import asyncio
import socket
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from fairlane import Context, Fairlane, Retry, Retryable
from fairlane.core.decisions import Start
from fairlane.core.inputs import Outcome, WorkerGone
from fairlane.core.live_job import JobId, WorkerId
from fairlane.errors import JobCancelled
from fairlane.leader.schedule import decode_schedule
from fairlane.store.memory.shared import SharedDatabase, SharedMemoryStore
from fairlane.task.attempt_outputs import remove_published_outputs
from fairlane.testing import FakeClock
from tests.support.apps import reaches
from tests.support.eventually import eventually
from tests.support.shared_apps import SharedApp

Open = Callable[..., Awaitable[SharedApp]]


@pytest.fixture
async def open_app() -> AsyncIterator[Open]:
    """Start further processes on the same database."""
    database = SharedDatabase()
    async with AsyncExitStack() as stack:

        async def open_one(name: str, **options: object) -> SharedApp:
            app = SharedApp(database, name, **options)
            known = set(database.beats)
            await stack.enter_async_context(app)
            if options.get("work", True):
                await eventually(lambda: set(database.beats) - known, what="joining")
            stack.callback(app.gate.set)
            return app

        yield open_one


async def test_one_leads_and_all_work(open_app: Open) -> None:
    first, second = await open_app("first"), await open_app("second")
    assert first.is_leading
    assert not second.is_leading
    jobs = [await second.run("hold") for _ in range(8)]
    await eventually(lambda: len(first.held) + len(second.held) == 8)
    assert len(first.held) == len(second.held) == 4
    first.gate.set()
    second.gate.set()
    assert sorted([await job.wait() for job in jobs]) == ["first"] * 4 + ["second"] * 4


async def test_a_lane_is_serial_across_processes(open_app: Open) -> None:
    first, second = await open_app("first"), await open_app("second")
    await second.run("hold", lane="x")
    await second.run("hold", lane="x")
    await eventually(lambda: len(first.held) + len(second.held) == 1)
    await second.jobs.explain((await second.run("quick")).id)  # the leader has decided since
    assert len(first.held) + len(second.held) == 1


async def test_a_stage_asks_the_leader_wherever_it_runs(open_app: Open) -> None:
    leader, other = await open_app("leader", work=False), await open_app("other")
    job = await leader.run("staged")
    assert await job.wait() == "other"
    [stage] = (await other.jobs.show(job.id)).stages
    assert (stage.name, stage.status) == ("first", "done")


async def test_a_job_is_cancelled_wherever_it_runs(open_app: Open) -> None:
    leader, other = await open_app("leader", work=False), await open_app("other")
    job = await leader.run("hold")
    await eventually(lambda: other.held)
    await job.cancel()
    with pytest.raises(JobCancelled):
        await job.wait()


async def test_a_process_that_leaves_hands_back_what_it_runs(open_app: Open) -> None:
    leader = await open_app("leader", slots=1)
    other = SharedApp(leader.shared_database, "other")
    async with other:
        await eventually(lambda: len(leader.shared_database.beats) == 2)
        jobs = [await leader.run("hold") for _ in range(2)]
        await eventually(lambda: other.held and leader.held)
    assert list(leader.shared_database.beats) == [leader.worker_id]
    leader.gate.set()
    assert [await job.wait() for job in jobs] == ["leader", "leader"]
    views = [await leader.jobs.show(job.id) for job in jobs]
    assert [view.crashes for view in views] == [0, 0]


async def test_when_the_leader_leaves_others_go_on_with_what_they_run(open_app: Open) -> None:
    database = SharedDatabase()
    leader, other = SharedApp(database, "leader", slots=1), SharedApp(database, "other")
    async with leader, AsyncExitStack() as stack:
        await stack.enter_async_context(other)
        await eventually(lambda: len(database.beats) == 2)
        jobs = [await other.run("hold") for _ in range(2)]
        await eventually(lambda: leader.held and other.held)
        left = stack.pop_all()
    async with left:
        await eventually(lambda: other.is_leading)
        other.gate.set()
        assert [await job.wait() for job in jobs] == ["other", "other"]
        views = [await other.jobs.show(job.id) for job in jobs]
        assert sorted(view.attempt for view in views) == [1, 2]


async def test_a_leader_that_lost_its_place_still_works(open_app: Open) -> None:
    first, second = await open_app("first"), await open_app("second", work=False)
    job = await second.run("hold")
    await eventually(lambda: first.held)
    first.shared_database.leader = None
    await eventually(lambda: first.is_leading or second.is_leading)
    again = await second.run("quick")
    assert await again.wait() == "first"
    first.gate.set()
    assert await job.wait() == "first"
    assert (await second.jobs.show(job.id)).attempt == 1


async def test_what_a_silent_worker_ran_is_run_again_and_its_word_counts_no_more(
    open_app: Open,
) -> None:
    leader, other = await open_app("leader", slots=1), await open_app("other")
    jobs = [await leader.run("hold") for _ in range(2)]
    await eventually(lambda: leader.held and other.held)
    [lost] = [job for job in jobs if job.id in other.held]
    dead = other.worker_id
    other._engine.membership._lease_renewal.stop()  # type: ignore[union-attr]
    await eventually(lambda: dead not in leader.shared_database.beats)
    stale = Outcome(JobId(lost.id), WorkerId(dead), 1, "completed", value='"stale"')
    other._engine.send_to_leader(stale)
    leader.gate.set()
    assert await lost.wait() == "leader"
    assert (await leader.jobs.show(lost.id)).crashes == 1


async def test_who_does_not_hold_its_lease_gives_back_what_it_is_told_to_begin(
    open_app: Open,
) -> None:
    leader, other = await open_app("leader", work=False), await open_app("other")
    engine = other._engine
    asked: list[bool] = []

    def is_doubtful() -> bool:
        asked.append(True)
        return False

    engine.worker.has_valid_lease = is_doubtful
    job = await leader.run("quick")
    await eventually(lambda: asked)
    await reaches(job, "queued")
    assert (await leader.jobs.show(job.id)).attempt == 0
    engine.worker.has_valid_lease = lambda: True
    engine.introduce_worker()  # as the lease renewal does
    assert await job.wait() == "other"


async def test_who_counts_as_dead_begins_as_another_worker(open_app: Open) -> None:
    leader, other = await open_app("leader", work=False), await open_app("other")
    beats, dead = leader.shared_database.beats, other.worker_id
    job = await leader.run("hold")
    await eventually(lambda: other.held)
    leader._engine.inbox.put(WorkerGone(WorkerId(dead)))  # as if its lease had been over
    await eventually(lambda: other.worker_id != dead and other.worker_id in beats)
    other.gate.set()
    assert await job.wait() == "other"
    assert (await leader.jobs.show(job.id)).crashes == 1


async def test_orders_are_found_without_any_hint(open_app: Open) -> None:
    leader, other = await open_app("leader", work=False), await open_app("other")
    leader.shared_database.listeners.clear()
    job = await other.run("quick")
    async with asyncio.timeout(10):
        assert await job.wait() == "other"


async def test_a_worker_that_ends_takes_no_work_again_when_its_lease_is_renewed(
    open_app: Open,
) -> None:
    await open_app("leader", work=False)
    other = await open_app("other")
    job = await other.run("hold")
    await eventually(lambda: other.held)
    engine = other._engine
    ending = asyncio.create_task(engine.worker.close(3000))
    await eventually(lambda: not engine.worker.accepting)
    assert engine.membership is not None
    engine.worker.return_jobs()
    engine.membership._resume()
    await other.jobs.explain(job.id)
    assert not engine.worker.accepting
    await ending


async def test_a_leader_that_begins_as_another_worker_gets_work_again(open_app: Open) -> None:
    leader = await open_app("leader")
    dead = leader.worker_id
    leader._engine.inbox.put(WorkerGone(WorkerId(dead)))
    await eventually(lambda: leader.worker_id != dead)
    job = await leader.run("quick")
    async with asyncio.timeout(20):
        assert await job.wait() == "leader"


async def test_what_only_a_follower_declares_is_known_all_the_same(open_app: Open) -> None:
    leader = await open_app("leader")
    other = SharedApp(leader.shared_database, "other")
    other.queue("more", max_concurrent=1)
    async with other:
        await eventually(lambda: ("queue", "more") in leader.shared_database.records)
        job = await other.submit(other.tasks["quick"].options(queue="more").call())
        assert await job.wait() in ("leader", "other")


async def test_a_schedule_counts_by_the_time_of_whoever_leads(open_app: Open) -> None:
    began = time.time()
    leader, other = await open_app("leader"), await open_app("other", clock=FakeClock())
    await other.schedules.save("often", other.tasks["quick"].call(), every_seconds=3600)

    async def rest() -> None:
        await other.schedules.pause("often")
        await other.schedules.resume("often")

    changes: list[Callable[[], Awaitable[None]]] = [
        lambda: other.schedules.change("often", every_seconds=1800),
        rest,
    ]
    for change in changes:
        since = await _since(leader, "often")
        assert since is not None
        assert began <= since <= time.time()
        began = time.time()
        await change()
    assert (await _since(leader, "often") or 0) >= began


async def _since(app: Fairlane, schedule: str) -> float | None:
    stored = decode_schedule((await app._store.records("schedule"))[schedule])
    assert stored is not None
    return stored.since


async def test_firings_by_hand_at_once_are_firings_of_their_own(open_app: Open) -> None:
    began = time.time()
    leader, other = await open_app("leader"), await open_app("other", clock=FakeClock())
    call = leader.tasks["quick"].call()
    await leader.schedules.save("often", call, every_seconds=3600, overlap="queue")
    jobs = await asyncio.gather(*(app.schedules.fire("often") for app in (leader, other) * 5))
    assert len({job.id for job in jobs if job is not None}) == 10
    firings = await other.schedules.firings("often")
    assert {firing.job for firing in firings} == {job.id for job in jobs if job is not None}
    assert len({firing.fire_at for firing in firings}) == 10
    assert min(firing.fire_at.timestamp() for firing in firings) >= began


async def test_what_a_cancelled_job_made_is_removed_on_the_host_where_it_lies(
    open_app: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The leader seems to be on another host than the worker."""

    def host() -> str:
        return "home" if threading.current_thread().name == "fairlane-leader" else "away"

    monkeypatch.setattr(socket, "gethostname", host)
    leader = await open_app("leader", work=False)
    writer = SharedApp(leader.shared_database, "writer")

    @writer.task(name="write", retry=Retry(times=1, first_seconds=3600))
    async def write(ctx: Context) -> None:
        async with ctx.output(tmp_path / "a.txt") as part:
            part.write_text("whole")
        raise Retryable("later")

    async with writer:
        job = await writer.submit(write.call())
        await reaches(job, "retrying")
        assert (tmp_path / "a.txt").exists()
        [ours] = [record async for record in _records(writer, job.id)]
        remove_published_outputs({"output:a": ours.replace('"away"', '"home"')})
        assert (tmp_path / "a.txt").exists()
        await job.cancel(outputs="delete")
        await eventually(lambda: not (tmp_path / "a.txt").exists())


async def _records(app: SharedApp, job: JobId) -> AsyncIterator[str]:
    start = Start(job, "write", WorkerId(""), 1, 1, True, "start", "default", None)
    store = SharedMemoryStore(app.shared_database)
    for payload in (await store.assigned_payloads([start])).values():
        for body in payload.kept.values():
            yield body


class Forgetful(SharedMemoryStore):
    """Loses the first word that a precondition holds, as a server does that crashes."""

    lost = False

    async def send_report(self, key: str, body: str, at: float) -> None:
        if '"unblocked"' in body and not self.lost:
            self.lost = True
        else:
            await super().send_report(key, body, at)


async def test_a_job_that_may_start_again_does_so_though_that_was_lost_once(open_app: Open) -> None:
    leader = await open_app("leader", work=False)
    other = SharedApp(leader.shared_database, "other", recheck_seconds=0.05)
    store = Forgetful(leader.shared_database)
    other._new_store = lambda: store  # type: ignore[method-assign]
    free: list[str] = []

    @other.task(preconditions=[lambda _: None if free else "no room"])
    async def work() -> str:
        return "done"

    async with other:
        job = await work.submit()
        await reaches(job, "blocked")
        free.append("room")
        assert await job.wait(20) == "done"
        assert store.lost
        assert not other._engine.worker._blocked
