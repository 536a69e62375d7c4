"""A second submission to a lane is rejected, queued or merged, by the policy of the queue."""

import pytest

from fairlane.errors import LaneBusy
from tests.support.core import World, job, non_empty


def test_reject_names_the_active_job_and_leaves_the_board_unchanged() -> None:
    world = World(on_conflict="reject")
    world.submit("a", lane="x")
    with pytest.raises(LaneBusy) as busy:
        world.submit("b", lane="x")
    assert busy.value.active_job == "a"
    assert not non_empty(world.last.changes)
    world.finish("a")
    world.submit("b", lane="x")
    assert world.running == {"b"}


def test_reject_counts_every_live_state() -> None:
    world = World(on_conflict="reject")
    world.submit("a", lane="x", run_at=world.now + 60)
    with pytest.raises(LaneBusy, match="a is scheduled"):
        world.submit("b", lane="x")


def test_merge_gives_back_the_equal_job_and_refuses_a_different_one() -> None:
    world = World(on_conflict="merge")
    world.submit("a", lane="x", digest="same")
    assert world.submit("b", lane="x", digest="same") == {"id": "a", "merged": True}
    assert not non_empty(world.last.changes)
    with pytest.raises(LaneBusy):
        world.submit("c", lane="x", digest="other")
    with pytest.raises(LaneBusy):
        world.submit("d", lane="x")


def test_merge_holds_inside_one_submission_too() -> None:
    world = World(on_conflict="merge")
    answers = world.submit_all(job("a", lane="x", digest="1"), job("b", lane="x", digest="1"))
    assert [answer["id"] for answer in answers] == ["a", "a"]
    with pytest.raises(LaneBusy):
        world.submit_all(job("c", lane="y"), job("d", lane="y"))


def test_a_dependency_on_a_merged_job_waits_for_the_active_job() -> None:
    world = World(on_conflict="merge")
    world.submit_all(
        job("a", lane="x", digest="1"),
        job("b", lane="x", digest="1"),
        job("c", lane="y", digest="1", after=["b"]),
    )
    assert world.state("c") == "blocked"
    world.finish("a")
    assert world.running == {"c"}


def test_a_running_account_refuses_every_further_task_and_a_queued_one_only_the_same() -> None:
    world = World(on_conflict="reject_running", max_concurrent=0)
    world.submit("a", lane="account", dedupe="account:like")
    world.submit("b", lane="account", dedupe="account:follow")
    world.operate(max_concurrent=1)
    assert world.running == {"a"}
    with pytest.raises(LaneBusy, match="a is running"):
        world.submit("c", lane="account", dedupe="account:post")


def test_the_conflict_policy_can_change_while_jobs_are_live() -> None:
    world = World(on_conflict="reject")
    world.submit("a", lane="x")
    world.operate(on_conflict="queue")
    world.submit("b", lane="x")
    world.operate(on_conflict=None)
    with pytest.raises(LaneBusy):
        world.submit("c", lane="x")
    assert world.drained() == ["b"]
    world.submit("c", lane="x")
    assert world.running == {"c"}


def test_sending_the_same_id_twice_is_harmless() -> None:
    world = World(on_conflict="reject")
    world.submit("a", lane="x", dedupe="k")
    assert world.submit("a", lane="x", dedupe="k") == {"id": "a", "merged": False}
    assert not non_empty(world.last.changes)
    world.finish("a")
    world.submit("a", lane="x", dedupe="k")
    assert world.state("a") == "completed"
    answers = world.submit_all(job("b", lane="x"), job("b", lane="x"))
    assert [answer["id"] for answer in answers] == ["b", "b"]
    assert world.running == {"b"}
