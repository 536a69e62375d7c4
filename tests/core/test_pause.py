"""A paused queue lets running jobs finish and starts no new ones."""

import pytest

from fairlane.core.inputs import Pause, Resume
from tests.support.core import World, orders


@pytest.mark.parametrize("after_current", [False, True])
def test_running_jobs_go_on_and_no_job_starts_until_the_queue_is_resumed(
    after_current: bool,
) -> None:
    world = World(max_concurrent=1)
    world.submit("a")
    world.submit("b")
    world.send(Pause("", "q", after_current))
    assert world.running == {"a"}
    assert not orders(world.last).stops
    world.finish("a")
    assert world.running == set()
    assert "paused" in world.reasons("b")
    world.send(Resume("", "q"))
    assert world.running == {"b"}


def test_a_pause_and_its_kind_survive_a_restart() -> None:
    world = World()
    answer = world.send(Pause("", "q", after_current=True))
    assert answer["paused"] == "after_current"
    other = world.reloaded()
    other.submit("a")
    assert other.running == set()


def test_other_queues_are_not_paused() -> None:
    world = World()
    world.queue("r")
    world.send(Pause("", "q"))
    world.submit("a", queue="r")
    assert world.running == {"a"}


def test_room_that_came_while_paused_is_used_on_resume() -> None:
    world = World()
    world.resource("gpu", 2)
    for id in "abcd":
        world.submit(id, task=id, uses={"gpu": 1})
    world.send(Pause("", "q"))
    world.finish("a", "b")
    world.send(Resume("", "q"))
    assert world.running == {"c", "d"}
