"""Retries: their number, their waits, the errors they cover, and retries by hand."""

import pytest

from fairlane.core.inputs import Outcome, RetryJob
from fairlane.core.live_job import JobId
from fairlane.core.retry import Retry
from fairlane.errors import BadSetting, Duplicate, IllegalTransition, LaneBusy, NotFound
from tests.support.core import World, non_empty, orders


@pytest.mark.parametrize(
    ("retry", "waits"),
    [
        (Retry(times=3, first_seconds=5, factor=3), [5, 15, 45]),
        (Retry(times=6, first_seconds=1, factor=2, cap_seconds=30), [1, 2, 4, 8, 16, 30]),
        (Retry(times=2, first_seconds=10, factor=1), [10, 10]),
    ],
)
def test_backoff_is_fixed_or_grows_by_a_factor_up_to_a_cap(
    retry: Retry, waits: list[float]
) -> None:
    world = World()
    world.submit("a", retry=retry)
    for wait in waits:
        world.fail("a")
        assert world.state("a") == "retrying"
        assert world.job("a").due_at == world.last.wake_at == world.now + wait
        world.wait(wait)
        assert world.state("a") == "running"
    world.fail("a")
    assert world.state("a") == "failed"
    assert world.job("a").attempt == len(waits) + 1


def test_the_cap_holds_however_often_it_failed() -> None:
    assert Retry(times=10**6, factor=10.0).backoff_seconds(10**6) == 30 * 60


def test_the_jitter_of_a_wait_depends_on_the_job_and_its_failures_alone() -> None:
    retry = Retry(first_seconds=10, factor=1, cap_seconds=10, jitter=0.5)
    waits = [retry.wait_seconds(failures, key=key) for key in "abc" for failures in (1, 2)]

    assert waits == [retry.wait_seconds(failures, key=key) for key in "abc" for failures in (1, 2)]
    assert len(set(waits)) == 6
    assert all(10 <= wait < 15 for wait in waits)
    assert retry.wait_seconds(1, key=None) == 10


def test_without_a_retry_a_task_is_not_retried() -> None:
    world = World()
    world.submit("a")
    world.fail("a")
    assert world.state("a") == "failed"
    assert world.error("a")["code"] == "timeout"


def test_an_error_that_is_not_retryable_fails_at_once() -> None:
    world = World()
    world.submit("a", retry=Retry())
    world.fail("a", code="missing_input", retryable=False)
    assert world.state("a") == "failed"


def test_named_errors_alone_are_retried_where_they_are_named() -> None:
    world = World()
    world.submit("a", retry=Retry(on=("busy",)))
    world.submit("b", retry=Retry(on=("busy",)))
    world.fail("a", code="busy", retryable=False)
    world.fail("b", code="timeout", retryable=True)
    assert (world.state("a"), world.state("b")) == ("retrying", "failed")


def test_a_retry_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(BadSetting):
        Retry(times=-1)


def test_after_a_backoff_a_job_keeps_its_position() -> None:
    world = World(max_concurrent=1)
    world.submit("a", retry=Retry(first_seconds=5))
    world.submit("b")
    world.submit("c")
    world.fail("a")
    world.wait(5)
    assert world.drained() == ["a", "c"]


def ended(world: World, id: str, **about: object) -> None:
    world.submit(id, **about)
    world.fail(id)


def test_by_hand_the_same_job_goes_to_the_head_of_its_priority_or_to_its_tail() -> None:
    world = World(max_concurrent=1)
    ended(world, "a")
    ended(world, "b")
    for id in ("x", "y"):
        world.submit(id)
    world.retry("a")
    world.retry("b", place="tail")
    assert world.drained() == ["a", "y", "b"]
    assert world.job("a").attempt == 2


def test_by_hand_the_failures_are_counted_anew() -> None:
    world = World()
    world.submit("a", retry=Retry(times=1, first_seconds=5))
    world.fail("a")
    world.wait(5)
    world.fail("a")
    assert world.state("a") == "failed"
    world.retry("a")
    world.fail("a")
    assert world.state("a") == "retrying"


def test_by_hand_it_is_an_admission_like_any_other() -> None:
    world = World(on_conflict="reject")
    ended(world, "a", lane="x")
    ended(world, "b", dedupe="k")
    world.submit("c", lane="x")
    world.submit("d", dedupe="k")
    with pytest.raises(LaneBusy, match="c is running"):
        world.retry("a")
    with pytest.raises(Duplicate):
        world.retry("b")
    assert not non_empty(world.last.changes)


def test_a_completed_a_live_and_an_unknown_job_cannot_be_retried() -> None:
    world = World()
    world.submit("a")
    with pytest.raises(IllegalTransition, match="only a failed or cancelled job can be retried"):
        world.retry("a")
    world.finish("a")
    with pytest.raises(IllegalTransition, match="legal next states: none"):
        world.retry("a")
    with pytest.raises(NotFound):
        world.retry("x")


def test_a_job_can_be_retried_in_the_very_batch_in_which_it_failed() -> None:
    world = World()
    world.submit("a", lane="x")
    failed = world.outcome("a", "cancelled")
    world.apply(failed, RetryJob("k", JobId("a")))
    assert world.state("a") == "running"
    assert world.store.jobs[JobId("a")].attempt == 2
    assert not world.store.ended


def test_a_job_can_be_cancelled_in_the_very_batch_in_which_it_was_retried() -> None:
    world = World(max_concurrent=1)
    ended(world, "a")
    world.submit("b")
    world.send(RetryJob("", JobId("a")))
    world.cancel("a")
    assert world.state("a") == "cancelled"


def test_a_stale_outcome_changes_nothing_but_is_acknowledged() -> None:
    world = World()
    world.submit("a", retry=Retry(first_seconds=5))
    stale = world.outcome("a", "completed", value="1")
    world.fail("a")
    world.wait(5)
    world.apply(stale)
    assert world.state("a") == "running"
    assert not world.last.changes
    assert orders(world.last).durable == ["a:1"]
    other = Outcome(JobId("a"), stale.worker, 99, "completed")
    assert not world.apply(other).changes
