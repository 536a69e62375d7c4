"""No starvation: after K picks from higher priorities, or T seconds, a lower one gets a turn."""

from typing import Any

from tests.support.core import HIGH, LOW, World, job


def highs(count: int) -> list[str]:
    return [f"h{n:02}" for n in range(count)]


def crowded(count: int = 8, **settings: Any) -> World:
    world = World(max_concurrent=1, starvation_picks=3, **settings)
    world.submit("first", priority=HIGH)
    world.submit_all(*(job(id, priority=HIGH) for id in highs(count)))
    world.submit_all(job("low1", priority=LOW), job("low2", priority=LOW))
    return world


def test_after_k_picks_in_a_row_the_lower_priority_gets_a_turn() -> None:
    world = crowded()
    h = highs(8)
    assert world.drained() == [*h[:3], "low1", *h[3:6], "low2", *h[6:]]


def test_the_switch_turns_it_off() -> None:
    world = crowded(anti_starvation=False)
    assert world.drained() == [*highs(8), "low1", "low2"]


def test_after_t_seconds_the_lower_priority_gets_a_turn() -> None:
    world = crowded(starvation_seconds=100.0)
    world.finish("first")
    world.now += 100
    world.finish("h00")
    assert world.running == {"low1"}


def test_the_count_survives_a_restart() -> None:
    world = crowded()
    world.finish("first")
    world.finish("h00")
    other = world.reloaded()
    assert other.drained()[:2] == world.drained()[:2] == ["h02", "low1"]


def test_a_refused_starvation_turn_is_not_lost() -> None:
    world = crowded()
    for id in ("first", "h00", "h01", "h02"):
        world.finish(id)
    assert world.running == {"low1"}
    world.join("other")
    other = world.reloaded()
    for each in (world, other):
        each.refuse("low1")
        assert each.running == {"low1"}


def test_a_lower_priority_that_waits_for_the_same_capacity_gets_its_turn_too() -> None:
    world = World(starvation_picks=3)
    world.resource("gpu", 1)
    gpu = {"gpu": 1}
    world.submit_all(*(job(id, priority=HIGH, uses=gpu) for id in highs(6)))
    world.submit("low", priority=LOW, uses=gpu)
    assert world.drained() == ["h01", "h02", "h03", "low", "h04", "h05"]


def test_a_lower_priority_that_waits_for_the_same_worker_gets_its_turn_too() -> None:
    world = World(slots=1, starvation_picks=3)
    world.submit_all(*(job(id, priority=HIGH) for id in highs(6)))
    world.submit("low", priority=LOW)
    assert world.drained() == ["h01", "h02", "h03", "low", "h04", "h05"]


def test_a_priority_without_waiting_jobs_is_owed_no_turn() -> None:
    world = crowded(starvation_seconds=100.0)
    world.finish("first")
    world.cancel("low1")
    world.cancel("low2")
    world.now += 1000
    world.submit("new", priority=LOW)
    world.finish("h00")
    assert world.running == {"h01"}
