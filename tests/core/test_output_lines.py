"""Jobs that declare the same output write it one after the other, in their order."""

import pytest

from fairlane.core.inputs import Move, Pause, Resume, Submit, Unblocked
from fairlane.core.live_job import JobId
from fairlane.core.retry import Retry
from tests.support.core import LOW, World, job

FILE = ("/out/file",)


def test_the_younger_job_is_blocked_until_the_older_one_has_ended() -> None:
    world = World()
    world.submit_all(job("a", outputs=FILE), job("b", outputs=FILE), job("c"))
    assert (world.running, world.state("b")) == ({"a", "c"}, "blocked")
    assert world.reasons("b") == ["output_busy"]
    assert "written by job a" in world.explain("b")["reasons"][0]["message"]
    world.finish("a")
    assert world.running == {"b", "c"}
    assert world.job("b").reason is None


def test_waiting_jobs_write_in_the_order_of_their_acceptance() -> None:
    world = World()
    for name in "abcd":
        world.submit(name, outputs=FILE)
        world.now += 1
    assert world.drained() == ["b", "c", "d"]


def test_a_new_job_passes_no_waiting_job_of_its_priority() -> None:
    world = World()
    world.submit("a", outputs=FILE)
    world.submit("low", outputs=FILE, priority=LOW)
    world.submit("b", outputs=FILE)
    world.apply(world.outcome("a", "completed", value="null"), Submit("", [job("c", outputs=FILE)]))
    assert world.running == {"b"}
    assert world.drained() == ["c", "low"]


def test_a_job_that_arrives_with_the_release_does_not_pass_the_waiting_one() -> None:
    world = World(max_concurrent=2)
    world.submit_all(job("a", outputs=FILE), job("b", outputs=FILE), job("x"))
    world.submit("c", outputs=FILE)
    world.finish("a")
    assert world.running == {"b", "x"}


def test_a_waiting_job_that_cannot_start_lets_the_next_one_write() -> None:
    world = World()
    world.limit("api", 1, 60)
    world.submit("a", outputs=FILE)
    world.submit("b", outputs=FILE, limits=["api"])
    world.submit("x", limits=["api"])
    world.submit("c", outputs=FILE)
    world.finish("a")
    assert (world.running, world.state("b")) == ({"x", "c"}, "queued")
    world.wait(60)
    assert world.state("b") == "blocked"
    world.finish("c")
    assert world.running == {"x", "b"}


def test_the_cancellation_of_a_waiting_job_frees_its_place() -> None:
    world = World()
    world.submit_all(*(job(name, outputs=FILE) for name in "abc"))
    world.cancel("b")
    assert world.drained() == ["c"]
    assert world.scheduler.board.output_lines == {}


def test_two_paths_in_opposite_order_do_not_deadlock() -> None:
    world = World()
    world.submit("a", outputs=("/p", "/q"))
    world.submit("b", outputs=("/q", "/p"))
    world.submit("c", outputs=("/p",))
    world.submit("d", outputs=("/q",))
    assert world.running == {"a"}
    assert world.drained() == ["b", "c", "d"]


RETRY = Retry(times=1, first_seconds=5)


@pytest.mark.parametrize("restarts", [False, True])
def test_a_job_holds_its_output_during_its_backoff(restarts: bool) -> None:
    world = World()
    world.submit("a", outputs=FILE, retry=RETRY)
    world.submit("b", outputs=FILE)
    world.fail("a")
    world = world.reloaded() if restarts else world
    assert (world.running, world.state("b")) == (set(), "blocked")
    world.wait(5)
    assert world.running == {"a"}
    assert world.drained() == ["b"]


def test_without_hold_lane_a_job_in_its_backoff_does_not_hold_its_output() -> None:
    world = World()
    world.submit("a", outputs=FILE, hold_lane=False, retry=RETRY)
    world.submit("b", outputs=FILE)
    world.fail("a")
    assert world.running == {"b"}
    world.wait(5)
    assert world.state("a") == "blocked"
    world.finish("b")
    assert world.running == {"a"}


