"""The same dedupe key is not queued twice; check and admission are one atomic step."""

import pytest

from fairlane.core.inputs import QueryState, Submit
from fairlane.errors import Duplicate
from tests.support.core import World, job


def test_a_live_key_refuses_a_second_job_and_names_the_first() -> None:
    world = World()
    world.submit("a", dedupe="k")
    with pytest.raises(Duplicate) as duplicate:
        world.submit("b", dedupe="k")
    assert duplicate.value.active_job == "a"


def test_a_key_is_free_again_once_its_job_has_ended() -> None:
    world = World()
    world.submit("a", dedupe="k")
    world.finish("a")
    world.submit("b", dedupe="k")
    assert world.running == {"b"}


def test_two_submissions_in_one_batch_are_decided_one_after_the_other() -> None:
    world = World()
    world.apply(Submit("1", [job("a", dedupe="k")]), Submit("2", [job("b", dedupe="k")]))
    answers = dict(world.last.answers)
    assert answers["1"] == [{"id": "a", "merged": False}]
    assert isinstance(answers["2"], Duplicate)


def test_queued_and_running_can_be_asked_without_side_effects() -> None:
    world = World(max_concurrent=0)
    world.submit("a", dedupe="k", lane="x")
    assert world.send(QueryState("", queued="k")) is True
    assert world.send(QueryState("", lane=("q", "x"))) is False
    assert not world.last.changes
    world.operate(max_concurrent=1)
    assert world.send(QueryState("", queued="k")) is False
    assert world.send(QueryState("", lane=("q", "x"))) is True
    assert world.send(QueryState("", lane=("q", "y"))) is False
