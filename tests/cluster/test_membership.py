"""Several processes on one database: one leads, all run jobs, and each may stop or die."""

import asyncio
import socket
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from cryptography.fernet import Fernet
from pydantic import SecretStr

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


async def test_one_process_leads_and_all_run_jobs(open_app: Open) -> None:
    first, second = await open_app("first"), await open_app("second")
    assert first.is_leading
    assert not second.is_leading
    jobs = [await second.run("hold") for _ in range(8)]
    await eventually(lambda: len(first.held) + len(second.held) == 8)
    assert len(first.held) == len(second.held) == 4
    first.gate.set()
    second.gate.set()
    assert sorted([await job.wait() for job in jobs]) == ["first"] * 4 + ["second"] * 4


async def test_a_process_with_a_stale_key_leaves_jobs_to_a_process_with_the_right_key(
    open_app: Open,
) -> None:
    old, new = Fernet.generate_key(), Fernet.generate_key()
    stale = await open_app("stale", secrets_key=old)
    right = await open_app("right", secrets_key=[new, old])
    jobs = [await right.submit(right.tasks["secret"].call(SecretStr("hidden"))) for _ in range(8)]
    assert [await job.wait() for job in jobs] == ["right: hidden"] * 8
    assert {(await job.show()).attempt for job in jobs} == {1}
    old_one = await stale.submit(stale.tasks["secret"].call(SecretStr("old")))
    assert str(await old_one.wait()).endswith(": old")


async def test_a_job_waits_for_a_process_with_its_key_to_join(open_app: Open) -> None:
    keys = [Fernet.generate_key() for _ in range(3)]
    client = await open_app("client", secrets_key=keys[0], work=False)
    for number in (1, 2):
        await open_app(f"stale {number}", secrets_key=keys[number])
    job = await client.submit(client.tasks["secret"].call(SecretStr("hidden")))
    await reaches(job, "blocked")
    assert [reason.code for reason in (await job.show()).waiting_for] == ["secrets_unreadable"]
    await open_app("right", secrets_key=keys)
    assert await job.wait() == "right: hidden"


async def test_a_lane_is_serial_across_processes(open_app: Open) -> None:
    first, second = await open_app("first"), await open_app("second")
    await second.run("hold", lane="x")
    await second.run("hold", lane="x")
    await eventually(lambda: len(first.held) + len(second.held) == 1)
    await second.jobs.explain((await second.run("quick")).id)  # the leader has decided since
    assert len(first.held) + len(second.held) == 1


async def test_a_stage_of_a_job_in_another_process_is_stored_by_the_leader(open_app: Open) -> None:
    leader, other = await open_app("leader", work=False), await open_app("other")
    job = await leader.run("staged")
    assert await job.wait() == "other"
    [stage] = (await other.jobs.show(job.id)).stages
    assert (stage.name, stage.status) == ("first", "done")


async def test_a_job_is_cancelled_while_it_runs_in_another_process(open_app: Open) -> None:
    leader, other = await open_app("leader", work=False), await open_app("other")
    job = await leader.run("hold")
    await eventually(lambda: other.held)
    await job.cancel()
    with pytest.raises(JobCancelled):
        await job.wait()


async def test_a_process_that_stops_hands_back_its_running_jobs(open_app: Open) -> None:
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


async def test_jobs_of_other_processes_continue_when_the_leader_stops(open_app: Open) -> None:
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


async def test_a_process_that_lost_leadership_still_runs_jobs(open_app: Open) -> None:
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


async def test_a_job_of_a_silent_worker_runs_again_and_its_stale_outcome_is_ignored(
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


async def test_a_worker_without_a_valid_lease_hands_back_the_jobs_it_is_assigned(
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


async def test_a_worker_that_is_counted_dead_restarts_with_a_new_worker_id(open_app: Open) -> None:
    leader, other = await open_app("leader", work=False), await open_app("other")
    beats, dead = leader.shared_database.beats, other.worker_id
    job = await leader.run("hold")
    await eventually(lambda: other.held)
    leader._engine.inbox.put(WorkerGone(WorkerId(dead)))  # as if its lease had ended
    await eventually(lambda: other.worker_id != dead and other.worker_id in beats)
    other.gate.set()
    assert await job.wait() == "other"
    assert (await leader.jobs.show(job.id)).crashes == 1


async def test_orders_are_polled_without_a_notification(open_app: Open) -> None:
    leader, other = await open_app("leader", work=False), await open_app("other")
    leader.shared_database.listeners.clear()
    job = await other.run("quick")
    async with asyncio.timeout(10):
        assert await job.wait() == "other"


async def test_a_worker_that_is_closing_accepts_no_jobs_when_its_lease_is_renewed(
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


async def test_the_worker_of_a_leader_gets_jobs_after_a_restart_with_a_new_worker_id(
    open_app: Open,
) -> None:
    leader = await open_app("leader")
    dead = leader.worker_id
    leader._engine.inbox.put(WorkerGone(WorkerId(dead)))
    await eventually(lambda: leader.worker_id != dead)
    job = await leader.run("quick")
    async with asyncio.timeout(20):
        assert await job.wait() == "leader"


async def test_a_queue_that_only_a_follower_declares_is_known_to_the_leader(open_app: Open) -> None:
    leader = await open_app("leader")
    other = SharedApp(leader.shared_database, "other")
    other.queue("more", max_concurrent=1)
    async with other:
        await eventually(lambda: ("queue", "more") in leader.shared_database.records)
        job = await other.submit(other.tasks["quick"].options(queue="more").call())
        assert await job.wait() in ("leader", "other")


async def test_a_schedule_uses_the_clock_of_the_leader(open_app: Open) -> None:
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


async def test_concurrent_firings_by_hand_submit_one_job_each(open_app: Open) -> None:
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


async def test_the_outputs_of_a_cancelled_job_are_removed_on_the_host_that_wrote_them(
    open_app: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The host name differs in the thread of the leader, as if it were on another host."""

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
        for body in payload.stored_values.values():
            yield body


class Forgetful(SharedMemoryStore):
    """A store that loses the first `unblocked` report, as a server that crashes does."""

    lost = False

    async def send_report(self, key: str, body: str, at: float) -> None:
        if '"unblocked"' in body and not self.lost:
            self.lost = True
        else:
            await super().send_report(key, body, at)


async def test_a_blocked_job_starts_although_its_first_unblocked_report_was_lost(
    open_app: Open,
) -> None:
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
