"""Rates and resources, of whole jobs and of single stages."""

import asyncio

import pytest

from fairlane import BadSetting, Context, Fairlane, JobFailed, Retry, SyncContext
from fairlane.testing import running
from tests.support.apps import Doors, states
from tests.support.eventually import eventually


async def test_a_rate_limits_the_starts_in_each_window(app: Fairlane) -> None:
    app.limit("mastodon", starts=2, per_seconds=60)

    @app.task(limits=["mastodon"])
    async def work() -> None: ...

    async with running(app) as world:
        jobs = await app.submit_many([work.call() for _ in range(5)])
        counts = []
        for _ in range(3):
            await world.idle()
            counts.append((await states(jobs)).count("completed"))
            await world.advance(60)

    assert counts == [2, 4, 5]


async def test_each_key_of_a_limit_family_is_counted_separately(app: Fairlane) -> None:
    app.limit("host", starts=1, per_seconds=60)

    @app.task(limits=["host:{host}"])
    async def work(host: str) -> None: ...

    async with running(app) as world:
        jobs = await app.submit_many([work.call(host) for host in ("a", "a", "b")])
        await world.idle()

        assert await states(jobs) == ["completed", "queued", "completed"]


async def test_a_retry_counts_as_a_start_of_the_rate(app: Fairlane) -> None:
    app.limit("host", starts=1, per_seconds=60)
    tries: list[float] = []

    @app.task(limits=["host"], retry=Retry(times=1, first_seconds=1))
    async def work() -> None:
        tries.append(app._commands.clock.now())
        raise TimeoutError

    async with running(app) as world:
        await work.submit()
        await world.idle()
        await world.advance(1)
        assert len(tries) == 1
        await world.advance(59)
        assert len(tries) == 2


async def test_a_limit_is_changed_while_running(app: Fairlane) -> None:
    app.limit("host", starts=1, per_seconds=60)
    app.resource("gpu", 1)

    @app.task(limits=["host"], uses={"gpu": 1})
    async def work() -> None: ...

    async with running(app) as world:
        jobs = await app.submit_many([work.call() for _ in range(3)])
        await world.idle()
        await app.limits.set("host", starts=2, per_seconds=60)
        await world.idle()
        assert (await states(jobs)).count("completed") == 2
        await app.limits.set_resource("gpu", 0)
        await world.advance(60)
        assert (await states(jobs)).count("completed") == 2
        await app.limits.set_resource("gpu", 2)
        await world.idle()
        assert (await states(jobs)).count("completed") == 3
        with pytest.raises(BadSetting, match="must be above zero"):
            await app.limits.set("host", starts=2, per_seconds=0)


async def test_jobs_never_take_more_of_a_resource_than_there_is(
    app: Fairlane, doors: Doors
) -> None:
    app.resource("gpu", 2)

    @app.task(uses={"gpu": 1})
    async def work(name: str) -> None:
        await doors.wait(name)

    async with running(app) as world:
        names = [str(number) for number in range(6)]
        await app.submit_many([work.call(name) for name in names])
        for name in names:
            await doors.reached(name)
            doors.open(name)
        await world.idle()

    assert doors.most_inside == 2


async def test_parallel_stages_never_take_more_of_a_resource_than_there_is(
    app: Fairlane, doors: Doors
) -> None:
    app.resource("gpu", 2)

    @app.task
    async def work(ctx: Context, name: str) -> None:
        async with asyncio.TaskGroup() as group:
            for part in ("1", "2"):
                stage = ctx.stage(part).run(doors.wait, name + part, uses={"gpu": 1})
                group.create_task(stage)

    async with running(app) as world:
        await app.submit_many([work.call(name) for name in "abc"])
        for number in range(1, 7):
            await doors.crowd(min(6, number + 1))
            doors.open(doors.arrived[number - 1])
        await world.idle()

    assert len(doors.arrived) == 6
    assert doors.most_inside == 2


async def test_a_resource_is_held_only_for_as_long_as_the_stage_lasts(
    app: Fairlane, doors: Doors
) -> None:
    app.resource("gpu", 1)

    @app.task
    async def work(ctx: Context, name: str) -> None:
        await ctx.stage("on gpu").run(doors.wait, f"{name} on gpu", uses={"gpu": 1})
        await doors.wait(f"{name} after")

    async with running(app):
        await work.submit("a")
        await doors.reached("a on gpu")
        await work.submit("b")
        doors.open("a on gpu")
        await doors.reached("a after", "b on gpu")


async def test_each_try_of_a_stage_waits_for_the_rate(app: Fairlane) -> None:
    app.limit("douyin", starts=1, per_seconds=60)
    tries: list[float] = []

    def parse() -> str:
        tries.append(app._commands.clock.now())
        if len(tries) == 1:
            raise TimeoutError
        return "parsed"

    @app.task
    def work(ctx: SyncContext) -> str:
        retry = Retry(times=1, first_seconds=0)
        return str(ctx.stage("parsing").run(parse, limits=["douyin"], retry=retry))

    async with running(app) as world:
        job = await work.submit()
        begin = world.clock.now()

        async def waits_for_its_second_try() -> bool:
            stages = (await job.show()).stages
            return len(tries) == 1 and any(stage.status == "pending" for stage in stages)

        await eventually(waits_for_its_second_try)
        world.clock.advance(60)
        await world.app._engine.settled()

        assert await job.wait() == "parsed"
        assert tries == [begin, begin + 60]


async def test_a_cancelled_job_releases_the_resources_of_its_stage(
    app: Fairlane, doors: Doors
) -> None:
    app.resource("gpu", 1)

    @app.task
    async def work(ctx: Context, name: str) -> None:
        await ctx.stage("on gpu").run(doors.wait, name, uses={"gpu": 1})

    async with running(app):
        first = await work.submit("a")
        await doors.reached("a")
        waiting = await work.submit("b")
        last = await work.submit("c")
        await waiting.cancel()
        await app.jobs.wait(waiting.id)
        await first.cancel()
        await doors.reached("c")
        doors.open("c")
        await last.wait()

    assert doors.arrived == ["a", "c"]


@pytest.mark.parametrize("kind", ["coroutine", "thread"])
async def test_a_stage_that_names_an_unknown_limit_fails_with_a_suggestion(
    app: Fairlane, kind: str
) -> None:
    app.limit("mastodon", starts=1, per_seconds=1)

    def parse() -> None: ...

    @app.task
    async def coroutine(ctx: Context) -> None:
        await ctx.stage("parsing").run(parse, limits=["mastdon"])

    @app.task
    def thread(ctx: SyncContext) -> None:
        ctx.stage("parsing").run(parse, limits=["mastdon"])

    async with running(app):
        job = await app.jobs.submit_by_name(kind, {})
        with pytest.raises(JobFailed, match='did you mean "mastodon"'):
            await job.wait()
