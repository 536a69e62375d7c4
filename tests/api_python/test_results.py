"""Results: typed by the task's annotation, with an error for a wrong value."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pydantic import BaseModel

from fairlane import Fairlane, JobFailed, UsageError
from fairlane.testing import running


class Saved(BaseModel):
    path: Path
    at: datetime


@dataclass
class Count:
    downloaded: int


async def test_a_result_has_the_return_type_of_its_task(app: Fairlane) -> None:
    moment = datetime(2026, 1, 2, tzinfo=UTC)

    @app.task
    async def model() -> Saved:
        return Saved(path=Path("a.mp4"), at=moment)

    @app.task
    def data() -> list[Count]:
        return [Count(1), Count(2)]

    @app.task
    def pair() -> tuple[int, set[str]]:
        return 1, {"a"}

    @app.task
    def nothing() -> None: ...

    @app.task
    def unsaid():  # type: ignore[no-untyped-def]  # noqa: ANN202, RUF100
        return {"any": ["thing"]}

    async with running(app):
        assert await (await model.submit()).wait() == Saved(path=Path("a.mp4"), at=moment)
        assert await (await data.submit()).wait() == [Count(1), Count(2)]
        assert await (await pair.submit()).wait() == (1, {"a"})
        nothing_job = await nothing.submit()
        await nothing_job.wait()
        assert (await nothing_job.show()).result is None
        assert await (await unsaid.submit()).wait() == {"any": ["thing"]}


async def test_a_result_that_is_not_json_fails_the_job_with_that_reason(app: Fairlane) -> None:
    @app.task
    async def work() -> object:
        return object()

    async with running(app):
        with pytest.raises(JobFailed, match="cannot be written as JSON") as failed:
            await (await work.submit()).wait()

    assert failed.value.error is not None
    assert failed.value.error["code"] == "bad_result"


async def test_a_result_that_is_too_large_fails_the_job(app: Fairlane) -> None:
    @app.task
    async def work() -> str:
        return "x" * 9_000_000

    async with running(app):
        with pytest.raises(JobFailed, match="keep large data in a file"):
            await (await work.submit()).wait()


async def test_a_result_of_another_type_than_annotated_raises_in_wait(
    app: Fairlane,
) -> None:
    @app.task
    async def work() -> int:
        return "many"  # type: ignore[return-value]

    async with running(app):
        job = await work.submit()
        with pytest.raises(UsageError, match="does not fit the return annotation"):
            await job.wait()

        assert (await job.show()).result == "many"


async def test_a_wait_that_times_out_leaves_the_job_alone(app: Fairlane) -> None:
    @app.task
    async def work() -> str:
        return "done"

    async with running(app):
        await app.queues.pause("default")
        job = await work.submit()
        with pytest.raises(TimeoutError):
            await job.wait(timeout_seconds=0.01)
        await app.queues.resume("default")

        assert await job.wait() == "done"
