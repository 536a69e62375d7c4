"""In random stories the rules of scheduling hold, and no job waits that could start."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlane.core.lifecycle import State
from tests.support.core_rules import check_rules
from tests.support.core_story import Step, Story, a_world

_small = st.integers(0, 60)
STEPS = st.tuples(st.integers(0, 23), _small, _small, _small)
STORIES = st.lists(st.lists(STEPS, min_size=1, max_size=3), max_size=30)


@pytest.mark.parametrize("order", ["fifo", "strict", "round_robin"])
@pytest.mark.parametrize("on_conflict", ["queue", "reject", "reject_running"])
@settings(max_examples=25)
@given(story=STORIES)
def test_the_rules_hold_after_every_step(
    order: str, on_conflict: str, story: list[list[Step]]
) -> None:
    world = a_world(order=order, on_conflict=on_conflict)
    narrator = Story(world)
    for steps in story:
        inputs = narrator.apply(steps)
        check_rules(world, inputs)


@pytest.mark.parametrize("order", ["fifo", "strict", "round_robin"])
@settings(max_examples=25)
@given(story=STORIES)
def test_a_waiting_job_always_has_a_reason_that_holds_it_up(
    order: str, story: list[list[Step]]
) -> None:
    world = a_world(order=order)
    narrator = Story(world)
    for steps in story:
        narrator.apply(steps)
        for id, job in list(world.scheduler.board.jobs.items()):
            if job.state is not State.RUNNING:
                reasons = world.reasons(id)
                assert reasons
                assert "next" not in reasons
                assert reasons != ["turn"], "a place behind other jobs is no reason by itself"


@pytest.mark.parametrize("order", ["fifo", "strict", "round_robin"])
@pytest.mark.parametrize("seed", range(12))
def test_the_rules_hold_in_long_stories(seed: int, order: str) -> None:
    dice = random.Random(seed)
    world = a_world(order=order)
    world.queue("r", max_concurrent=2)
    narrator = Story(world, queues=("q", "r") if seed % 2 else ("q",))
    for _ in range(150):
        steps = [_step(dice) for _ in range(dice.choice((1, 1, 2, 3)))]
        check_rules(world, narrator.apply(steps))


def _step(dice: random.Random) -> Step:
    """Choose a step; most are submissions and ends, so that jobs keep moving."""
    kind = dice.choice((0, 0, 0, 1, 1, 2, 4, 4, 11, 11, *range(24)))
    return kind, dice.randrange(60), dice.randrange(60), dice.randrange(60)


@settings(max_examples=25)
@given(story=STORIES)
def test_whatever_was_accepted_ends_once_everything_is_let_go_on(story: list[list[Step]]) -> None:
    world = a_world()
    narrator = Story(world)
    for steps in story:
        narrator.apply(steps)
    narrator.apply([(14, 0, 1, 0), (15, 0, 0, 0), (16, 0, 1, 3), (16, 0, 0, 3)])
    world.apply(*world.workers.values())
    for _ in range(500):
        if not world.scheduler.board.jobs:
            break
        world.now += 60
        narrator.apply([(21, 0, 0, 0)])
        world.finish(*sorted(world.running))
    assert not world.scheduler.board.jobs