def test_a_job_that_ends_after_its_backoff_releases_its_output() -> None:
    world = World()
    world.submit("a", outputs=FILE, retry=RETRY)
    world.submit("b", outputs=FILE)
    world.fail("a")
    world.cancel("a")
    assert world.running == {"b"}
    world.retry("a")
    assert world.state("a") == "blocked"
    assert world.drained() == ["a"]
    assert (world.scheduler.board.output_lines, world.scheduler.board.writers) == ({}, {})


@pytest.mark.parametrize("order", ["fifo", "strict"])
def test_jobs_of_two_queues_write_in_the_order_of_their_acceptance(order: str) -> None:
    for first in ("q", "p"):  # whichever queue has its turn first
        world = World()
        world.queue("p", order=order)
        world.operate("q", order=order)
        for queue in ("p", "q"):
            world.send(Pause("", queue))
        second = "q" if first == "p" else "p"
        for name, queue in zip("abcd", (first, second, second, first), strict=True):
            world.submit(name, outputs=FILE, queue=queue)
            world.now += 1
        world.apply(Resume("", "q"), Resume("", "p"))
        assert ["".join(world.running), *world.drained()] == list("abcd")


def test_jobs_of_two_queues_that_wait_for_one_path_keep_their_order() -> None:
    world = World()
    world.queue("p")
    for name, queue in zip("abcd", "qpqp", strict=True):
        world.submit(name, outputs=FILE, queue=queue)
        world.now += 1
    assert world.drained() == ["b", "c", "d"]


def test_a_paused_queue_does_not_hold_up_the_jobs_of_another_queue() -> None:
    world = World()
    world.queue("p")
    world.send(Pause("", "p"))
    world.submit("a", outputs=FILE, queue="p")
    world.now += 1
    world.submit("b", outputs=FILE)
    assert world.running == {"b"}
    world.send(Resume("", "p"))
    assert world.state("a") == "blocked"
    assert world.drained() == ["a"]


def test_a_job_that_left_the_line_is_not_passed_by_the_jobs_behind_it() -> None:
    world = World(max_concurrent=1)
    world.submit("a", outputs=FILE)
    world.operate(max_concurrent=9)
    for name in "bcd":
        world.submit(name, outputs=FILE)
    world.operate(max_concurrent=0)
    world.finish("a")  # all three are queued, and cannot start
    world.operate(max_concurrent=1)
    assert world.drained() == ["c", "d"]


def test_a_strict_head_lets_the_holder_of_its_output_pass() -> None:
    world = World(order="strict")
    world.submit("a", outputs=FILE, retry=RETRY)
    world.fail("a")
    world.submit("b", outputs=FILE)
    world.send(Move("", JobId("b"), to="head"))
    world.wait(5)
    assert world.running == {"a"}
    assert world.drained() == ["b"]


def test_two_strict_queues_do_not_wait_for_each_others_outputs_for_ever() -> None:
    world = World(order="strict")
    world.queue("p", order="strict")
    world.submit("a", outputs=("/x",), retry=RETRY)
    world.submit("b", outputs=("/y",), retry=RETRY, queue="p")
    world.fail("a")
    world.fail("b")
    world.submit("c", outputs=("/y",))
    world.submit("d", outputs=("/x",), queue="p")
    world.send(Move("", JobId("c"), to="head"))
    world.send(Move("", JobId("d"), to="head"))
    world.wait(5)
    assert world.running == {"a"}
    assert sorted(world.drained()) == ["b", "c", "d"]


def test_a_lost_worker_releases_the_outputs_of_its_jobs() -> None:
    world = World()
    world.submit_all(job("a", outputs=FILE), job("b", outputs=FILE))
    world.gone("w")
    world.join("v", slots=9)
    assert (world.running, world.state("b")) == ({"a"}, "blocked")


def test_a_strict_queue_does_not_pass_a_head_that_waits_for_an_output() -> None:
    world = World(order="strict")
    world.submit_all(job("a", outputs=FILE), job("b", outputs=FILE), job("c"))
    assert world.running == {"a"}
    world.finish("a")
    assert world.started == ["a", "b", "c"]


def test_a_new_leader_knows_the_lines() -> None:
    world = World()
    world.submit_all(*(job(name, outputs=FILE) for name in "abc"))
    again = world.reloaded()
    again.apply(Unblocked(JobId("b"), again.job("b").fence))  # a stale message changes nothing
    assert again.running == {"a"}
    assert again.drained() == ["b", "c"]
