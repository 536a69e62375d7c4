"""Reports of an earlier assignment change no state, and the waiting reporter is answered so."""

import pytest

from fairlane.core.inputs import (
    EnterStage,
    Input,
    JobStuck,
    LeaveStage,
    LogLines,
    Outcome,
    Report,
    StoreValue,
)
from fairlane.core.live_job import JobId, WorkerId
from fairlane.core.retry import Retry
from tests.support.core import World, non_empty, orders

A, W = JobId("a"), WorkerId("w")
STALE: dict[str, Input] = {
    "outcome": Outcome(A, W, 1, "completed", value="1"),
    "report": Report(A, W, 1, '{"progress":{"percent":1}}', None),
    "log": LogLines(A, W, 1, [(0.0, "info", "late")]),
    "keep": StoreValue(A, W, 1, "t", "stage:x", "1"),
    "ask": EnterStage(A, W, 1, "t", (), (("gpu", 1),)),
    "leave": LeaveStage(A, W, 1, "held"),
    "stuck": JobStuck(A, W, 1, "late"),
}
WAITED_FOR = {"keep", "ask"}


@pytest.fixture
def world() -> World:
    world = World()
    world.resource("gpu", 2)
    world.submit("a", retry=Retry(first_seconds=5))
    return world


@pytest.mark.parametrize("what", STALE)
def test_reports_of_an_earlier_attempt_are_stale_while_the_next_runs(
    world: World, what: str
) -> None:
    world.fail("a")
    world.wait(5)
    world.enter("a", "held", gpu=1)
    assert (world.state("a"), world.job("a").fence) == ("running", 2)
    world.apply(STALE[what])
    assert non_empty(world.last.changes) == {}
    assert bool(orders(world.last).denied) == (what in WAITED_FOR)
    assert orders(world.last).granted == []
    assert world.state("a") == "running"


@pytest.mark.parametrize("what", STALE)
def test_reports_of_a_failed_attempt_are_stale_during_its_backoff(world: World, what: str) -> None:
    world.fail("a")
    world.apply(STALE[what])
    assert non_empty(world.last.changes) == {}
    assert bool(orders(world.last).denied) == (what in WAITED_FOR)
    assert world.state("a") == "retrying"


@pytest.mark.parametrize("what", STALE)
def test_reports_of_an_ended_job_are_stale(world: World, what: str) -> None:
    world.finish("a")
    world.apply(STALE[what])
    assert non_empty(world.last.changes) == {}
    assert bool(orders(world.last).denied) == (what in WAITED_FOR)
    assert world.state("a") == "completed"


@pytest.mark.parametrize("what", STALE)
def test_reports_of_a_worker_that_was_counted_dead_are_stale(world: World, what: str) -> None:
    world.gone("w")
    world.join("w2")
    assert world.state("a") == "running"
    world.apply(STALE[what])
    assert non_empty(world.last.changes) == {}
    assert bool(orders(world.last).denied) == (what in WAITED_FOR)
    assert world.state("a") == "running"
