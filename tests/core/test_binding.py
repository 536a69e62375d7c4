"""Binding submissions: committed by the submitter before the leader could refuse them."""

from typing import Any

import pytest

from fairlane.core.decisions import Ended
from fairlane.core.inputs import Submission, Submit
from fairlane.core.lifecycle import State
from fairlane.core.live_job import JobId
from fairlane.errors import LaneBusy
from tests.support.core import World, job


@pytest.fixture
def world() -> World:
    return World(on_conflict="reject")


def bind(world: World, *jobs: Submission) -> Any:
    return world.send(Submit("", list(jobs), binding=True))


def ended(world: World, id: str) -> Ended:
    return world.store.ended[JobId(id)]


def test_a_binding_submission_without_conflict_is_admitted(world: World) -> None:
    assert bind(world, job("a", lane="x")) == [{"id": "a", "merged": False}]
    assert world.running == {"a"}


def test_a_refused_binding_job_ends_as_skipped_with_the_reason(world: World) -> None:
    world.submit("a", lane="x")
    bind(world, job("b", lane="x"), job("c", lane="y"))
    for id in "bc":
        found = ended(world, id)
        assert found.job.state is State.SKIPPED
        assert found.error is not None
        assert found.error["code"] == "lane_busy"
        assert "active job: a" in found.error["message"]
    assert world.running == {"a"}
    with pytest.raises(LaneBusy):
        world.submit("d", lane="x")


def test_a_refused_binding_job_leaves_the_dedupe_key_to_its_holder(world: World) -> None:
    world.submit("a", dedupe="k")
    bind(world, job("b", dedupe="k"))
    assert ended(world, "b").error["code"] == "duplicate"  # type: ignore[index]
    assert world.scheduler.board.dedupe == {"k": "a"}


def test_an_unknown_queue_is_no_reason_to_lose_it(world: World) -> None:
    bind(world, job("a", queue="nowhere"))
    assert ended(world, "a").error["code"] == "unknown_name"  # type: ignore[index]


def test_a_merged_binding_job_names_the_active_job() -> None:
    world = World(on_conflict="merge")
    world.submit("a", lane="x", digest="same")
    bind(world, job("b", lane="x", digest="same"))
    assert ended(world, "b").error["code"] == "merged"  # type: ignore[index]
    assert "a" in ended(world, "b").error["message"]  # type: ignore[index]


def test_sent_twice_it_is_refused_once(world: World) -> None:
    world.submit("a", lane="x")
    bind(world, job("b", lane="x"))
    bind(world, job("b", lane="x"))
    assert not world.last.changes.ended


def test_a_job_that_depends_on_a_refused_binding_job_is_skipped_too(world: World) -> None:
    world.submit("a", lane="x")
    world.apply(Submit("", [job("b", lane="x")], binding=True), Submit("", [job("c", after=["b"])]))
    assert ended(world, "c").job.state is State.SKIPPED
