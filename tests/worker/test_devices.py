"""Devices: one job at a time on each, down when they do not answer, and reconnected."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Awaitable
from concurrent.futures import CancelledError
from contextlib import AsyncExitStack
from typing import Any, ClassVar

import pytest

from fairlane import (
    BadSetting,
    Context,
    Device,
    DeviceDown,
    Fairlane,
    JobFailed,
    SyncContext,
    UnknownName,
)
from fairlane.store.memory.shared import SharedDatabase
from fairlane.testing import running
from tests.support.apps import Doors, reaches
from tests.support.apps_isolated import process_id
from tests.support.eventually import eventually
from tests.support.phones import Rack, phones
from tests.support.shared_apps import SharedApp


@pytest.fixture
def rack() -> Rack:
    return Rack()


def furnish(app: Fairlane, rack: Rack, doors: Doors) -> Any:
    """Declare a queue of phones, and a task that waits at the door of its account on a phone."""
    app.queue("phones", devices=phones(rack), order="strict", on_conflict="reject_running")

    @app.task(queue="phones", lane="{account}", requires=["{region}"], name="post")
    async def post(ctx: Context, account: str, region: str = "eu") -> str:
        await doors.wait(account)
        return str(ctx.device.name)

    return post


async def is_in(app: Fairlane, device: str, state: str) -> None:
    async def is_there() -> bool:
        return (await app.devices.list())[device].state == state

    await eventually(is_there, what=f"{device} is {state}")


async def test_each_device_runs_one_job_at_a_time_prepared_and_cleaned_up(
    app: Fairlane, rack: Rack, doors: Doors
) -> None:
    post = furnish(app, rack, doors)
    async with running(app):
        for name in ("one", "two"):
            await app.devices.save(name, queue="phones", labels=["eu"])
            await is_in(app, name, "idle")
        jobs = [await post.submit(account=account) for account in ("ann", "ben", "cat")]
        await doors.reached("ann", "ben")
        assert [view.state for view in (await app.devices.list()).values()] == ["busy", "busy"]
        assert [reason["code"] for reason in (await app.jobs.explain(jobs[2].id))["reasons"]] == [
            "device"
        ]
        doors.open("ann", "ben", "cat")
        assert sorted([await job.wait() for job in jobs[:2]]) == ["one", "two"]
        where = await jobs[2].wait()
        shown = await jobs[2].show()

    assert (shown.device, shown.worker) != (None, shown.device)
    assert shown.device == where
    told = [line for line in rack.told if line.endswith(where)]
    assert told.index(f"prepare cat on {where}") == told.index(f"cleanup cat on {where}") - 1
    assert told[0] == f"connect {where}"
    assert told[-1] == f"close {where}"
    assert doors.most_inside == 2


async def test_plain_tasks_on_devices_run_side_by_side_whatever_slots_their_process_has(
    database: str, rack: Rack
) -> None:
    app = Fairlane(database, slots=1, stop_grace_seconds=0)
    app.queue("phones", devices=phones(rack))
    together = threading.Barrier(3)

    @app.task(queue="phones")
    def post(account: str) -> None:
        together.wait(10)

    async with running(app):
        for name in ("one", "two", "three"):
            await app.devices.save(name, queue="phones")
        for job in [await post.submit(account=account) for account in ("ann", "ben", "cat")]:
            await job.wait()


async def test_no_start_is_forecast_on_a_device_that_is_down_or_paused(
    app: Fairlane, rack: Rack
) -> None:
    app.queue("phones", devices=phones(rack))

    @app.task(queue="phones")
    async def post(account: str) -> None: ...

    async with running(app):
        await app.devices.save("one", queue="phones")
        await (await post.submit(account="ann")).wait()
        await app.devices.change("one", paused=True)
        job = await post.submit(account="ben")
        assert (await app.queues.forecast("phones")).starts_at == {job.id: None}
        rack.dead.add("one")
        await is_in(app, "one", "down")
        await app.devices.change("one", paused=False)
        assert (await app.queues.forecast("phones")).starts_at == {job.id: None}
        rack.dead.clear()
        await job.wait()


async def test_a_job_goes_only_to_a_device_with_the_labels_it_requires(
    app: Fairlane, rack: Rack, doors: Doors
) -> None:
    post = furnish(app, rack, doors)
    doors.open("ann")
    async with running(app):
        await app.devices.save("one", queue="phones", labels=["eu"])
        await is_in(app, "one", "idle")
        job = await post.submit(account="ann", region="us")
        assert (await job.show()).state == "queued"
        await app.devices.change("one", labels=["eu", "us"])
        assert await job.wait() == "one"
    assert rack.connected["one"] == 2  # connected again, with the stored settings of now


async def test_a_device_that_goes_down_gives_its_job_to_another_and_comes_back(
    app: Fairlane, rack: Rack, doors: Doors
) -> None:
    post = furnish(app, rack, doors)
    async with running(app):
        await app.devices.save("one", queue="phones", labels=["eu"])
        await is_in(app, "one", "idle")
        job = await post.submit(account="ann")
        await doors.reached("ann")
        rack.dead.add("one")
        await is_in(app, "one", "down")
        await reaches(job, "queued")
        view = (await app.devices.list())["one"]
        assert (view.note, view.job) == ("one does not answer", None)
        assert (await job.show()).crashes == 1
        assert "cleanup ann on one" in rack.told

        doors.open("ann")
        rack.dead.clear()
        assert await job.wait() == "one"
        assert (await app.devices.list())["one"].note == ""


async def test_a_job_that_may_not_be_recovered_fails_with_its_device(
    app: Fairlane, rack: Rack, doors: Doors
) -> None:
    app.queue("phones", devices=phones(rack))

    @app.task(queue="phones", recover=0)
    async def post(account: str) -> None:
        await doors.wait(account)

    async with running(app):
        await app.devices.save("one", queue="phones")
        await is_in(app, "one", "idle")
        job = await post.submit(account="ann")
        await doors.reached("ann")
        rack.dead.add("one")
        with pytest.raises(JobFailed, match="was lost while it ran"):
            await job.wait()
        assert (await job.show()).device == "one"


async def test_a_job_that_finds_its_device_down_is_interrupted(app: Fairlane, rack: Rack) -> None:
    app.queue("phones", devices=phones(rack))

    @app.task(queue="phones")
    def post(ctx: SyncContext, account: str) -> int:
        if ctx.attempt == 1:
            raise DeviceDown("the screen stays black")
        return ctx.attempt

    async with running(app):
        await app.devices.save("one", queue="phones")
        job = await post.submit(account="ann")
        assert await job.wait() == 2
        assert (await job.show()).crashes == 1
    assert rack.connected["one"] == 2


async def test_a_device_that_a_job_found_down_accepts_no_job_while_it_is_checked(
    app: Fairlane, rack: Rack
) -> None:
    asked, may_answer = threading.Event(), threading.Event()

    class Slow(phones(rack)):  # type: ignore[misc]
        def check(self) -> None:
            asked.set()
            may_answer.wait()

    app.queue("phones", devices=Slow)

    @app.task(queue="phones")
    async def post(ctx: Context, account: str) -> int:
        if rack.connected["one"] == 1:
            raise DeviceDown("the screen stays black")
        return ctx.attempt

    async with running(app):
        await app.devices.save("one", queue="phones")
        await eventually(asked.is_set)
        job = await post.submit(account="ann")

        async def is_back() -> bool:
            shown = await job.show()
            return (shown.state, shown.crashes) == ("queued", 1)

        try:
            await eventually(is_back)
        finally:
            may_answer.set()
        assert await job.wait() == 2


async def test_a_device_that_cannot_be_cleaned_up_reconnects_and_the_job_is_done(
    app: Fairlane, rack: Rack, doors: Doors
) -> None:
    post = furnish(app, rack, doors)
    doors.open("ann")
    rack.dirty.add("one")
    async with running(app):
        await app.devices.save("one", queue="phones", labels=["eu"])
        job = await post.submit(account="ann")
        assert await job.wait() == "one"
        await eventually(lambda: rack.connected.get("one") == 2)


async def test_cleaning_up_happens_also_after_a_failure_and_a_cancel(
    app: Fairlane, rack: Rack, doors: Doors
) -> None:
    app.queue("phones", devices=phones(rack))

    @app.task(queue="phones")
    async def post(account: str) -> None:
        if account == "ann":
            raise ValueError("no such account")
        await doors.wait(account)

    async with running(app):
        await app.devices.save("one", queue="phones")
        failing, waiting = [await post.submit(account=a) for a in ("ann", "ben")]
        with pytest.raises(JobFailed):
            await failing.wait()
        await doors.reached("ben")
        await waiting.cancel()
        await reaches(waiting, "cancelled")
    assert [line for line in rack.told if line.startswith("cleanup")] == [
        "cleanup ann on one",
        "cleanup ben on one",
    ]


async def test_a_device_that_cannot_be_prepared_for_a_job_fails_the_job_only(
    app: Fairlane, rack: Rack
) -> None:
    class Picky(phones(rack)):  # type: ignore[misc]
        async def prepare(self, ctx: Any, params: Any) -> None:
            raise ValueError(f"nobody is called {params['account']}")

    app.queue("phones", devices=Picky)

    @app.task(queue="phones")
    async def post(account: str) -> None:
        raise AssertionError("it was not prepared")

    async with running(app):
        await app.devices.save("one", queue="phones")
        job = await post.submit(account="ann")
        with pytest.raises(JobFailed, match="nobody is called ann"):
            await job.wait()
        assert rack.told.count("cleanup ann on one") == 1
        assert (await app.devices.list())["one"].state == "idle"


async def test_a_job_that_ended_stays_as_it_ended_when_its_device_goes_down_during_cleanup(
    app: Fairlane, rack: Rack, doors: Doors
) -> None:
    class Slow(phones(rack)):  # type: ignore[misc]
        async def cleanup(self, ctx: Any, params: Any) -> None:
            ctx.report(cleaned=1)
            await doors.wait("cleanup")

    app.queue("phones", devices=Slow)
    runs: list[str] = []

    @app.task(queue="phones")
    async def post(account: str) -> None:
        runs.append(account)

    async with running(app):
        await app.devices.save("one", queue="phones")
        job = await post.submit(account="ann")
        await doors.reached("cleanup")
        rack.dead.add("one")

        async def is_noted() -> bool:
            return (await app.devices.list())["one"].note == "one does not answer"

        await eventually(is_noted)
        doors.open("cleanup")
        await job.wait()
        assert (await job.show()).statistics == {"cleaned": 1}
    assert runs == ["ann"]


async def test_preparing_for_a_plain_task_can_be_cancelled_where_it_awaits(
    app: Fairlane, rack: Rack, doors: Doors
) -> None:
    class Slow(phones(rack)):  # type: ignore[misc]
        async def prepare(self, ctx: Any, params: Any) -> None:
            await doors.wait("prepare")

    app.queue("phones", devices=Slow)

    @app.task(queue="phones")
    def post(account: str) -> None:
        raise AssertionError("it was not prepared")

    async with running(app):
        await app.devices.save("one", queue="phones")
        job = await post.submit(account="ann")
        await doors.reached("prepare")
        await job.cancel()
        await reaches(job, "cancelled")
    assert "cleanup ann on one" in rack.told


async def test_a_plain_method_runs_programs_as_a_plain_task_does_and_an_async_one_awaits_them(
    app: Fairlane, doors: Doors
) -> None:
    ended: list[tuple[str, int]] = []

    class Plain(Device):
        def prepare(self, ctx: SyncContext, params: Any) -> None:
            ended.append(("prepare", ctx.run(["true"]).returncode))

        def cleanup(self, ctx: SyncContext, params: Any) -> None:
            ended.append(("cleanup", ctx.run(["true"]).returncode))

    class Awaiting(Device):
        async def prepare(self, ctx: Context, params: Any) -> None:
            ended.append(("prepare", (await ctx.run(["true"])).returncode))

        async def cleanup(self, ctx: Context, params: Any) -> None:
            ended.append(("cleanup", (await ctx.run(["true"])).returncode))

    app.queue("plain", devices=Plain)
    app.queue("awaiting", devices=Awaiting)

    @app.task(queue="plain")
    async def wait(ctx: Context) -> None:
        await doors.wait("cancel")

    @app.task(queue="awaiting")
    def work(ctx: SyncContext) -> None:
        ended.append(("work", ctx.run(["true"]).returncode))

    async with running(app):
        await app.devices.save("one", queue="plain")
        await app.devices.save("two", queue="awaiting")
        await (await work.submit()).wait()
        job = await wait.submit()
        await doors.reached("cancel")
        await job.cancel()
        await reaches(job, "cancelled")
    around = [("prepare", 0), ("cleanup", 0)]
    assert ended == [("prepare", 0), ("work", 0), ("cleanup", 0), *around]


async def test_a_paused_device_accepts_no_job_and_its_running_job_goes_on(
    app: Fairlane, rack: Rack, doors: Doors
) -> None:
    post = furnish(app, rack, doors)
    async with running(app):
        await app.devices.save("one", queue="phones", labels=["eu"])
        first = await post.submit(account="ann")
        await doors.reached("ann")
        await app.devices.change("one", paused=True)
        second = await post.submit(account="ben")
        doors.open("ann", "ben")
        await first.wait()
        await is_in(app, "one", "idle")
        view = (await app.devices.list())["one"]
        assert (view.paused, view.note) == (True, "")
        assert (await second.show()).state == "queued"
        await app.devices.change("one", paused=False)
        await second.wait()
    assert rack.connected["one"] == 1


async def test_a_device_that_is_deleted_ends_its_job_first_and_may_come_back(
    app: Fairlane, rack: Rack, doors: Doors
) -> None:
    post = furnish(app, rack, doors)
    async with running(app):
        await app.devices.save("one", queue="phones", labels=["eu"])
        job = await post.submit(account="ann")
        await doors.reached("ann")
        await app.devices.delete("one")
        assert await app.devices.list() == {}
        assert (await job.show()).state == "running"
        doors.open("ann", "ben")
        assert await job.wait() == "one"
        await eventually(lambda: "close one" in rack.told)
        await app.devices.save("one", queue="phones", labels=["eu"])
        assert await (await post.submit(account="ben")).wait() == "one"


async def test_a_device_that_is_moved_to_another_queue_is_driven_as_those_of_that_queue(
    app: Fairlane, rack: Rack, doors: Doors
) -> None:
    furnish(app, rack, doors)
    screens = Rack()
    app.queue("screens", devices=phones(screens))
    async with running(app):
        await app.devices.save("one", queue="phones")
        await is_in(app, "one", "idle")
        await app.devices.save("one", queue="screens")
        await eventually(lambda: "connect one" in screens.told, what="the screen is connected")
    assert rack.told == ["connect one", "close one"]


@pytest.mark.parametrize("database", ["sqlite", "postgres"], indirect=True)
async def test_devices_are_there_again_after_a_restart_and_keep_their_pause(
    app: Fairlane, rack: Rack, doors: Doors
) -> None:
    post = furnish(app, rack, doors)
    doors.open("ann")
    async with running(app):
        await app.devices.save("one", queue="phones", labels=["eu"], settings={"port": 1})
        await app.devices.save("two", queue="phones", labels=["eu"])
        await app.devices.change("two", paused=True)
    async with running(app):
        assert await (await post.submit(account="ann")).wait() == "one"
        views = await app.devices.list()
        assert views["one"].settings == {"port": 1}
        assert views["two"].paused


async def test_a_driver_that_hangs_is_down_and_does_not_hold_up_the_rest(
    app: Fairlane, doors: Doors
) -> None:
    class Stone(Device):
        answer_seconds: ClassVar[float] = 0.05
        hanging: ClassVar[list[str]] = []

        def connect(self) -> None:
            self.hanging.append(self.name)
            time.sleep(0.5)  # as a driver without an answer does

    app.queue("stones", devices=Stone)
    async with running(app):
        await app.devices.save("rock", queue="stones")
        await eventually(lambda: Stone.hanging)

        async def is_noted() -> bool:
            return "did not answer within 0.05 s" in (await app.devices.list())["rock"].note

        await eventually(is_noted)


class Exiting(Device):
    def connect(self) -> None:
        raise SystemExit("no driver for this model")


class ExitingOnTheLoop(Device):
    async def connect(self) -> None:
        raise SystemExit("no driver for this model")


class ExitingAtOnce(Device):
    def __init__(self, *facts: Any) -> None:
        super().__init__(*facts)
        raise SystemExit("no driver for this model")


class Cancelled(Device):
    def connect(self) -> None:
        raise CancelledError("no driver for this model")  # as a future inside a driver may do


@pytest.mark.parametrize("driver", [Exiting, ExitingOnTheLoop, ExitingAtOnce, Cancelled])
async def test_a_driver_that_would_end_the_program_has_only_its_device_down(
    app: Fairlane, driver: type[Device]
) -> None:
    app.queue("phones", devices=driver)
    async with running(app):
        await app.devices.save("one", queue="phones")

        async def is_noted() -> bool:
            return "no driver for this model" in (await app.devices.list())["one"].note

        await eventually(is_noted)


async def test_a_device_with_a_missing_setting_names_it(app: Fairlane) -> None:
    class Wired(Device):
        def connect(self) -> None:
            assert self.settings["port"]

    app.queue("phones", devices=Wired)
    async with running(app):
        await app.devices.save("one", queue="phones")

        async def is_noted() -> bool:
            return (await app.devices.list())["one"].note == "KeyError: 'port'"

        await eventually(is_noted)


async def test_a_plain_method_may_return_an_awaitable(app: Fairlane) -> None:
    awaited: list[str] = []

    async def call(what: str) -> None:
        awaited.append(what)

    class Remote(Device):
        def connect(self) -> Awaitable[None]:
            return call("connect")

        def prepare(self, ctx: Any, params: Any) -> Awaitable[None]:
            return call("prepare")

    app.queue("phones", devices=Remote)

    @app.task(queue="phones")
    async def post() -> None:
        awaited.append("post")

    async with running(app):
        await app.devices.save("one", queue="phones")
        await (await post.submit()).wait()
    assert awaited == ["connect", "prepare", "post"]


async def test_what_cannot_be_a_device_is_refused(app: Fairlane, rack: Rack, doors: Doors) -> None:
    furnish(app, rack, doors)
    with pytest.raises(BadSetting, match=r"class made of fairlane\.Device"):
        app.queue("odd", devices="phones")  # type: ignore[arg-type]
    async with running(app):
        with pytest.raises(UnknownName, match='did you mean "phones"'):
            await app.devices.save("one", queue="phone")
        with pytest.raises(BadSetting, match="not served by devices"):
            await app.devices.save("one", queue="default")
        for wrong in ("", "a/b", "\x00"):
            with pytest.raises(BadSetting):
                await app.devices.save(wrong, queue="phones")
        with pytest.raises(UnknownName):
            await app.devices.change("one", paused=True)
        with pytest.raises(UnknownName):
            await app.devices.delete("one")


async def test_a_task_in_a_child_process_cannot_use_a_device(app: Fairlane, rack: Rack) -> None:
    app.queue("phones", devices=phones(rack))
    task = app.task(queue="phones", isolation="process")(process_id)
    async with running(app):
        await app.devices.save("one", queue="phones")
        job = await task.submit()
        with pytest.raises(JobFailed, match="cannot use a device"):
            await job.wait()


# in several processes


class Carriers:
    """Processes on one database that can all drive the same phones."""

    def __init__(self, stack: AsyncExitStack) -> None:
        self.database = SharedDatabase()
        self.rack = Rack()
        self.doors = Doors()
        self._stack = stack

    async def open(self, name: str) -> SharedApp:
        app = SharedApp(self.database, name)
        furnish(app, self.rack, self.doors)
        await self._stack.enter_async_context(app)
        return app


@pytest.fixture
async def carriers() -> AsyncIterator[Carriers]:
    async with AsyncExitStack() as stack:
        yield Carriers(stack)


async def test_one_of_all_processes_carries_a_device(carriers: Carriers) -> None:
    apps = [await carriers.open(name) for name in ("first", "second", "third")]
    for number in range(6):
        await apps[1].devices.save(f"phone-{number}", queue="phones", labels=["eu"])

    async def are_idle() -> bool:
        return all(view.state == "idle" for view in (await apps[2].devices.list()).values())

    await eventually(are_idle)
    assert set(carriers.rack.connected.values()) == {1}
    carriers.doors.open("ann")
    job = await apps[2].submit(apps[2].tasks["post"].call(account="ann"))
    assert (await job.wait()).startswith("phone-")


async def test_who_carries_next_begins_when_the_one_before_has_let_go(carriers: Carriers) -> None:
    async with AsyncExitStack() as leaving:
        first = SharedApp(carriers.database, "first")
        furnish(first, carriers.rack, carriers.doors)
        await leaving.enter_async_context(first)
        await first.devices.save("one", queue="phones", labels=["eu"])
        await is_in(first, "one", "idle")
        second = await carriers.open("second")
        job = await second.submit(second.tasks["post"].call(account="ann"))
        await carriers.doors.reached("ann")
    await eventually(lambda: carriers.rack.connected["one"] == 2)
    carriers.doors.open("ann")
    assert await job.wait() == "one"
    told = [line for line in carriers.rack.told if line in ("connect one", "close one")]
    assert told == ["connect one", "close one", "connect one"]


def restart_worker(app: Fairlane) -> None:
    """Give the worker a new id, as the renewal of a lost lease does at its end."""
    membership: Any = app._engine.membership
    membership._lease_renewal.stop()  # or its thread would run on beside all later tests
    membership._restart()


async def test_a_worker_with_a_new_id_claims_its_devices_again(carriers: Carriers) -> None:
    app = await carriers.open("first")
    await app.devices.save("one", queue="phones", labels=["eu"])
    await is_in(app, "one", "idle")
    before = app.worker_id
    restart_worker(app)
    await eventually(lambda: carriers.rack.connected["one"] == 2)
    assert app.worker_id != before
    carriers.doors.open("ann")
    job = await app.submit(app.tasks["post"].call(account="ann"))
    assert await asyncio.wait_for(job.wait(), 20) == "one"


async def test_a_worker_with_a_new_id_claims_no_device_before_it_has_a_lease() -> None:
    app, rack = SharedApp(SharedDatabase(), "first"), Rack()
    furnish(app, rack, Doors())
    begun, gate = threading.Event(), threading.Event()

    @app.task
    def stone() -> None:
        begun.set()
        gate.wait()

    async with running(app):
        await stone.submit()
        await eventually(begun.is_set)
        restart_worker(app)
        await app.devices.save("one", queue="phones")
        pause, carried = await app._engine.devices.run_once(), {**app._engine.worker.devices}
        gate.set()
        assert (pause, carried) == (1.0, {})  # it has claimed no device
        await is_in(app, "one", "idle")
    assert rack.connected == {"one": 1}
