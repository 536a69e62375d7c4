"""FIFO by admission: jobs that can run start at once, other jobs keep their places."""

from fairlane.core.inputs import Submit
from tests.support.core import HIGH, LOW, World, job


def test_a_job_that_can_run_starts_in_the_same_pass_that_accepts_it() -> None:
    world = World()
    decisions = world.apply(Submit("k", [job("a")]))
    assert [start.job for start in decisions.starts] == ["a"]
    assert decisions.changes.entered.keys() == {"a"}


def test_jobs_start_in_the_order_of_their_acceptance() -> None:
    world = World(max_concurrent=1)
    for id in "abc":
        world.submit(id)
    assert world.drained() == ["b", "c"]


def test_a_higher_priority_goes_first_and_each_priority_is_fifo() -> None:
    world = World(max_concurrent=0)
    world.submit("low1", priority=LOW)
    world.submit("a")
    world.submit("high1", priority=HIGH)
    world.submit("b")
    world.submit("high2", priority=HIGH)
    world.operate(max_concurrent=1)
    world.drained()
    assert world.started == ["high1", "high2", "a", "b", "low1"]


def test_a_job_whose_lane_is_busy_is_passed_and_takes_its_turn_the_moment_it_can() -> None:
    world = World(max_concurrent=2)
    world.submit("a1", lane="a")
    world.submit("a2", lane="a")
    world.submit("b1", lane="b")
    world.submit("c1", lane="c")
    assert world.started == ["a1", "b1"]
    world.finish("a1")
    assert world.started == ["a1", "b1", "a2"]


def test_the_queue_that_has_waited_longest_gets_the_hand_that_comes_free() -> None:
    world = World(slots=1)
    world.queue("r")
    for n in range(4):
        world.submit(f"q{n}")
    for n in range(3):
        world.submit(f"r{n}", queue="r")
    assert world.drained() == ["r0", "q1", "r1", "q2", "r2", "q3"]


def test_a_scheduled_job_waits_its_turn_once_it_is_due() -> None:
    world = World(max_concurrent=1)
    world.submit("running")
    world.submit("later", run_at=world.now + 60)
    assert world.state("later") == "scheduled"
    assert world.last.wake_at == world.now + 60
    world.wait(60)
    assert world.state("later") == "queued"
    world.finish("running")
    assert world.running == {"later"}


def test_a_scheduled_job_never_starts_before_its_time() -> None:
    world = World()
    world.submit("later", run_at=world.now + 60)
    world.wait(59.999)
    assert world.state("later") == "scheduled"
    world.wait(0.001)
    assert world.state("later") == "running"


def test_a_scheduled_job_does_not_hold_its_lane() -> None:
    world = World()
    world.submit("later", lane="a", run_at=world.now + 60)
    world.submit("now", lane="a")
    assert world.running == {"now"}
