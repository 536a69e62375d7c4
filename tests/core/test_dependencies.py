"""A job runs when all its dependencies have completed; until then it stands in no line."""

import pytest

from fairlane.core.inputs import Submit
from fairlane.errors import Conflict, NotFound, UsageError
from tests.support.core import World, job, non_empty


def test_it_waits_for_all_of_them() -> None:
    world = World()
    world.submit("a")
    world.submit("b")
    world.submit("c", after=["a", "b"])
    assert world.state("c") == "blocked"
    assert world.job("c").position == ""
    world.finish("a")
    assert world.state("c") == "blocked"
    world.finish("b")
    assert world.state("c") == "running"


def test_a_dependency_that_had_ended_before_counts() -> None:
    world = World()
    world.submit("a")
    world.finish("a")
    world.submit("b", after=["a"])
    assert world.state("b") == "running"


def test_a_dependency_that_ends_in_the_same_batch_counts() -> None:
    world = World()
    world.submit("a")
    world.apply(world.outcome("a", "completed"), Submit("k", [job("b", after=["a"])]))
    assert world.state("b") == "running"


def test_if_one_ends_otherwise_it_is_skipped_with_the_reason() -> None:
    world = World()
    world.submit("a")
    world.submit("b", after=["a"])
    world.fail("a")
    assert world.state("b") == "skipped"
    reason = world.job("b").reason
    assert reason is not None
    assert reason.message == "it depends on job a, which ended as failed"
    world.submit("c", after=["a"])
    assert world.state("c") == "skipped"


def test_or_it_runs_all_the_same_if_it_says_so() -> None:
    world = World()
    world.submit("a")
    world.submit("b", after=["a"], run_anyway=True)
    world.fail("a")
    assert world.state("b") == "running"


def test_it_joins_the_order_at_the_tail_when_it_may() -> None:
    world = World(max_concurrent=1)
    world.submit("a")
    world.submit("b", after=["a"])
    world.submit("c")
    assert world.drained() == ["c", "b"]


def test_its_own_time_still_counts_afterwards() -> None:
    world = World()
    world.submit("a")
    world.submit("b", after=["a"], run_at=world.now + 60)
    world.finish("a")
    assert world.state("b") == "scheduled"
    world.wait(60)
    assert world.state("b") == "running"


def test_a_batch_may_depend_on_itself_in_any_order() -> None:
    world = World()
    world.submit_all(job("c", after=["b"]), job("b", after=["a"]), job("a"))
    assert world.drained() == ["b", "c"]


def test_a_job_skipped_at_once_takes_along_those_after_it_in_the_batch() -> None:
    world = World()
    world.submit("a")
    world.fail("a")
    world.submit_all(job("d", after=["c"]), job("b", after=["a"]), job("c", after=["b"]))
    assert [world.state(id) for id in "bcd"] == ["skipped"] * 3


def test_a_chain_of_ten_thousand_is_skipped_without_running_out_of_stack() -> None:
    world = World()
    chain = [job(f"j{n}", after=[f"j{n - 1}"] if n else []) for n in range(10_000)]
    world.submit_all(*chain)
    world.fail("j0")
    assert world.state("j9999") == "skipped"
    assert not world.scheduler.board.jobs
    assert not world.store.dependencies


def test_a_circle_is_refused_and_leaves_the_board_unchanged() -> None:
    world = World()
    for circle in ([job("a", after=["a"])], [job("b", after=["c"]), job("c", after=["b"])]):
        with pytest.raises(UsageError, match="in a circle"):
            world.submit_all(*circle)
        assert not non_empty(world.last.changes)


def test_a_job_that_does_not_exist_cannot_be_depended_on() -> None:
    world = World()
    with pytest.raises(NotFound, match="job x, which job a depends on"):
        world.submit("a", after=["x"])


def test_a_wait_half_over_survives_a_restart() -> None:
    world = World()
    world.submit("a")
    world.submit("b")
    world.submit("c", after=["a", "b"])
    world.finish("a")
    other = world.reloaded()
    other.finish("b")
    assert other.state("c") == "running"


def test_an_ended_dependency_is_not_waited_for_again_after_a_restart() -> None:
    world = World()
    world.submit("a")
    world.submit("c")
    world.submit("b", after=["a", "c"], run_anyway=True)
    world.cancel("a")
    world.apply(world.outcome("a", "cancelled"))
    world.retry("a")
    waits = world.scheduler.board.waits_on["b"]  # type: ignore[index]
    assert waits == {"c"}
    assert world.reloaded().scheduler.board.waits_on["b"] == waits  # type: ignore[index]


@pytest.mark.parametrize("new_leader", [False, True])
def test_a_retried_dependent_keeps_its_dependencies(new_leader: bool) -> None:
    world = World()
    world.submit("a")
    world.submit("b")
    world.submit("c", after=["a", "b"])
    world.cancel("c")
    world.finish("a")
    world = world.reloaded() if new_leader else world
    world.retry("c")
    assert (world.state("c"), world.reasons("c")) == ("blocked", ["dependencies"])
    world = world.reloaded() if new_leader else world
    world.finish("b")
    assert world.state("c") == "running"
    assert not world.store.dependencies
    assert world.scheduler.board.waits_on == {}


@pytest.mark.parametrize("new_leader", [False, True])
def test_a_dependent_of_a_failed_job_is_retried_after_that_job(new_leader: bool) -> None:
    world = World()
    world.submit("a")
    world.submit("b", after=["a"])
    world.cancel("b")
    world.fail("a", retryable=False)
    world = world.reloaded() if new_leader else world
    with pytest.raises(Conflict, match="depends on job a, which did not complete"):
        world.retry("b")
    world.retry("a")
    world.retry("b")
    assert world.state("b") == "blocked"
    world.finish("a")
    assert world.state("b") == "running"


@pytest.mark.parametrize("new_leader", ["never", "after the failure", "after the retry"])
def test_a_dependent_can_be_retried_after_its_dependency_was_retried_and_completed(
    new_leader: str,
) -> None:
    world = World()
    world.submit("a")
    world.submit("b", after=["a"])
    world.cancel("b")
    for _ in range(2):
        world.fail("a", retryable=False)
        world = world.reloaded() if new_leader == "after the failure" else world
        world.retry("a")
        world = world.reloaded() if new_leader == "after the retry" else world
    world.finish("a")
    world.retry("b")
    assert world.state("b") == "running"
    assert not world.store.dependencies
    assert world.scheduler.board.dependents == {}


def test_a_retried_dependent_that_runs_anyway_does_not_wait_again_after_a_restart() -> None:
    world = World()
    world.submit("a")
    world.submit("c")
    world.submit("b", after=["a", "c"], run_anyway=True)
    world.cancel("b")
    world.fail("a", retryable=False)
    world.retry("b")
    world.retry("a")
    waits = world.scheduler.board.waits_on["b"]  # type: ignore[index]
    assert waits == {"c"}
    assert world.reloaded().scheduler.board.waits_on["b"] == waits  # type: ignore[index]


def test_a_retried_dependent_that_runs_anyway_needs_no_completed_dependency() -> None:
    world = World()
    world.submit("a")
    world.submit("b", after=["a"], run_anyway=True)
    world.cancel("b")
    world.fail("a", retryable=False)
    world.retry("b")
    assert world.state("b") == "running"
    assert not world.store.dependencies
