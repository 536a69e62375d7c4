"""Why is this job waiting, and when will it run?"""

from typing import Any

import pytest

from fairlane import BadSetting, Fairlane, Job
from fairlane.testing import running
from tests.support.apps import Doors


async def codes(job: Job[Any]) -> list[str]:
    return [reason["code"] for reason in (await job.explain())["reasons"]]


async def test_the_explanation_of_a_waiting_job_has_its_place_and_all_its_reasons(
    app: Fairlane, doors: Doors
) -> None:
    app.queue("default", max_concurrent=1)
    app.limit("host", starts=1, per_seconds=60)
    app.resource("gpu", 1)

    @app.task(lane="x", limits=["host"], uses={"gpu": 1})
    async def work(name: str) -> None:
        await doors.wait(name)

    async with running(app):
        first = await work.submit("a")
        await work.submit("b")
        last = await work.submit("c")
        await app.queues.pause("default")
        why = await last.explain()

        assert why["place"] == 2
        assert [reason["code"] for reason in why["reasons"]] == [
            "paused", "max_concurrent", "lane", "rate_limit", "resource", "turn",
        ]  # fmt: skip
        messages = " ".join(reason["message"] for reason in why["reasons"])
        assert f'lane "x" is held by job {first.id}' in messages
        assert 'queue "default" runs 1 of 1' in messages
        assert await app.jobs.explain(last.id) == why


async def test_the_explanation_of_a_running_or_ended_job_names_its_state(
    app: Fairlane, doors: Doors
) -> None:
    @app.task
    async def work() -> None:
        await doors.wait("a")

    async with running(app):
        job = await work.submit()
        during = await codes(job)
        doors.open("a")
        await job.wait()

        assert (during, await codes(job)) == (["running"], ["completed"])


async def test_a_job_behind_the_head_of_a_strict_queue_waits_for_the_head(
    app: Fairlane, doors: Doors
) -> None:
    app.queue("default", order="strict", max_concurrent=1)

    @app.task
    async def work() -> None:
        await doors.wait("a")

    async with running(app):
        _, head, behind = await app.submit_many([work.call() for _ in range(3)])

        assert await codes(head) == ["max_concurrent"]
        assert await codes(behind) == ["max_concurrent", "strict", "turn"]


async def learnt(app: Fairlane, world: Any, doors: Doors, seconds: float) -> None:
    """Run one job of the task for that long, so that forecasts know the duration."""
    job = await app.tasks["work"].submit("first")
    await doors.reached("first")
    world.clock.advance(seconds)
    doors.open("first")
    await job.wait()


def working(app: Fairlane, doors: Doors) -> None:
    app.queue("default", max_concurrent=1)

    @app.task(name="work")
    async def work(name: str) -> None:
        await doors.wait(name)


async def test_a_forecast_has_the_start_time_of_each_waiting_job(
    app: Fairlane, doors: Doors
) -> None:
    working(app, doors)
    async with running(app) as world:
        await learnt(app, world, doors, 100)
        jobs = [await app.tasks["work"].submit(name) for name in "abc"]
        now = world.clock.now()
        forecast = await app.queues.forecast("default")

    assert forecast.starts_at == {jobs[1].id: now + 100, jobs[2].id: now + 200}
    assert forecast.empty_at == now + 300


async def test_a_forecast_with_a_higher_limit_does_not_change_the_settings(
    app: Fairlane, doors: Doors
) -> None:
    working(app, doors)
    async with running(app) as world:
        await learnt(app, world, doors, 100)
        jobs = [await app.tasks["work"].submit(name) for name in "abc"]
        now = world.clock.now()
        forecast = await app.queues.forecast("default", max_concurrent=6)
        settings = (await app.snapshot()).queues["default"].settings

    assert forecast.starts_at == {jobs[1].id: now, jobs[2].id: now}
    assert settings.max_concurrent == 1  # a forecast changes no setting


async def test_a_forecast_without_known_durations_has_no_times(app: Fairlane, doors: Doors) -> None:
    working(app, doors)
    async with running(app):
        _, waiting = [await app.tasks["work"].submit(name) for name in "ab"]
        forecast = await app.queues.forecast()

    assert forecast.starts_at == {waiting.id: None}
    assert forecast.empty_at is None


async def test_a_forecast_with_an_unknown_setting_is_refused(app: Fairlane, doors: Doors) -> None:
    working(app, doors)
    async with running(app):
        with pytest.raises(BadSetting, match="settings: max_concurrent"):
            await app.queues.forecast("default", max_concurent=6)  # type: ignore[call-arg]
