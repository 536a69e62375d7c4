"""Forecasts, also with other settings: the scheduler itself on simulated time."""

from typing import Any

from fairlane.core.forecast import forecast
from fairlane.core.inputs import Pause
from fairlane.core.scheduler import Scheduler
from tests.support.core import World


def fresh(world: World) -> Scheduler:
    scheduler = Scheduler()
    world.store.load(scheduler, world.now)
    return scheduler


def waiting(**settings: Any) -> World:
    world = World(max_concurrent=1, **settings)
    for id in "abcd":
        world.submit(id)
    return world


def test_a_forecast_has_the_start_of_each_waiting_job_and_the_end_of_the_queue() -> None:
    world = waiting()
    now = world.now
    found = forecast(fresh(world), now=now, durations={"noop": 10})
    assert found.starts_at == {"b": now + 10, "c": now + 20, "d": now + 30}
    assert found.empty_at == now + 40


def test_what_if_the_limit_were_three() -> None:
    world = waiting()
    now = world.now
    found = forecast(
        fresh(world), now=now, durations={"noop": 10}, queue="q", what_if={"max_concurrent": 3}
    )
    assert found.starts_at == {"b": now, "c": now, "d": now + 10}
    assert world.scheduler.board.queues["q"].settings.max_concurrent == 1


def test_a_task_without_history_has_no_forecast() -> None:
    world = World(max_concurrent=1)
    world.submit("a", task="known")
    world.submit("b", task="unknown")
    world.submit("c", task="known")
    found = forecast(fresh(world), now=world.now, durations={"known": 10})
    assert found.starts_at == {"b": world.now + 10, "c": None}
    assert found.empty_at is None


def test_a_paused_queue_has_no_forecast() -> None:
    world = waiting()
    world.send(Pause("", "q"))
    found = forecast(fresh(world), now=world.now, durations={"noop": 10})
    assert set(found.starts_at.values()) == {None}


def test_limits_schedules_and_lanes_are_foreseen() -> None:
    world = World()
    world.limit("api", 1, 60)
    now = world.now
    world.submit("a", lane="x", limits=["api"])
    world.submit("b", lane="x")
    world.submit("c", limits=["api"])
    world.submit("d", run_at=now + 100)
    found = forecast(fresh(world), now=now, durations={"noop": 10})
    assert found.starts_at == {"b": now + 10, "c": now + 60, "d": now + 100}


def test_part_of_the_picture_is_enough() -> None:
    world = World(max_concurrent=1)
    world.resource("gpu", 1)
    world.submit("a")
    world.enter("a", "t", gpu=1)
    world.submit("b", after=["a"])
    part = Scheduler()
    jobs = [job for job in world.store.jobs.values() if job.id != "a"]
    part.load(
        jobs=jobs,
        dependencies=world.store.dependencies,
        records=world.store.records,
        rate_starts=[],
        grants=world.store.grants,
        seq=0,
        now=world.now,
    )
    assert forecast(part, now=world.now, durations={"noop": 1}).starts_at == {"b": None}


def test_an_empty_queue_is_empty_now() -> None:
    world = World()
    assert forecast(fresh(world), now=world.now, durations={}).empty_at == world.now
