"""A program can submit a task of another program, by its stored schema."""

from collections.abc import AsyncIterator
from datetime import date
from enum import Enum
from pathlib import Path
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, Field, SecretStr

from fairlane import BadParameters, Fairlane, Retry, UnknownName, UsageError


class Color(Enum):
    RED = "red"


class Tree(BaseModel):
    name: str
    children: list["Tree"] = []


@pytest.fixture
async def program(tmp_path: Path) -> AsyncIterator[Fairlane]:
    app = Fairlane(f"sqlite:///{tmp_path}/work.db")
    app.queue("drawing", on_conflict="reject")
    app.resource("pen", 1)

    @app.task(queue="drawing", lane="{day}", retry=Retry(times=2), uses={"pen": 1})
    async def draw(
        day: date,
        tree: Tree,
        size: Annotated[int, Field(ge=1)] = 3,
        color: Color = Color.RED,
        mode: Literal["fast", "slow"] = "fast",
        corners: tuple[int, int] = (0, 0),
        token: SecretStr | None = None,
    ) -> str:
        """Draw a tree.

        Slowly."""
        hidden = None if token is None else token.get_secret_value()
        return f"{day:%d.%m.} {tree.name} {len(tree.children)} {size} {color} {mode} {hidden}"

    @app.task(lane=lambda values: str(values["x"]))
    async def computed(x: int) -> None: ...

    @app.task(outputs=["{path}"])
    async def written(path: str) -> None: ...

    async with app:
        yield app


@pytest.fixture
async def stranger(program: Fairlane) -> AsyncIterator[Fairlane]:
    async with Fairlane(program.database, work=False) as app:
        yield app


TREE = {"name": "oak", "children": [{"name": "acorn"}]}


async def test_it_runs_with_the_types_of_its_own_program(stranger: Fairlane) -> None:
    given = {"day": "2026-11-16", "tree": TREE, "size": "5", "token": "s3cret"}
    job = await stranger.jobs.submit_by_name("draw", given)
    view = await stranger.jobs.wait(job.id)
    assert view.result == "16.11. oak 1 5 Color.RED fast s3cret"
    assert view.lane == "2026-11-16"
    assert view.queue == "drawing"
    assert view.params["token"] == "*" * 10
    assert "s3cret" not in str(view.params)


async def test_the_options_for_the_scheduler_are_in_the_schema(
    stranger: Fairlane, program: Fairlane
) -> None:
    ours = program.tasks["draw"].options(id="a").call(date(2026, 1, 1), Tree(name="oak"))
    found = await stranger._submissions.find_task("draw")
    theirs = found.options(id="a").call(day="2026-01-01", tree={"name": "oak", "children": []})
    assert theirs.submission() == ours.submission()


@pytest.mark.parametrize(
    ("wrong", "where"),
    [
        ({"size": 0}, "size"),
        ({"size": "many"}, "size"),
        ({"mode": "other"}, "mode"),
        ({"color": "blue"}, "color"),
        ({"corners": [1]}, "corners"),
        ({"tree": {"children": []}}, "tree"),
        ({"day": "someday"}, "day"),
        ({"more": 1}, "more"),
    ],
)
async def test_parameters_that_do_not_fit_the_schema_are_refused(
    stranger: Fairlane, wrong: dict[str, object], where: str
) -> None:
    with pytest.raises(BadParameters, match=where):
        await stranger.jobs.submit_by_name("draw", {"day": "2026-11-16", "tree": TREE, **wrong})
    assert (await stranger.snapshot()).counts == {}


@pytest.mark.parametrize("task", ["computed", "written"])
async def test_a_task_whose_options_only_its_program_can_compute_is_refused(
    stranger: Fairlane, task: str
) -> None:
    with pytest.raises(UsageError, match="only by its own program"):
        await stranger.jobs.submit_by_name(task, {"x": 1})


async def test_an_unknown_task_is_refused_with_the_names_of_all_tasks(stranger: Fairlane) -> None:
    with pytest.raises(UnknownName, match='did you mean "draw"'):
        await stranger.jobs.submit_by_name("drow", {})


async def test_a_schema_has_defaults_and_no_secrets(stranger: Fairlane) -> None:
    found = (await stranger._submissions.task_schemas())["draw"]
    assert found.text == "Draw a tree."
    assert found.queue == "drawing"
    assert found.parameters["required"] == ["day", "tree"]
    assert found.parameters["properties"]["size"]["default"] == 3
    assert found.parameters["properties"]["color"]["default"] == "red"
