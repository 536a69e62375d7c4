"""Waiting jobs can be moved to another place in their priority, or to another priority."""

import pytest

from fairlane.core.inputs import Move, Prioritize
from fairlane.core.live_job import JobId
from fairlane.errors import BadSetting, Conflict
from tests.support.core import HIGH, LOW, World, non_empty


@pytest.fixture
def world() -> World:
    world = World(max_concurrent=1)
    for id in "xabcd":
        world.submit(id)
    return world


def move(world: World, id: str, **where: object) -> None:
    ids = {k: JobId(str(v)) if k != "to" else v for k, v in where.items()}
    world.send(Move("", JobId(id), **ids))  # type: ignore[arg-type]  # names are checked by Move


@pytest.mark.parametrize(
    ("id", "where", "order"),
    [
        ("c", {"to": "head"}, "cabd"),
        ("a", {"to": "tail"}, "bcda"),
        ("d", {"before": "b"}, "adbc"),
        ("a", {"after": "c"}, "bcad"),
        ("a", {"before": "a"}, "abcd"),
        ("d", {"before": "a"}, "dabc"),
        ("a", {"after": "d"}, "bcda"),
    ],
)
def test_a_job_can_be_put_anywhere(
    world: World, id: str, where: dict[str, str], order: str
) -> None:
    move(world, id, **where)
    other = world.reloaded()
    assert world.drained() == other.drained() == list(order)


def test_beside_a_job_of_another_priority_it_joins_that_priority(world: World) -> None:
    world.submit("h", priority=HIGH)
    move(world, "d", after="h")
    assert world.drained() == ["h", "d", "a", "b", "c"]


def test_a_job_with_a_new_priority_stands_there_by_its_admission(
    world: World,
) -> None:
    world.submit("h", priority=HIGH)
    world.send(Prioritize("", JobId("c"), HIGH))
    world.send(Prioritize("", JobId("a"), LOW))
    assert world.drained() == ["c", "h", "b", "d", "a"]


def test_inside_a_lane_too() -> None:
    world = World()
    for n in range(4):
        world.submit(f"l{n}", lane="l")
    move(world, "l3", to="head")
    world.send(Prioritize("", JobId("l1"), LOW))
    assert world.drained() == ["l3", "l2", "l1"]


def test_a_job_that_waits_for_something_can_be_moved_meanwhile() -> None:
    world = World()
    world.resource("gpu", 1)
    for id in "abc":
        world.submit(id, task=id, uses={"gpu": 1})
    move(world, "c", to="head")
    assert world.drained() == ["c", "b"]


@pytest.mark.parametrize(
    "where", [{}, {"to": "head", "before": "a"}, {"before": "x"}, {"before": "nobody"}]
)
def test_an_invalid_move_leaves_the_order_unchanged(world: World, where: dict[str, str]) -> None:
    before = world.image()
    with pytest.raises((Conflict, BadSetting)):
        move(world, "b", **where)
    assert not non_empty(world.last.changes)
    assert world.image() == before
    assert world.drained() == list("abcd")


def test_a_running_job_cannot_be_moved(world: World) -> None:
    with pytest.raises(Conflict, match="stands in no order"):
        move(world, "x", to="head")
