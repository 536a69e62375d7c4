"""A job names the amounts it uses; never more than the total is in use."""

import pytest

from fairlane.core.inputs import ChangeSetting, Move, Pause, Resume
from fairlane.core.live_job import JobId
from fairlane.errors import BadSetting, UnknownName
from tests.support.core import World


@pytest.fixture
def world() -> World:
    world = World()
    world.resource("gpu", 2)
    return world


def test_a_job_waits_for_a_short_resource_and_starts_when_it_is_free(world: World) -> None:
    world.submit("a", uses={"gpu": 1})
    world.submit("b", uses={"gpu": 1})
    world.submit("c", uses={"gpu": 1})
    assert world.running == {"a", "b"}
    world.finish("a")
    assert world.running == {"b", "c"}


def test_a_smaller_need_passes_a_larger_one_that_does_not_fit(world: World) -> None:
    world.submit("a", uses={"gpu": 1})
    world.submit("big", uses={"gpu": 2})
    world.submit("small", uses={"gpu": 1})
    assert world.running == {"a", "small"}


def test_of_those_that_fit_the_first_in_order_comes_first(world: World) -> None:
    world.submit("a", uses={"gpu": 2})
    for n, id in enumerate(("b", "c", "d")):
        world.submit(id, task=f"t{n}", uses={"gpu": 2})
    assert world.drained() == ["b", "c", "d"]


def test_a_demand_whose_first_job_has_gone_is_not_taken_for_earlier_than_it_is(
    world: World,
) -> None:
    world.submit("a", uses={"gpu": 2})
    world.submit("x1", task="x", uses={"gpu": 2})
    world.submit("y1", task="y", uses={"gpu": 2})
    world.submit("x2", task="x", uses={"gpu": 2})
    world.cancel("x1")
    world.finish("a")
    assert world.running == {"y1"}


def paused_with_room(world: World) -> None:
    """Wake `y1` for the free amount, while `x1` stays parked behind it."""
    world.submit("a", uses={"gpu": 2})
    world.submit("y1", task="y", uses={"gpu": 2})
    world.submit("x1", task="x", uses={"gpu": 2})
    world.send(Pause("", "q"))
    world.finish("a")


def test_a_job_moved_to_the_front_comes_first_also_where_another_was_woken(world: World) -> None:
    paused_with_room(world)
    world.send(Move("", JobId("x1"), to="head"))
    world.send(Resume("", "q"))
    assert world.running == {"x1"}


def test_a_woken_demand_that_lost_its_first_job_is_placed_by_its_next_job(
    world: World,
) -> None:
    paused_with_room(world)
    world.submit("y2", task="y", uses={"gpu": 2})
    world.cancel("y1")
    world.send(Resume("", "q"))
    assert world.running == {"x1"}


def test_a_later_job_does_not_make_its_demand_a_later_one(world: World) -> None:
    paused_with_room(world)
    world.submit("z1", task="z", uses={"gpu": 2})
    world.submit("x2", task="x", uses={"gpu": 2})
    world.send(Resume("", "q"))
    assert world.drained() == ["x1", "z1", "x2"]


def test_a_raised_amount_is_used_at_once_and_a_lowered_one_interrupts_no_job(world: World) -> None:
    for id in "abcd":
        world.submit(id, uses={"gpu": 1})
    world.send(ChangeSetting("", "resource", "gpu", "operator", {"amount": 3}))
    assert world.running == {"a", "b", "c"}
    world.send(ChangeSetting("", "resource", "gpu", "operator", {"amount": 1}))
    assert world.running == {"a", "b", "c"}
    world.finish("a", "b")
    assert world.running == {"c"}
    world.finish("c")
    assert world.running == {"d"}


def test_the_resources_of_running_jobs_survive_a_restart(world: World) -> None:
    world.submit("a", uses={"gpu": 2})
    other = world.reloaded()
    other.submit("b", uses={"gpu": 1})
    assert other.running == {"a"}
    other.finish("a")
    assert other.running == {"b"}


def test_an_undeclared_resource_is_refused(world: World) -> None:
    with pytest.raises(UnknownName, match='resource "cpu"'):
        world.submit("a", uses={"cpu": 1})
    with pytest.raises(UnknownName, match='resource "cpu"'):
        world.send(ChangeSetting("", "resource", "cpu", "operator", {"amount": 3}))
    with pytest.raises(BadSetting):
        world.resource("cpu", -1)


def test_a_need_above_the_total_is_a_reason_of_its_own(world: World) -> None:
    world.submit("a", uses={"gpu": 3})
    [reason] = world.explain("a")["reasons"]
    assert "there are only 2 in all" in reason["message"]
