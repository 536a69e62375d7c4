"""Registering tasks: options that cannot work are refused at once, with the remedy."""

import pytest
from pydantic import BaseModel, SecretStr

from fairlane import BadSetting, Fairlane, NotStarted, UnknownName, UsageError
from fairlane.testing import running


class Login(BaseModel):
    password: SecretStr


def test_two_tasks_of_one_name_are_refused(app: Fairlane) -> None:
    @app.task
    async def work() -> None: ...
    async def other() -> None: ...

    with pytest.raises(BadSetting, match='already a task "work"'):
        app.task(name="work")(other)


def test_a_task_without_a_name_is_refused(app: Fairlane) -> None:
    with pytest.raises(BadSetting, match="needs a name"):
        app.task(lambda: None)


def test_parameters_without_names_are_refused(app: Fairlane) -> None:
    def many(*numbers: int) -> None: ...
    def anything(**options: int) -> None: ...
    def unnamed(number: int, /) -> None: ...

    for function in (many, anything, unnamed):
        with pytest.raises(BadSetting, match="must have a name"):
            app.task(function)


def test_an_annotation_that_cannot_be_resolved_is_refused(app: Fairlane) -> None:
    def work(number: "Nowhere") -> None: ...  # type: ignore[name-defined]  # noqa: F821

    with pytest.raises(BadSetting, match=r"Nowhere.*import that name"):
        app.task(work)


def test_a_secret_inside_another_parameter_is_refused(app: Fairlane) -> None:
    def work(login: Login) -> None: ...
    def lists(tokens: list[SecretStr]) -> None: ...

    for function in (work, lists):
        with pytest.raises(BadSetting, match="a separate parameter"):
            app.task(function)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"isolation": "thread"}, 'must be "none" or "process"'),
        ({"timeout_seconds": 0}, "must be a number above zero"),
        ({"stall_seconds": -1}, "must be a number above zero"),
        ({"on_output": "replace"}, "choose one of rename, overwrite, skip, wait"),
        ({"on_output": "{policy}"}, r'there is no parameter "policy" \(parameters: none\)'),
    ],
)
def test_an_option_that_makes_no_sense_is_refused(
    app: Fairlane, options: dict[str, object], problem: str
) -> None:
    def work() -> None: ...

    with pytest.raises(BadSetting, match=problem):
        app.task(**options)(work)  # type: ignore[call-overload]


def test_a_queue_that_makes_no_sense_is_refused(app: Fairlane) -> None:
    with pytest.raises(BadSetting, match="settings: max_concurrent"):
        app.queue("archive", max_concurent=3)  # type: ignore[call-arg]
    with pytest.raises(BadSetting, match="must be a whole number of 0 or more"):
        app.queue("archive", max_concurrent=-1)


async def test_a_task_that_names_an_undeclared_queue_is_refused_before_the_engine_starts(
    app: Fairlane,
) -> None:
    app.queue("archive")

    @app.task(queue="arhive")
    async def work() -> None: ...

    with pytest.raises(UnknownName, match='did you mean "archive"'):
        async with app:
            pass


@pytest.mark.parametrize("address", ["work.db", "mysql://host/db", "sqlite://", "memory://x"])
def test_a_wrong_address_is_refused_at_once(address: str) -> None:
    with pytest.raises(BadSetting, match=r"expected sqlite:///work\.db"):
        Fairlane(address)


async def test_an_engine_that_is_not_started_says_how_to_start_it(app: Fairlane) -> None:
    @app.task
    async def work() -> None: ...

    with pytest.raises(NotStarted, match="async with app"):
        await work.submit()


async def test_an_engine_is_entered_only_once(app: Fairlane) -> None:
    async with running(app):
        with pytest.raises(UsageError, match="already started"):
            async with app:
                pass


async def test_the_schemas_of_all_tasks_are_stored_for_other_programs(app: Fairlane) -> None:
    @app.task
    async def archive(handle: str, limit: int = 10) -> None: ...

    async with running(app):
        schema = (await app._store.records("task"))["archive"]

    assert '"handle"' in schema
