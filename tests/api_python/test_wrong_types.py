"""Values of a wrong type are refused in the client, with an error that names them."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from fairlane import BadSetting, Fairlane, UsageError
from fairlane.testing import FakeClock, running


@pytest.fixture
async def paused(tmp_path: Path) -> AsyncIterator[Fairlane]:
    app = Fairlane(f"sqlite:///{tmp_path}/work.db", clock=FakeClock(), stop_grace_seconds=0)

    @app.task(name="work")
    async def work(number: int) -> None: ...

    async with running(app):
        await app.queues.pause("default")
        yield app


@pytest.mark.parametrize("other", [5, b"id", uuid4(), object(), True])
async def test_a_job_that_is_no_id_cannot_be_moved_to(paused: Fairlane, other: Any) -> None:
    job = await paused.tasks["work"].submit(1)
    with pytest.raises(BadSetting, match="before"):
        await job.move(before=other)
    with pytest.raises(BadSetting, match="after"):
        await job.move(after=other)


async def test_every_command_refuses_an_id_that_is_no_text(paused: Fairlane) -> None:
    job: Any = paused.jobs.handle(5)  # type: ignore[arg-type]
    for command in (job.cancel, job.retry, job.skip, job.explain, job.move):
        with pytest.raises(BadSetting, match="job"):
            await command()
    with pytest.raises(BadSetting, match="force"):
        await paused.jobs.handle("a").cancel(force="yes")  # type: ignore[arg-type]
    with pytest.raises(BadSetting, match="lane"):
        await paused.lanes.is_running("default", 5)  # type: ignore[arg-type]


async def test_a_priority_can_be_set_by_its_name(paused: Fairlane) -> None:
    job = await paused.tasks["work"].submit(1)
    await job.set_priority("high")
    assert (await job.show()).priority == "high"


@pytest.mark.parametrize("priority", ["urgent", 7, None, [], 1.5])
async def test_an_unknown_priority_is_refused(paused: Fairlane, priority: Any) -> None:
    job = await paused.tasks["work"].submit(1)
    with pytest.raises(BadSetting, match="high, normal or low"):
        await job.set_priority(priority)


@pytest.mark.parametrize("limit", ["x", None, 1.5, True])
async def test_a_limit_that_is_no_number_is_refused(paused: Fairlane, limit: Any) -> None:
    job = await paused.tasks["work"].submit(1)
    with pytest.raises(BadSetting, match="limit"):
        await paused.schedules.firings("daily", limit=limit)
    with pytest.raises(BadSetting, match="limit"):
        await paused.jobs.history(limit=limit)
    with pytest.raises(BadSetting, match="limit"):
        await paused.jobs.list(limit=limit)
    with pytest.raises(BadSetting, match="limit"):
        await paused.queues.line("default", limit=limit)
    with pytest.raises(BadSetting, match="limit"):
        await paused.queues.info(limit=limit)
    with pytest.raises(BadSetting, match="limit"):
        await job.log(limit=limit)
    with pytest.raises(BadSetting, match="limit"):
        await paused.events.stored(after=0, limit=limit)
    with pytest.raises(BadSetting, match="after"):
        await paused.events.stored(after=limit)


@pytest.mark.parametrize("limit", [2**70, -1, 0])
async def test_a_limit_out_of_range_is_the_nearest_possible_one(
    paused: Fairlane, limit: int
) -> None:
    job = await paused.tasks["work"].submit(1)
    assert await paused.schedules.firings("daily", limit=limit) == []
    assert await job.log(limit=limit) == []
    assert len((await paused.jobs.list(limit=limit)).items) == 1


async def test_a_submission_under_a_key_takes_calls_and_a_key_that_can_be_stored(
    paused: Fairlane,
) -> None:
    call = paused.tasks["work"].call(1)
    with pytest.raises(UsageError, match=r"work\.call"):
        await paused.jobs.submit_once("k", [paused.tasks["work"]], request="r")  # type: ignore[list-item]
    for calls in (call, 5):
        with pytest.raises(UsageError, match="takes a list of calls"):
            await paused.jobs.submit_once("k", calls, request="r")  # type: ignore[arg-type]
        with pytest.raises(UsageError, match="takes a list of calls"):
            await paused.submit_many(calls)  # type: ignore[arg-type]
    for wrong in ("\ud800", 5):
        with pytest.raises(BadSetting, match="idempotency key"):
            await paused.jobs.submit_once(wrong, [call], request="r")  # type: ignore[arg-type]
        with pytest.raises(BadSetting, match="request"):
            await paused.jobs.submit_once("k", [call], request=wrong)  # type: ignore[arg-type]


async def test_a_lane_saves_a_call_only(paused: Fairlane) -> None:
    with pytest.raises(UsageError, match=r"work\.call"):
        await paused.lanes.save("default", "a", paused.tasks["work"])  # type: ignore[arg-type]
