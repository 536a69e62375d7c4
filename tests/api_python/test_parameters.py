"""Parameters are checked by their annotations, before a job is stored."""

from datetime import UTC, date, datetime
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator, BaseModel, Field, SecretStr

from fairlane import BadParameters, BadSetting, Fairlane, Priority, TooLarge
from fairlane.testing import running


class Quality(Enum):
    GOOD = "good"


class Filter(BaseModel):
    since: date
    tags: set[str] = set()


async def test_parameters_arrive_with_the_types_they_were_declared_with(app: Fairlane) -> None:
    arrived: dict[str, Any] = {}

    @app.task
    async def work(
        path: Path, quality: Quality, filter: Filter, at: datetime, sizes: tuple[int, ...] = (1, 2)
    ) -> None:
        arrived.update(path=path, quality=quality, filter=filter, at=at, sizes=sizes)

    moment = datetime(2026, 1, 2, tzinfo=UTC)
    wanted = Filter(since=date(2026, 1, 1), tags={"cats"})
    async with running(app):
        await (await work.submit(Path("a.mp4"), Quality.GOOD, wanted, at=moment)).wait()

    assert arrived == {"path": Path("a.mp4"), "quality": Quality.GOOD, "filter": wanted,
                       "at": moment, "sizes": (1, 2)}  # fmt: skip


@pytest.mark.parametrize(
    ("params", "problem"),
    [
        ({}, "handle: Field required (got nothing)"),
        ({"handle": 5}, "handle: Input should be a valid string (got 5)"),
        ({"handle": "a", "limit": 0}, "limit: Input should be greater than or equal to 1 (got 0)"),
        ({"handle": "a", "limt": 3}, "limt: Extra inputs are not permitted (got 3)"),
    ],
)
async def test_bad_parameters_are_refused_with_a_readable_error_and_no_job_is_stored(
    app: Fairlane, params: dict[str, Any], problem: str
) -> None:
    @app.task
    async def archive(handle: str, limit: Annotated[int, Field(ge=1)] = 10) -> None: ...

    async with running(app):
        with pytest.raises(BadParameters) as refused:
            await app.jobs.submit_by_name("archive", params)
        now = await app.snapshot()

    assert str(refused.value) == f'parameters of task "archive" do not fit: {problem}'
    assert (now.counts, now.ended) == ({}, [])


def test_the_error_of_a_validator_is_reported_unchanged(app: Fairlane) -> None:
    def even(number: int) -> int:
        if number % 2:
            raise ValueError("odd numbers are for the others")
        return number

    @app.task
    async def work(number: Annotated[int, AfterValidator(even)]) -> None: ...

    with pytest.raises(BadParameters, match=r"number: odd numbers are for the others \(got 3\)$"):
        work.call(3)


def test_too_many_arguments_are_refused(app: Fairlane) -> None:
    @app.task
    async def work(number: int) -> None: ...

    with pytest.raises(BadParameters, match="at most 1 are accepted"):
        work.call(1, 2)  # type: ignore[call-arg]


async def test_parameters_and_meta_that_are_too_large_are_refused(app: Fairlane) -> None:
    @app.task
    async def work(text: str) -> None: ...

    async with running(app):
        with pytest.raises(TooLarge, match="keep large data in a file"):
            await work.submit("x" * 2_000_000)
        with pytest.raises(TooLarge, match="meta"):
            await work.options(meta={"a": "x" * 100_000}).submit("x")
        with pytest.raises(TooLarge, match="lane"):
            await work.options(lane="x" * 2_000).submit("x")
        now = await app.snapshot()

    assert (now.counts, now.ended) == ({}, [])


def test_meta_that_is_no_json_is_refused(app: Fairlane) -> None:
    @app.task
    async def work() -> None: ...

    with pytest.raises(BadSetting, match="meta cannot be written as JSON"):
        work.options(meta={"a": object()}).call().submission()


def test_an_option_that_does_not_exist_is_refused_with_those_that_do(app: Fairlane) -> None:
    @app.task
    async def work() -> None: ...

    with pytest.raises(BadSetting, match=r"prioritty.*options of a submission: priority"):
        work.options(prioritty=1)  # type: ignore[call-arg]
    with pytest.raises(BadSetting, match="kind"):
        work.options(kind="begin")  # type: ignore[arg-type]


def test_templates_may_be_functions(app: Fairlane) -> None:
    @app.task(lane=lambda values: values["url"].split("/")[2], dedupe="{url}")
    async def work(url: str) -> None: ...

    submission = work.call("https://host/a").submission()
    assert (submission.lane, submission.dedupe) == ("host", "https://host/a")


def test_templates_see_the_value_of_an_enum(app: Fairlane) -> None:
    @app.task(lane="{quality}", dedupe="{quality.name}:{quality:>6}")
    async def work(quality: Quality) -> None: ...

    submission = work.call(Quality.GOOD).submission()
    assert (submission.lane, submission.dedupe) == ("good", "GOOD:  good")


def test_a_job_of_older_code_gets_the_defaults_of_parameters_that_came_later(
    app: Fairlane,
) -> None:
    @app.task
    async def archive(
        handle: str,
        quality: Quality = Quality.GOOD,
        folder: Path = Path("here"),
        token: SecretStr = SecretStr("hush"),
    ) -> None: ...

    values = archive.definition.parameters.decode('{"handle":"nasa","folder":"there"}')

    assert values == {"handle": "nasa", "quality": Quality.GOOD, "folder": Path("there"),
                      "token": SecretStr("hush")}  # fmt: skip
    with pytest.raises(BadParameters, match="handle: Field required"):
        archive.definition.parameters.decode("{}")


@pytest.mark.parametrize("priority", ["high", "HIGH", Priority.HIGH, 0])
def test_a_priority_is_chosen_by_name_or_number(app: Fairlane, priority: Any) -> None:
    @app.task
    async def work() -> None: ...

    assert work.options(priority=priority).call().submission().priority is Priority.HIGH


def test_an_option_of_a_wrong_type_is_refused_in_plain_words(app: Fairlane) -> None:
    @app.task
    async def work() -> None: ...

    with pytest.raises(
        BadSetting, match=r"priority .* is 'urgent'; it must be high, normal or low"
    ):
        work.options(priority="urgent")  # type: ignore[arg-type]
    with pytest.raises(BadSetting, match="it must be one of 'start', 'continue'"):
        work.options(kind="begin")  # type: ignore[arg-type]


def test_a_template_cannot_use_a_secret() -> None:
    def sign_in(token: SecretStr) -> None: ...

    for option in ("lane", "dedupe", "bucket"):
        with pytest.raises(BadSetting, match='"token" is secret'):
            Fairlane("memory://").task(**{option: "{token}"})(sign_in)  # type: ignore[call-overload]
