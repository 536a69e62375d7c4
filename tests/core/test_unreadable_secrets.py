"""A job whose secrets a process cannot decrypt is tried by the others, and blocked if none can."""

import pytest

from fairlane.core.live_job import Reason
from tests.support.core import HIGH, World, job

LOCKED = Reason("secrets_unreadable", "another key")


@pytest.fixture(params=["fifo", "strict", "round_robin"])
def world(request: pytest.FixtureRequest) -> World:
    world = World(order=request.param, slots=0)
    world.join("stale", slots=9, checks=("noop",))
    return world


def refuse_by(world: World, id: str, worker: str) -> None:
    assert world.job(id).worker == worker
    world.refuse(id, LOCKED)


def test_another_process_gets_the_job(world: World) -> None:
    world.join("busy", slots=0)
    world.submit("a", lane="x")
    refuse_by(world, "a", "stale")
    assert world.state("a") == "queued"
    assert "worker" in world.reasons("a")
    world.join("busy", slots=1)
    assert (world.job("a").worker, world.job("a").attempt) == ("busy", 1)
    world.finish("a")
    assert world.scheduler.board.refused_by == {}


def test_a_job_is_blocked_when_no_process_is_left_and_each_has_tried_once(world: World) -> None:
    world.join("stale2", slots=9)
    world.submit("a")
    refuse_by(world, "a", "stale")
    refuse_by(world, "a", "stale2")
    assert (world.state("a"), world.reasons("a")[0]) == ("blocked", "secrets_unreadable")
    world.wait(1000)
    world.apply(*world.workers.values())
    assert world.started == ["a", "a"]


@pytest.mark.parametrize("new_leader", [False, True])
def test_a_process_that_joins_later_tries_the_blocked_job(world: World, new_leader: bool) -> None:
    world.submit("a")
    refuse_by(world, "a", "stale")
    world = world.reloaded() if new_leader else world
    assert world.state("a") == "blocked"
    world.join("fresh", slots=9, tasks=("other",))
    assert world.state("a") == "blocked"
    world.join("right", slots=9)
    assert world.job("a").worker == "right"


def test_jobs_with_other_keys_and_without_secrets_still_run_in_any_process(world: World) -> None:
    world.operate(order="fifo")
    world.join("other", slots=9)
    world.submit("a")
    refuse_by(world, "a", "stale")
    assert world.job("a").worker == "other"
    world.submit("b")
    assert world.job("b").worker == "stale"
    world.submit("c")
    refuse_by(world, "c", "other")
    assert world.job("c").worker == "stale"


def test_the_jobs_are_tried_again_and_blocked_when_the_last_other_process_is_gone(
    world: World,
) -> None:
    world.join("busy", slots=0)
    world.submit_all(job("a", lane="x"), job("b", priority=HIGH))
    while world.running:
        world.refuse(min(world.running), LOCKED)
    world.gone("busy")
    while world.running:
        world.refuse(min(world.running), LOCKED)
    assert world.state("a") == "blocked"
    assert world.state("b") in ("blocked", "queued")  # a strict head is not passed
    world.gone("stale")
    world.join("right", slots=9)
    assert "a" in world.running


def test_a_device_of_a_process_without_the_key_is_not_tried_twice() -> None:
    world = World(slots=0, devices=True)
    for name in ("w/one", "w/two"):
        world.join(name, device=True, queues=("q",))
    world.submit("a")
    world.refuse("a", LOCKED)
    assert world.state("a") == "blocked"
    world.join("v/three", device=True, queues=("q",))
    assert world.job("a").worker == "v/three"


def test_a_cancelled_job_is_not_tried_again(world: World) -> None:
    world.join("other", slots=9)
    world.submit("a")
    world.cancel("a")
    world.refuse("a", LOCKED)
    assert world.state("a") == "cancelled"
    assert world.scheduler.board.refused_by == {}
