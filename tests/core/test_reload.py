"""A scheduler that was rebuilt from the store decides as the first would have."""

import pytest
from hypothesis import given, settings

from tests.core.test_invariants import STORIES
from tests.support.core import World, orders
from tests.support.core_rules import check_rules
from tests.support.core_story import Step, Story, a_world


def picture(world: World) -> dict[str, tuple[object, ...]]:
    """Return the decisions about each job; positions may differ if their order is the same."""
    return {
        job.id: (
            job.state, job.attempt, job.failures, job.crashes, job.fence, job.holds_lane,
            job.due_at, job.priority, job.reason, job.cancel_outputs)
        for job in world.scheduler.board.jobs.values()
    }  # fmt: skip


def order(world: World) -> list[str]:
    jobs = world.scheduler.board.jobs.values()
    return [job.id for job in sorted(jobs, key=lambda job: (job.position, job.id))]


@pytest.mark.parametrize("order_of_queue", ["fifo", "strict", "round_robin"])
@settings(max_examples=40)
@given(before=STORIES, after=STORIES)
def test_a_rebuilt_scheduler_makes_the_same_decisions(
    order_of_queue: str, before: list[list[Step]], after: list[list[Step]]
) -> None:
    world = a_world(order=order_of_queue, two_workers=False)
    narrator = Story(world)
    for steps in before:
        narrator.apply(steps)
    world.apply(*world.workers.values())
    waiting = dict(world.scheduler.board.waiting_stages)
    other = world.reloaded()
    other.apply(*waiting.values())
    retold = Story(other, serial=narrator.serial)
    retold.tokens = dict(narrator.tokens)
    assert picture(other) == picture(world)
    for steps in after:
        narrator.apply(steps)
        retold.apply(steps)
        assert {s.job for s in other.last.starts} == {s.job for s in world.last.starts}
        assert sorted(orders(other.last).granted) == sorted(orders(world.last).granted)
        assert picture(other) == picture(world)
        assert order(other) == order(world)
        check_rules(other)


def test_everything_that_decides_is_there_again() -> None:
    world = a_world()
    narrator = Story(world)
    for kind in range(24):
        for n in range(6):
            narrator.apply([(kind, n, n + 1, n + 2)])
    other = world.reloaded()
    assert picture(other).keys() == picture(world).keys()
    assert other.scheduler.board.seq >= world.scheduler.board.seq
    for name, queue in world.scheduler.board.queues.items():
        again = other.scheduler.board.queues[name]
        assert again.settings == queue.settings
        assert again.paused == queue.paused
        assert again.fairness.passed == queue.fairness.passed
        assert again.fairness.since == queue.fairness.since


def test_loading_twice_from_the_same_store_gives_the_same_picture() -> None:
    world = a_world()
    narrator = Story(world)
    for n in range(40):
        narrator.apply([(n % 5, n, n, n)])
    assert picture(world.reloaded()) == picture(world.reloaded())
