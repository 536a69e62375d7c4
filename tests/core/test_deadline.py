"""The deadline of a job: all attempts together, counted from the first start."""

import pytest

from fairlane.core.forecast import forecast
from fairlane.core.inputs import ClockSetBack, Pause, Unblocked, WorkerGone
from fairlane.core.live_job import JobId, Reason, WorkerId
from fairlane.core.retry import Retry
from tests.support.core import World, orders

RETRY = Retry(times=9, first_seconds=10, factor=1)


@pytest.fixture
def world() -> World:
    return World()


def error_of(world: World, id: str) -> dict[str, object]:
    return world.store.ended[world.job(id).id].error or {}


def test_a_job_is_not_retried_after_its_deadline(world: World) -> None:
    world.submit("a", retry=RETRY, deadline_seconds=25.0)
    for _ in range(2):
        world.fail("a")
        assert world.state("a") == "retrying"
        world.wait(10)
    world.fail("a", code="timeout")
    assert world.state("a") == "failed"
    assert "not retried: its deadline" in str(error_of(world, "a")["message"])


def test_a_deadline_that_would_pass_during_a_backoff_is_the_error_of_the_job(world: World) -> None:
    world.submit("a", retry=RETRY, deadline_seconds=5.0)
    world.fail("a", code="http_503")
    error = error_of(world, "a")
    assert (error["code"], error["retryable"]) == ("deadline", False)
    assert "the last one failed with http_503: " in str(error["message"])


def test_a_deadline_counts_from_the_first_start_and_not_from_a_refused_one(world: World) -> None:
    world.submit("a", retry=RETRY, deadline_seconds=25.0)
    world.refuse("a", Reason("disk_space", "too little"))
    assert world.job("a").deadline_at is None
    world.wait(1000)
    world.apply(Unblocked(world.job("a").id, world.job("a").fence))
    assert world.job("a").deadline_at == world.now + 25
    assert [start.seconds_left for start in world.last.starts] == [25]


def test_a_deadline_survives_a_restart_and_each_start_carries_the_time_left(world: World) -> None:
    world.submit("a", retry=RETRY, deadline_seconds=25.0)
    world.fail("a")
    world = world.reloaded()
    world.wait(10)
    assert world.state("a") == "running"
    assert [start.seconds_left for start in world.last.starts] == [15]


def test_an_attempt_that_its_deadline_stopped_is_not_retried_by_any_rule(world: World) -> None:
    world.submit("a", retry=Retry(times=9, first_seconds=0, on=("deadline",)), deadline_seconds=25)
    world.fail("a", code="deadline")
    assert world.state("a") == "failed"


def test_a_retry_by_hand_has_a_new_deadline(world: World) -> None:
    world.submit("a", deadline_seconds=25.0)
    world.fail("a", code="deadline")
    world.wait(1000)
    world.retry("a")
    assert [start.seconds_left for start in world.last.starts] == [25]


def test_a_deadline_moves_with_a_clock_that_is_set_back(world: World) -> None:
    world.submit("a", deadline_seconds=25.0)
    before = world.job("a").deadline_at
    world.now -= 1000
    assert world.reloaded().job("a").deadline_at == (before or 0) - 1000


def test_the_deadline_of_a_waiting_job_moves_with_a_clock_that_is_set_back(world: World) -> None:
    world.submit("a", retry=RETRY, deadline_seconds=25.0)
    world.send(Pause("", "q"))
    world.fail("a")
    world.wait(10)
    assert world.state("a") == "queued"
    before = world.job("a").deadline_at or 0
    world.now -= 1000
    world.apply(ClockSetBack(1000))
    assert world.job("a").deadline_at == before - 1000
    assert world.reloaded().job("a").deadline_at == before - 1000


@pytest.mark.parametrize("new_leader", [False, True])
def test_a_job_that_waits_in_its_queue_fails_at_its_deadline_without_an_attempt(
    world: World, new_leader: bool
) -> None:
    world.limit("api", 1, 1.0)
    world.submit("a", retry=RETRY, deadline_seconds=25.0, limits=["api"], lane="x")
    world.send(Pause("", "q"))
    world.fail("a")
    world.submit("b", lane="x", after=["a"])
    world.wait(10)
    world = world.reloaded() if new_leader else world
    assert (world.state("a"), world.last.wake_at) == ("queued", world.now + 15)
    world.wait(14)
    assert world.state("a") == "queued"
    world.wait(1)
    assert (world.state("a"), error_of(world, "a")["code"]) == ("failed", "deadline")
    assert world.job("a").attempt == 1
    assert len(world.store.rate_starts) == 1
    assert world.state("b") == "skipped"
    assert world.last.wake_at is None


def test_a_blocked_job_fails_at_its_deadline_and_is_not_watched_any_more(world: World) -> None:
    world.submit("a", retry=RETRY, deadline_seconds=25.0)
    world.fail("a")
    world.wait(10)
    world.refuse("a", Reason("disk_space", "too little"))
    assert world.state("a") == "blocked"
    world.wait(15)
    assert (world.state("a"), error_of(world, "a")["code"]) == ("failed", "deadline")
    assert orders(world.last).stop_watching == ["a"]


def test_a_job_that_returns_to_its_queue_after_its_deadline_does_not_begin_again(
    world: World,
) -> None:
    world.submit("a", deadline_seconds=25.0)
    world.now += 30
    world.apply(WorkerGone(WorkerId("w")), world.workers["w"])
    assert (world.state("a"), error_of(world, "a")["code"]) == ("failed", "deadline")
    assert world.started == ["a"]


def test_a_job_that_runs_again_is_left_to_its_worker_at_its_deadline(world: World) -> None:
    world.submit("a", retry=RETRY, deadline_seconds=25.0)
    world.fail("a")
    world.wait(10)
    assert world.state("a") == "running"
    world.wait(15)
    assert world.state("a") == "running"


def test_a_forecast_knows_the_jobs_that_fail_at_their_deadline(world: World) -> None:
    world.submit("a", retry=RETRY, deadline_seconds=25.0)
    world.operate(max_concurrent=1)
    world.submit("b")
    world.fail("a")
    foreseen = forecast(world.reloaded().scheduler, now=world.now, durations={"noop": 40.0})
    assert foreseen.starts_at[JobId("a")] is None
    assert foreseen.empty_at == world.now + 25


def test_the_deadlines_of_ended_jobs_are_forgotten(world: World) -> None:
    for n in range(3000):
        world.submit(f"j{n}", retry=RETRY, deadline_seconds=1e9)
        world.apply(world.outcome(f"j{n}", "returned"))
        world.finish(f"j{n}")
    assert len(world.scheduler.board.deadlines) <= 1001
