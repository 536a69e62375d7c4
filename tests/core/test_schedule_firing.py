"""Each firing creates exactly one job, or is recorded as skipped with the reason."""

from typing import Any

import pytest

from fairlane.core.inputs import SkipFiring, Submit
from tests.support.core import World, job, non_empty


def fire(world: World, id: str, at: float | None, **about: Any) -> Any:
    return world.send(Submit("", [job(id, schedule="nightly", fire_at=at, **about)]))


def test_a_firing_creates_one_job_and_is_recorded_with_it() -> None:
    world = World()
    fire(world, "a", 900.0)
    [firing] = world.store.firings
    assert (firing.schedule, firing.fire_at, firing.job, firing.reason) == (
        "nightly", 900.0, "a", None
    )  # fmt: skip
    assert world.running == {"a"}


def test_the_same_time_never_fires_twice_not_even_after_a_restart() -> None:
    world = World()
    fire(world, "a", 900.0)
    other = world.reloaded()
    for each in (world, other):
        each.finish("a")
        assert fire(each, "b", 900.0) == []
        assert not non_empty(each.last.changes)
        fire(each, "c", 960.0)
        assert each.running == {"c"}


def test_the_same_scheduled_job_never_runs_twice_at_once() -> None:
    world = World()
    fire(world, "a", 900.0)
    assert fire(world, "b", 960.0) == [{"id": None, "merged": False}]
    firing = world.store.firings[-1]
    assert firing.job is None
    assert "already running: a" in (firing.reason or "")
    world.finish("a")
    fire(world, "c", 1020.0)
    assert world.running == {"c"}


@pytest.mark.parametrize(
    ("about", "why"),
    [
        ({"lane": "x"}, "already has an active job: m"),
        ({"lane": "x", "digest": "same"}, "an equal job is active: m"),
        ({"queue": "gone"}, 'queue "gone" is not known'),
    ],
)
def test_a_firing_that_may_not_run_is_recorded_as_skipped_with_why(
    about: dict[str, Any], why: str
) -> None:
    world = World(on_conflict="merge")
    world.submit("m", lane="x", digest="same")
    fire(world, "a", 900.0, **about)
    [firing] = world.store.firings
    assert firing.job is None
    assert why in (firing.reason or "")
    assert world.running == {"m"}
    assert fire(world, "a", 900.0, **about) == []


def test_missed_firings_become_one_skipped_row_with_their_count() -> None:
    world = World()
    for _ in range(2):
        world.send(SkipFiring("", "nightly", 900.0, 7, "the engine was down"))
    [firing] = world.store.firings
    assert (firing.job, firing.count, firing.reason) == (None, 7, "the engine was down")
    assert fire(world, "a", 900.0) == []


def test_firing_by_hand_does_not_move_the_schedule_on_and_is_harmless_to_send_twice() -> None:
    world = World()
    fire(world, "a", None, by_hand=True)
    fire(world, "a", None, by_hand=True)
    assert len(world.store.firings) == 1
    world.finish("a")
    fire(world, "b", 890.0)
    assert world.running == {"b"}


def test_firings_by_hand_have_instants_of_their_own_also_under_the_next_leader() -> None:
    world = World()
    fire(world, "a", world.now)
    fire(world, "b", None, by_hand=True, dedupe="b")
    fire(world, "c", None, by_hand=True, dedupe="c")
    other = world.reloaded()
    fire(other, "d", None, by_hand=True, dedupe="d")
    times = [firing.fire_at for firing in (*world.store.firings[:3], other.store.firings[-1])]
    assert len(set(times)) == 4
    assert max(times) - world.now < 0.001
