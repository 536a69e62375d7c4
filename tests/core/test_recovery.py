"""After a crash a running job goes back to the head once; after too many crashes it fails."""

from fairlane.core.inputs import ClockSetBack, Failure, WorkerGone
from fairlane.core.lifecycle import State
from fairlane.core.live_job import WorkerId
from fairlane.core.retry import Retry
from tests.support.core import HIGH, LOW, World


def test_it_goes_back_to_the_front_once_and_then_it_is_failed() -> None:
    world = World(max_concurrent=1)
    world.submit("a")
    world.submit("b")
    world.gone("w")
    assert (world.state("a"), world.job("a").crashes) == ("queued", 1)
    world.join("w2")
    assert world.running == {"a"}
    world.gone("w2")
    assert world.state("a") == "failed"
    assert world.error("a")["code"] == "crash_loop"
    world.retry("a")
    assert world.job("a").crashes == 0


def test_it_passes_through_interrupted() -> None:
    world = World()
    world.submit("a")
    world.gone("w")
    states = [e.data.get("state") for e in world.last.changes.events if e.job == "a"]
    assert states == ["interrupted", "queued"]


def test_without_recovery_it_is_failed_at_once() -> None:
    world = World()
    world.submit("a", recover=0)
    world.gone("w")
    assert world.state("a") == "failed"


def test_interrupted_jobs_keep_their_relative_order_at_the_head() -> None:
    world = World(slots=3)
    for id in "abcd":
        world.submit(id)
    world.gone("w")
    world.operate(max_concurrent=1)
    world.join("w2")
    assert world.drained() == ["b", "c", "d"]


def test_also_when_several_workers_died_together() -> None:
    world = World(slots=0)
    for worker in ("w1", "w2", "w3"):
        world.join(worker)
    for id in "abcd":
        world.submit(id)
    world.gone("w2", "w1", "w3")
    world.operate(max_concurrent=1)
    world.join("new")
    world.drained()
    assert world.started[3:] == ["a", "b", "c", "d"]


def test_each_goes_to_the_front_of_its_own_priority() -> None:
    world = World(slots=1)
    world.submit("low", priority=LOW)
    world.submit("high", priority=HIGH)
    world.gone("w")
    world.join("w2")
    assert world.running == {"high"}


def test_a_strict_queue_has_no_priorities_at_the_front_either() -> None:
    world = World(order="strict", slots=2)
    world.submit("low", priority=LOW)
    world.submit("high", priority=HIGH)
    world.gone("w")
    world.operate(max_concurrent=1)
    world.join("w2")
    assert world.running == {"low"}


def test_crashes_are_counted_apart_from_failures() -> None:
    world = World()
    world.submit("a", retry=Retry(times=1, first_seconds=5))
    world.gone("w")
    world.join("w2")
    world.fail("a")
    assert world.state("a") == "retrying"
    assert (world.job("a").crashes, world.job("a").failures) == (1, 1)


def test_an_interrupted_job_keeps_its_lane() -> None:
    world = World()
    world.submit("a1", lane="a")
    world.submit("a2", lane="a", priority=HIGH)
    world.gone("w")
    world.join("w2", slots=5)
    assert world.running == {"a1"}


def test_a_worker_that_was_declared_dead_cannot_overwrite_newer_results() -> None:
    world = World()
    world.submit("a")
    late = world.outcome("a", "completed", value="1")
    world.gone("w")
    world.join("w2")
    assert not world.apply(late).changes
    assert world.state("a") == "running"


def test_a_cancelled_job_whose_worker_dies_is_cancelled() -> None:
    world = World()
    world.submit("a")
    world.cancel("a")
    world.gone("w")
    assert world.state("a") == "cancelled"


def test_a_job_in_backoff_is_not_changed_by_the_end_of_its_worker() -> None:
    world = World()
    world.submit("a", retry=Retry(first_seconds=5))
    world.fail("a")
    world.gone("w")
    assert (world.state("a"), world.job("a").crashes) == ("retrying", 0)
    assert "a" not in world.last.changes.changed


def test_after_a_restart_the_jobs_of_dead_workers_are_interrupted_and_the_rest_go_on() -> None:
    world = World(slots=1)
    world.join("w2")
    world.submit("a")
    world.submit("b")
    other = world.reloaded()
    other.gone("w")
    crashed = [id for id in "ab" if other.job(id).crashes]
    assert len(crashed) == 1
    assert other.running == {"a", "b"} - set(crashed)


def test_a_backoff_does_not_last_as_long_as_a_clock_that_was_set_back() -> None:
    world = World()
    world.submit("a", retry=Retry(times=1, first_seconds=10))
    world.wait(5)
    world.apply(world.outcome("a", "failed", failure=Failure("x", "x", retryable=True)))
    world.now -= 3600  # unnoticed: no process ran
    again = world.reloaded()
    again.wait(16)  # the attempt had taken 5 seconds; the rest of the wait is unknown
    assert again.state("a") == "running"


def test_a_priority_is_not_starved_by_a_clock_that_was_set_back() -> None:
    world = World()
    fairness = world.scheduler.board.queues["q"].fairness
    fairness.since[LOW] = world.now
    fairness.clip(world.now - 3600)
    assert fairness.since[LOW] == world.now - 3600


def test_a_jump_that_was_noticed_is_not_reckoned_with_again_by_loading() -> None:
    world = World()
    world.submit("a", retry=Retry(times=1, first_seconds=100))
    world.apply(world.outcome("a", "failed", failure=Failure("x", "x", retryable=True)))
    world.now -= 3600
    world.apply(ClockSetBack(3600))
    due_at = world.job("a").due_at
    assert world.reloaded().job("a").due_at == due_at == world.now + 100


def test_a_job_that_had_not_begun_when_its_worker_resigned_counts_no_crash_or_attempt() -> None:
    world = World(max_concurrent=2)
    for id in "abc":
        world.submit(id)
    world.apply(WorkerGone(WorkerId("w"), resigned=True))
    assert [world.job(id).state for id in "ab"] == [State.QUEUED, State.QUEUED]
    assert [(world.job(id).crashes, world.job(id).attempt) for id in "ab"] == [(0, 0), (0, 0)]
    world.join("v", slots=2)
    assert world.running == {"a", "b"}
