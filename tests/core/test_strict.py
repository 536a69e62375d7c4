"""A strict queue is one FIFO line without priorities, whose head is never passed."""

import pytest

from fairlane.core.inputs import Move, Unblocked
from fairlane.core.live_job import JobId, Reason
from fairlane.core.retry import Retry
from tests.support.core import HIGH, World, job


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
    world.refuse("a", blocked=Reason("disk_space", "2 GB are missing"))
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


def test_no_job_starts_before_the_worker_has_checked_the_head() -> None:
    world = World(order="strict", slots=0)
    world.join("w", slots=9, checks=("noop",))
    world.submit_all(job("a"), job("b"), job("c"))
    assert world.running == {"a"}
    assert world.reasons("b") == ["strict"]
    world.confirm("a")
    assert world.running == {"a", "b"}
    world.refuse("b", blocked=Reason("precondition", "no room"))
    assert (world.running, world.state("c")) == ({"a"}, "queued")
    world.apply(Unblocked(JobId("b"), world.job("b").fence))
    world.confirm("b")
    assert world.started == ["a", "b", "b", "c"]


def test_a_device_that_refuses_the_head_does_not_let_the_next_job_pass() -> None:
    world = World(order="strict", slots=0, devices=True)
    for name in ("w/one", "w/two"):
        world.join(name, device=True, queues=("q",))
    world.submit_all(job("a"), job("b"))
    first = world.job("a").worker
    world.refuse("a")
    assert world.started == ["a", "a"]
    assert world.job("a").worker != first
    world.confirm("a")
    assert world.running == {"a"}  # the device that refused accepts no job until it reports again


def test_a_new_leader_does_not_take_an_unconfirmed_start_for_certain() -> None:
    world = World(order="strict", slots=0)
    world.join("w", slots=9, checks=("noop",))
    world.submit_all(job("a"), job("b"))
    again = world.reloaded()
    assert again.running == {"a"}
    again.confirm("a")
    assert again.running == {"a", "b"}
    assert again.reloaded().running == {"a", "b"}


def test_the_end_of_an_unconfirmed_job_lets_the_next_start() -> None:
    world = World(order="strict", slots=0)
    world.join("w", slots=9, checks=("noop",))
    world.submit_all(job("a"), job("b"), job("c"))
    world.finish("a")
    assert world.running == {"b"}
    world.fail("b", retryable=False)
    assert (world.running, world.job("b").reason) == ({"c"}, None)


def test_tasks_without_checks_start_together(world: World) -> None:
    world.submit_all(job("a"), job("b"), job("c"))
    assert world.running == {"a", "b", "c"}
