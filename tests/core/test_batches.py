"""Many jobs submitted at once keep their order, and the submission is atomic."""

import pytest

from fairlane.core.inputs import Submission
from fairlane.errors import Conflict, Duplicate, FairlaneError, LaneBusy
from tests.support.core import World, job, non_empty


def test_they_keep_their_order() -> None:
    world = World(max_concurrent=1)
    ids = [f"j{n:03}" for n in range(100)]
    world.submit_all(*(job(id) for id in reversed(ids)))
    world.drained()
    assert world.started == ids[::-1]


@pytest.mark.parametrize(
    "bad",
    [
        job("z", lane="busy"),
        job("z", dedupe="taken"),
        job("z", queue="nowhere"),
        job("z", limits=["unknown"]),
        job("z", uses={"unknown": 1}),
        job("z", after=["unknown"]),
        job("z", after=["z"]),
        job("z", dedupe="twice"),
        job("z", lane="twice"),
    ],
)
def test_one_conflict_refuses_the_whole_submission_and_the_board_is_unchanged(
    bad: Submission,
) -> None:
    world = World(on_conflict="reject")
    world.submit("a", lane="busy", dedupe="taken")
    before, decisions = world.image(), world.reloaded()
    with pytest.raises(FairlaneError):
        world.submit_all(job("b"), job("c", dedupe="twice", lane="twice"), bad, job("d"))
    assert not non_empty(world.last.changes)
    assert not world.last.starts
    assert world.image() == before
    for each in (world, decisions):
        each.submit("next", lane="twice")
        each.finish("a")
    assert world.started[1:] == decisions.started == ["next"]


def test_the_conflict_is_named() -> None:
    world = World(on_conflict="reject")
    with pytest.raises(LaneBusy, match="a is part of this submission"):
        world.submit_all(job("a", lane="x"), job("b", lane="x"))
    with pytest.raises(Duplicate, match="part of this submission: a"):
        world.submit_all(job("a", dedupe="k"), job("b", dedupe="k"))
    assert issubclass(LaneBusy, Conflict)


def test_an_empty_submission_changes_no_row() -> None:
    world = World()
    assert world.submit_all() == []
    assert not world.last.changes
