"""A name that a database cannot store is refused in the caller's call, on every store."""

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest

from fairlane import BadSetting, Context, Fairlane, JobFailed, TooLarge
from fairlane.core.inputs import SaveRecord
from fairlane.ids import new_id
from fairlane.leader.schedule import make_schedule
from fairlane.testing import running
from tests.support.eventually import eventually

NUL = "a\x00b"
HALF = "a\ud800b"
UNSTORABLE = pytest.mark.parametrize("name", [NUL, HALF], ids=["nul", "surrogate"])


@UNSTORABLE
def test_declarations_with_names_that_cannot_be_stored_are_refused(name: str) -> None:
    app = Fairlane("memory://")

    def work() -> None: ...

    wrong: list[Callable[[], Any]] = [
        lambda: app.queue(name),
        lambda: app.limit(name, starts=1, per_seconds=1),
        lambda: app.resource(name, 1),
        lambda: app.task(name=name)(work),
        lambda: app.schedule(name, app.task(work).call(), every_seconds=60),
        lambda: Fairlane("memory://", labels=[name]),
    ]
    for declare in wrong:
        with pytest.raises(BadSetting, match="cannot be stored; leave it out"):
            declare()


async def test_names_from_templates_are_checked_at_submission(app: Fairlane) -> None:
    app.limit("site", starts=9, per_seconds=1)
    app.task(name="lane", lane="{name}")(takes_name)
    app.task(name="dedupe", dedupe="{name}")(takes_name)
    app.task(name="bucket", bucket="{name}")(takes_name)
    app.task(name="limits", limits=["site:{name}"])(takes_name)
    app.task(name="requires", requires=["{name}"])(takes_name)
    async with running(app):
        for task in app.tasks.values():
            with pytest.raises(BadSetting, match=r"'[a-z:]*a\\x00b' and holds the character NUL"):
                await task.submit(name=NUL)
            with pytest.raises(BadSetting, match="NUL"):
                await app.schedules.save("often", task.call(name=NUL), every_seconds=60)
        task = app.tasks["lane"]
        for chosen in (task.options(queue=HALF), task.options(lane=HALF),
                       task.options(dedupe=HALF), task.options(depends_on=[HALF])):  # fmt: skip
            with pytest.raises(BadSetting, match="cannot be stored"):
                await chosen.submit(name="fine")


async def takes_name(name: str) -> None: ...


async def test_the_length_of_a_name_is_limited_in_bytes(app: Fairlane) -> None:
    app.task(name="work", lane="{name}")(takes_name)
    async with running(app):
        await (await app.tasks["work"].submit(name="é" * 500)).wait()
        with pytest.raises(TooLarge, match="1,002 bytes, the limit is 1,000"):
            await app.tasks["work"].submit(name="é" * 501)


@UNSTORABLE
async def test_queries_and_commands_with_names_that_cannot_be_stored_are_refused(
    app: Fairlane, name: str
) -> None:
    app.task(name="work")(takes_name)
    call = app.tasks["work"].call(name="fine")
    wrong: list[Callable[[], Awaitable[Any]]] = [
        lambda: app.jobs.show(name),
        lambda: app.jobs.wait(name),
        lambda: app.jobs.log(name),
        lambda: app.jobs.explain(name),
        lambda: app.jobs.handle(name).cancel(),
        lambda: app.jobs.handle(name).retry(),
        lambda: app.jobs.history(lane=name),
        lambda: app.jobs.history(task=name),
        lambda: app.lanes.list(name),
        lambda: app.schedules.firings(name),
        lambda: app.queues.pause(name),
        lambda: app.jobs.is_queued(name),
        lambda: app.lanes.is_running("default", name),
        lambda: app.lanes.save("default", name, call),
        lambda: app.schedules.save(name, call, every_seconds=60),
        lambda: app.queues.forecast(name),
        lambda: app.limits.set(name, starts=1, per_seconds=1),
    ]
    async with running(app):
        for look in wrong:
            with pytest.raises(BadSetting, match="cannot be stored"):
                await look()


async def test_names_in_a_running_job_are_escaped_or_fail_only_that_job(app: Fairlane) -> None:
    app.limit("site", starts=9, per_seconds=1)

    async def one() -> int:
        return 1

    @app.task
    async def named(ctx: Context) -> int:
        ctx.log("said", level=NUL)
        return int(await ctx.stage(NUL).run(one))

    @app.task
    async def limited(ctx: Context) -> int:
        return int(await ctx.stage("one").run(one, limits=[f"site:{NUL}"]))

    async with running(app):
        job = await named.submit()
        assert await job.wait() == 1
        assert [line.level for line in await job.log()] == [r"a\x00b"]
        with pytest.raises(JobFailed, match="holds the character NUL"):
            await (await limited.submit()).wait()


async def test_a_firing_that_cannot_be_stored_is_skipped_and_the_next_one_happens(
    postgres_dsn: str,
) -> None:
    """Such a lane is possible only in a schedule that was stored before the check existed."""
    app = Fairlane(postgres_dsn)
    app.task(name="work")(takes_name)
    submission = app.tasks["work"].call(name="fine").submission()
    submission.lane = NUL
    schedule = make_schedule("often", submission, {"every_seconds": 1})
    async with app:
        text = msgspec.structs.replace(schedule, since=app._commands.clock.now()).text()
        await app._commands.call(SaveRecord(new_id(), "schedule", "often", text))

        async def fired_twice() -> bool:
            return len(await app.schedules.firings("often")) >= 2

        await eventually(fired_twice)
        firings = await app.schedules.firings("often")
        assert len({firing.fire_at for firing in firings}) == len(firings)
        assert {firing.job for firing in firings} == {None}
        assert "could not be executed" in str(firings[0].reason)
        await (await app.tasks["work"].submit(name="fine")).wait()
