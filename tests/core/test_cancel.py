"""A cancelled queued job leaves the queue; the worker of a running job gets a stop."""

import pytest

from fairlane.core.inputs import Failure, JobStuck
from fairlane.core.live_job import JobId, WorkerId
from fairlane.core.retry import Retry
from tests.support.core import World, orders


def test_a_cancelled_queued_job_leaves_the_queue_and_no_worker_gets_a_stop() -> None:
    world = World(max_concurrent=0)
    world.submit("a", dedupe="k")
    assert world.cancel("a") == {"state": "cancelled", "stopping": False}
    assert not orders(world.last).stops
    world.submit("b", dedupe="k")


def test_a_running_job_gets_a_stop_and_holds_its_capacities_until_it_ends() -> None:
    world = World(max_concurrent=1)
    world.submit("a", lane="x")
    world.submit("b", lane="x")
    assert world.cancel("a", outputs="delete") == {"state": "running", "stopping": True}
    [stop] = orders(world.last).stops
    assert (stop.job, stop.outputs, stop.force) == ("a", "delete", False)
    assert world.running == {"a"}
    world.apply(world.outcome("a", "cancelled"))
    assert world.state("a") == "cancelled"
    assert world.running == {"b"}


def discarded(world: World) -> list[str]:
    return [start.job for start in world.last.discards]


def test_outputs_that_the_worker_deleted_are_not_deleted_by_the_leader() -> None:
    world = World()
    world.submit("a")
    world.cancel("a", outputs="delete")
    world.apply(world.outcome("a", "cancelled", deleted=True))
    assert discarded(world) == []


@pytest.mark.parametrize("result", ["cancelled", "failed", "returned"])
@pytest.mark.parametrize(("outputs", "deletes"), [("delete", ["a"]), ("keep", [])])
def test_outputs_of_a_job_that_ends_before_its_stop_arrives_are_deleted_by_the_leader(
    result: str, outputs: str, deletes: list[str]
) -> None:
    world = World()
    world.submit("a")
    world.cancel("a")
    world.cancel("a", outputs=outputs)
    failure = Failure("timeout", "it went wrong", retryable=True)
    about = {"failure": failure} if result == "failed" else {}
    world.apply(world.outcome("a", result, **about))
    assert world.state("a") == "cancelled"
    assert discarded(world) == deletes


def test_force_is_passed_on() -> None:
    world = World()
    world.submit("a")
    world.cancel("a")
    world.cancel("a", force=True)
    assert orders(world.last).stops[0].force


def test_a_job_that_does_not_stop_in_time_says_so() -> None:
    world = World()
    world.submit("a")
    world.cancel("a")
    fence = world.job("a").fence
    world.apply(JobStuck(JobId("a"), WorkerId("w"), fence, "force may damage the output"))
    assert world.state("a") == "running"
    reason = world.job("a").reason
    assert reason is not None
    assert reason.code == "stuck"


def test_a_cancelled_job_is_not_retried_when_it_fails_on_the_way_out() -> None:
    world = World()
    world.submit("a", retry=Retry())
    world.cancel("a")
    world.fail("a")
    assert world.state("a") == "cancelled"


def test_a_cancelled_job_that_is_refused_or_handed_back_does_not_start_again() -> None:
    world = World()
    for id, result in (("a", "refused"), ("b", "returned")):
        world.submit(id)
        world.cancel(id)
        world.apply(world.outcome(id, result))
        assert world.state(id) == "cancelled"
        world.join("w", slots=5)


def test_a_job_that_had_finished_before_the_cancel_reached_it_is_completed() -> None:
    world = World()
    world.submit("a")
    world.cancel("a")
    world.finish("a")
    assert world.state("a") == "completed"


def test_scheduled_retrying_and_dependent_jobs_can_be_cancelled_too() -> None:
    world = World()
    world.submit("a", run_at=world.now + 5)
    world.submit("b", retry=Retry(first_seconds=5))
    world.fail("b")
    world.submit("c", after=["a"])
    for id in "bca":
        world.cancel(id)
        assert world.state(id) == "cancelled"
    world.wait(10)
    assert world.running == set()
    assert world.store.dependencies == [("c", "a")]  # for a retry by hand
