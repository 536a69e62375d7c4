"""Buckets, by default the lanes, take turns."""

from tests.support.core import HIGH, World, job


def test_lanes_take_turns_whatever_their_backlog() -> None:
    world = World(order="round_robin", max_concurrent=1)
    jobs = [job(f"a{n}", lane="a") for n in range(3)] + [job(f"b{n}", lane="b") for n in range(2)]
    world.submit_all(*jobs, job("c0", lane="c"))
    world.drained()
    assert world.started == ["a0", "b0", "c0", "a1", "b1", "a2"]


def test_buckets_can_be_named_apart_from_lanes() -> None:
    world = World(order="round_robin", max_concurrent=1)
    world.submit_all(*(job(f"{bucket}{n}", bucket=bucket) for bucket in "xy" for n in range(3)))
    world.drained()
    assert world.started == ["x0", "y0", "x1", "y1", "x2", "y2"]


def test_a_new_bucket_joins_at_the_end_of_the_round() -> None:
    world = World(order="round_robin", max_concurrent=1)
    world.submit_all(*(job(f"{lane}{n}", lane=lane) for lane in "ab" for n in range(2)))
    world.submit("c0", lane="c")
    assert world.drained() == ["b0", "a1", "c0", "b1"]


def test_priorities_come_before_turns() -> None:
    world = World(order="round_robin", max_concurrent=1)
    world.submit_all(job("a0", lane="a"), job("a1", lane="a", priority=HIGH), job("b0", lane="b"))
    assert world.drained() == ["b0", "a0"]
    assert world.started[0] == "a1"


def test_turns_survive_a_restart() -> None:
    world = World(order="round_robin", max_concurrent=1)
    world.submit_all(*(job(f"{lane}{n}", lane=lane) for lane in "abc" for n in range(2)))
    world.finish("a0")
    other = world.reloaded()
    assert other.drained() == world.drained() == ["c0", "a1", "b1", "c1"]


def test_a_bucket_without_jobs_leaves_nothing_behind() -> None:
    world = World(order="round_robin")
    for n in range(20):
        world.submit(f"j{n}", lane=f"lane{n}")
    world.drained()
    assert not world.scheduler.board.queues["q"].turns
    assert not [name for kind, name in world.store.records if kind == "turn"]
