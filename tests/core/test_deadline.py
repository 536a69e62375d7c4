"""The deadline of a job: all attempts together, counted from the first start."""

import pytest

from fairlane.core.inputs import Unblocked
from fairlane.core.live_job import Reason
from fairlane.core.retry import Retry
from tests.support.core import World

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
    assert error_of(world, "a")["code"] == "timeout"
    assert "not retried: its deadline" in str(error_of(world, "a")["message"])


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
