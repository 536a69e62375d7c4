"""`max_concurrent` per queue, changeable while running."""

from typing import Any

import pytest

from fairlane.errors import BadSetting, UnknownName
from tests.support.core import World, non_empty, orders


def three_of_five(**settings: Any) -> World:
    world = World(max_concurrent=3, **settings)
    for id in "abcde":
        world.submit(id)
    return world


def test_no_more_start_than_allowed() -> None:
    assert three_of_five().running == {"a", "b", "c"}


def test_raised_free_slots_fill_at_once() -> None:
    world = three_of_five()
    world.operate(max_concurrent=4)
    assert world.running == {"a", "b", "c", "d"}


def test_a_lowered_limit_lets_running_jobs_finish_and_starts_no_job_until_it_fits() -> None:
    world = three_of_five()
    world.operate(max_concurrent=1)
    assert world.running == {"a", "b", "c"}
    assert not orders(world.last).stops
    world.finish("a", "b")
    assert world.running == {"c"}
    world.finish("c")
    assert world.running == {"d"}


def test_the_choice_of_an_operator_overrides_the_code_until_it_is_cleared() -> None:
    world = three_of_five()
    world.operate(max_concurrent=4)
    world.queue("q", max_concurrent=2)
    assert world.scheduler.board.queues["q"].settings.max_concurrent == 4
    assert world.reloaded().scheduler.board.queues["q"].settings.max_concurrent == 4
    world.operate(max_concurrent=None)
    assert world.scheduler.board.queues["q"].settings.max_concurrent == 2


def test_declaring_the_same_settings_again_writes_no_row() -> None:
    world = three_of_five()
    world.queue("q", max_concurrent=3)
    assert not world.last.changes


@pytest.mark.parametrize("value", [-1, "3", 2.5, True])
def test_an_invalid_limit_is_refused_and_leaves_the_setting_unchanged(value: object) -> None:
    world = three_of_five()
    with pytest.raises(BadSetting, match="max_concurrent"):
        world.operate(max_concurrent=value)
    assert not non_empty(world.last.changes)
    assert world.scheduler.board.queues["q"].settings.max_concurrent == 3


def test_an_unknown_queue_is_named_with_a_guess() -> None:
    world = World()
    world.queue("mail")
    with pytest.raises(UnknownName, match='did you mean "mail"'):
        world.operate("mial", max_concurrent=3)
