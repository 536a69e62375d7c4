"""A strict queue is one FIFO line without priorities, whose head is never passed."""

import pytest

from fairlane.core.inputs import Move, Unblocked
from fairlane.core.live_job import JobId
from fairlane.core.retry import Retry
from tests.support.core import HIGH, World


@pytest.fixture
def world() -> World:
    world = World(order="strict")
    world.limit("api", 1, 60)
    world.resource("gpu", 1)
    return world


def test_priorities_do_not_matter(world: World) -> None:
    world.operate(max_concurrent=1)
    world.submit("a")
    world.submit("b")
    world.submit("c", priority=HIGH)
    assert world.drained() == ["b", "c"]


def test_nobody_passes_a_head_that_waits_for_its_lane(world: World) -> None:
    world.submit("a1", lane="a")
    world.submit("a2", lane="a")
    world.submit("b", lane="b")
    assert world.running == {"a1"}
    world.finish("a1")
    assert world.running == {"a2", "b"}


def test_nobody_passes_a_head_that_waits_for_a_limit(world: World) -> None:
    world.submit("a", limits=["api"])
    world.submit("b", limits=["api"])
    world.submit("c")
    assert world.started == ["a"]
    assert world.last.wake_at == world.now + 60
    world.wait(60)
    assert world.started == ["a", "b", "c"]


def test_nobody_passes_a_head_that_waits_for_a_resource_or_a_worker(world: World) -> None:
    world.submit("a", uses={"gpu": 1})
    world.submit("b", uses={"gpu": 1})
    world.submit("c", requires=["moon"])
    world.submit("d")
    world.finish("a")
    assert world.started == ["a", "b"]
    world.join("m", labels=("moon",))
    assert world.started == ["a", "b", "c", "d"]


def test_nobody_passes_a_head_that_waits_out_a_backoff(world: World) -> None:
    world.operate(max_concurrent=1)
    world.submit("a", retry=Retry(times=1, first_seconds=5))
    world.submit("b")
    world.fail("a")
    assert world.running == set()
    world.wait(5)
    assert world.running == {"a"}


def test_nobody_passes_a_blocked_head(world: World) -> None:
    world.operate(max_concurrent=1)
    world.submit("a")
    world.submit("b")
    world.refuse("a", blocked=("disk_space", "2 GB are missing"))
    assert world.running == set()
    world.apply(Unblocked(JobId("a"), world.job("a").fence))
    assert world.running == {"a"}


def test_a_head_is_passed_by_the_job_whose_lane_it_waits_for(world: World) -> None:
    world.submit("a", lane="x", retry=Retry(times=1, first_seconds=5))
    world.submit("b", lane="x")
    world.submit("c")
    world.fail("a")
    world.send(Move("", JobId("b"), to="head"))
    world.wait(5)
    assert world.running == {"a"}
    assert world.drained() == ["b", "c"]


def test_a_job_with_unfinished_dependencies_stands_in_no_order_so_it_holds_up_nobody(
    world: World,
) -> None:
    world.operate(max_concurrent=1)
    world.submit("a")
    world.submit("b", after=["a"])
    world.submit("c")
    assert world.drained() == ["c", "b"]


def test_the_order_of_a_queue_can_change_while_jobs_wait() -> None:
    world = World(max_concurrent=0)
    world.submit("a")
    world.submit("b", priority=HIGH)
    world.operate(order="strict")
    world.operate(max_concurrent=1)
    assert world.running == {"a"}
    world.operate(order="fifo")
    world.submit("c", priority=HIGH)
    assert world.drained() == ["b", "c"]
