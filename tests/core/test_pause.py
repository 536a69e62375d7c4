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


@pytest.mark.parametrize("after_current", [False, True])
def test_a_pause_and_its_kind_survive_a_restart(after_current: bool) -> None:
    world = World()
    world.send(Pause("", "q", after_current))
    other = world.reloaded()
    other.submit("a")
    assert other.running == set()
    queue = other.scheduler.board.queues["q"]
    assert (queue.paused, queue.ends_drain) == ("paused", after_current)


def test_a_queue_that_stops_after_current_is_paused_when_its_last_running_job_has_ended() -> None:
    world = World(max_concurrent=2)
    for id in "abc":
        world.submit(id)
    assert world.send(Pause("", "q", after_current=True))["paused"] == "after_current"
    world.finish("a")
    assert world.scheduler.board.queues["q"].paused == "after_current"
    assert "stopping" in str(world.explain("c"))
    world.finish("b")
    assert world.scheduler.board.queues["q"].paused == "paused"
    [event] = [event for event in world.last.changes.events if event.type == "queue_changed"]
    assert event.data["paused"] == "paused"
    assert "stopping" not in str(world.explain("c"))
    assert world.reloaded().scheduler.board.queues["q"].paused == "paused"


def test_a_queue_without_running_jobs_that_stops_after_current_is_paused_at_once() -> None:
    assert World().send(Pause("", "q", after_current=True))["paused"] == "paused"


def test_a_plain_pause_and_a_resume_end_no_drain() -> None:
    world = World()
    queue = world.scheduler.board.queues["q"]
    for command in (Pause("", "q"), Resume("", "q")):
        world.send(Pause("", "q", after_current=True))
        assert queue.ends_drain
        world.send(command)
        assert not queue.ends_drain


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
