"""A precondition that does not hold blocks a job, with the reason, until it holds again."""

import msgspec

from fairlane.core.inputs import Unblocked
from fairlane.core.live_job import JobId, Reason
from tests.support.core import World, orders

FULL = Reason(
    "disk_space", "2 GB are missing", {"folder": "/v", "needed_bytes": 3, "free_bytes": 1}
)


def test_a_blocked_job_shows_its_reason_and_costs_no_attempt() -> None:
    world = World()
    world.submit("a")
    world.refuse("a", blocked=FULL)
    job = world.job("a")
    assert (job.state, job.attempt, job.started_at) == ("blocked", 0, None)
    assert world.explain("a")["reasons"] == [msgspec.to_builtins(FULL)]


def test_it_is_queued_again_at_its_position_by_itself_when_the_condition_holds() -> None:
    world = World(max_concurrent=1)
    world.submit("a")
    world.submit("b")
    world.refuse("a", blocked=FULL)
    assert world.running == {"b"}
    world.submit("c")
    world.apply(Unblocked(JobId("a"), world.job("a").fence))
    assert world.state("a") == "queued"
    assert world.drained() == ["a", "c"]


def test_a_stale_message_about_a_precondition_is_ignored() -> None:
    world = World()
    world.submit("a")
    world.refuse("a", blocked=FULL)
    world.apply(Unblocked(JobId("a"), world.job("a").fence - 1))
    assert world.state("a") == "blocked"


def test_it_does_not_end_the_wait_for_dependencies() -> None:
    world = World()
    world.submit("a")
    world.submit("b", after=["a"])
    world.apply(Unblocked(JobId("b"), 0))
    assert world.state("b") == "blocked"


def test_when_the_worker_that_watches_is_gone_the_job_is_looked_at_again() -> None:
    world = World()
    world.submit("a")
    world.refuse("a", blocked=FULL)
    other = world.reloaded()
    for each in (world, other):
        each.join("w2")
        each.gone("w")
        assert each.state("a") == "running"
        assert each.job("a").worker == "w2"


def test_cancelling_it_ends_the_watch() -> None:
    world = World()
    world.submit("a")
    world.refuse("a", blocked=FULL)
    world.cancel("a")
    assert orders(world.last).stop_watching == ["a"]
    assert world.state("a") == "cancelled"
