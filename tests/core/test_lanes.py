"""Jobs of one lane never run at the same time; a job holds it from its first start to its end."""

import pytest

from fairlane.core.inputs import EditLane
from fairlane.core.live_job import Reason
from fairlane.core.retry import Retry
from fairlane.errors import LaneLocked
from tests.support.core import HIGH, World

AGAIN = Retry(times=1, first_seconds=5)


def test_a_lane_runs_one_job_at_a_time_and_other_lanes_run_beside_it() -> None:
    world = World()
    for id, lane in (("a1", "a"), ("a2", "a"), ("b1", "b")):
        world.submit(id, lane=lane)
    assert world.running == {"a1", "b1"}


def test_the_same_lane_of_another_queue_is_another_lane() -> None:
    world = World()
    world.queue("r")
    world.submit("a", lane="x")
    world.submit("b", lane="x", queue="r")
    assert world.running == {"a", "b"}


def test_a_lane_is_held_while_its_job_waits_out_a_backoff() -> None:
    world = World()
    world.submit("a1", lane="a", retry=AGAIN)
    world.submit("a2", lane="a", priority=HIGH)
    world.fail("a1")
    assert world.running == set()
    world.wait(5)
    assert world.running == {"a1"}


def test_a_job_that_does_not_hold_its_lane_lets_others_pass_between_attempts() -> None:
    world = World()
    world.submit("a1", lane="a", retry=AGAIN, hold_lane=False)
    world.submit("a2", lane="a")
    world.fail("a1")
    assert world.running == {"a2"}
    world.wait(5)
    assert world.state("a1") == "queued"
    world.finish("a2")
    assert world.running == {"a1"}


def test_cancelling_a_queued_job_only_makes_its_lane_idle() -> None:
    world = World(max_concurrent=0)
    world.submit("a", lane="a")
    world.submit("b", lane="b")
    world.cancel("a")
    assert world.state("a") == "cancelled"
    assert world.store.lanes == {("q", "a"): "idle"}
    assert not world.store.adopted
    assert world.state("b") == "queued"


@pytest.mark.parametrize(
    ("result", "status"),
    [("completed", "done"), ("failed", "failed"), ("cancelled", "cancelled")],
)
def test_a_lane_shows_how_its_last_job_ended_and_takes_its_checkpoint(
    result: str, status: str
) -> None:
    world = World()
    world.submit("a", lane="a")
    if result == "failed":
        world.fail("a")
    else:
        world.apply(world.outcome("a", result))
    assert world.store.lanes == {("q", "a"): status}
    assert world.store.adopted == ["a"]


def test_a_cancel_with_delete_puts_back_the_checkpoint_from_before_the_run() -> None:
    world = World()
    world.submit("a", lane="a")
    world.cancel("a", outputs="delete")
    world.apply(world.outcome("a", "cancelled"))
    assert not world.store.adopted


def test_saved_parameters_are_locked_while_the_lane_has_an_active_job() -> None:
    world = World()
    world.submit("a", lane="a")
    with pytest.raises(LaneLocked, match="a is active"):
        world.send(EditLane("", "q", "a", "{}"))
    world.finish("a")
    world.send(EditLane("", "q", "a", '{"limit": 5}'))
    assert world.last.changes.lanes["q", "a"].params == '{"limit": 5}'


def test_a_blocked_job_at_the_front_is_not_passed_in_its_lane() -> None:
    world = World()
    world.submit("a1", lane="a")
    world.submit("a2", lane="a")
    world.refuse("a1", blocked=Reason("disk_space", "full"))
    assert world.running == set()
    assert world.reasons("a2") == ["lane", "turn"]
