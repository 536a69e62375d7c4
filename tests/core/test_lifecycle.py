"""One table holds every legal transition; any other is refused without a change."""

import pytest

from fairlane.core.inputs import Move, Prioritize, RetryJob, Skip
from fairlane.core.lifecycle import EVENTS, FINAL, LIVE, TRANSITIONS, State, check_transition
from fairlane.core.live_job import JobId
from fairlane.errors import IllegalTransition, NotFound
from tests.support.core import HIGH, World, non_empty


def test_every_state_is_in_the_table_and_is_either_live_or_final() -> None:
    assert set(TRANSITIONS) == set(State) == LIVE | FINAL
    assert not LIVE & FINAL


def test_every_legal_change_names_the_event_that_causes_it() -> None:
    assert {state: set(events) for state, events in EVENTS.items()} == TRANSITIONS
    assert all(event for events in EVENTS.values() for event in events.values())


def test_every_live_state_can_be_cancelled_and_no_job_can_become_created_again() -> None:
    assert all(State.CANCELLED in TRANSITIONS[state] for state in LIVE)
    assert not any(State.CREATED in legal for legal in TRANSITIONS.values())


def test_only_failed_and_cancelled_jobs_move_again_once_they_have_ended() -> None:
    assert {state for state in FINAL if TRANSITIONS[state]} == {State.FAILED, State.CANCELLED}


def test_a_refused_transition_names_the_way_out() -> None:
    with pytest.raises(IllegalTransition, match="legal next states: none"):
        check_transition("a", State.COMPLETED, State.CANCELLED)
    with pytest.raises(IllegalTransition, match=r"failed and cannot become running.*: queued"):
        check_transition("a", State.FAILED, State.RUNNING)


def test_an_ended_job_cannot_be_cancelled_and_stays_as_it_is() -> None:
    world = World()
    world.submit("a")
    world.finish("a")
    with pytest.raises(IllegalTransition, match="a is completed"):
        world.cancel("a")
    assert not non_empty(world.last.changes)


def test_an_unknown_job_is_not_found() -> None:
    world = World()
    for command in (Skip("", JobId("x")), Prioritize("", JobId("x"), HIGH)):
        with pytest.raises(NotFound, match="x does not exist"):
            world.send(command)
        assert not non_empty(world.last.changes)


def test_a_running_job_cannot_be_skipped() -> None:
    world = World()
    world.submit("a")
    with pytest.raises(IllegalTransition):
        world.send(Skip("", JobId("a")))
    assert world.state("a") == "running"


def test_skip_takes_a_queued_job_out() -> None:
    world = World(max_concurrent=0)
    world.submit("a")
    world.send(Skip("", JobId("a")))
    assert world.state("a") == "skipped"


def test_each_change_of_state_is_an_event_that_names_both_states() -> None:
    world = World()
    world.submit("a")
    data = [event.data for event in world.last.changes.events]
    assert [(d["from"], d["state"]) for d in data] == [
        ("created", "queued"),
        ("queued", "running"),
    ]


def test_the_message_of_a_refused_command_does_not_name_the_wanted_state_as_legal() -> None:
    world = World(max_concurrent=1)
    world.submit("a")
    world.submit("b")
    commands = [
        RetryJob("", JobId("a")), Skip("", JobId("a")), RetryJob("", JobId("b")),
    ]  # fmt: skip
    for command in commands:
        with pytest.raises(IllegalTransition) as refused:
            world.send(command)
        assert "legal next states" not in str(refused.value)
    world.fail("a")
    with pytest.raises(IllegalTransition, match=r"is failed: .* retry it first"):
        world.send(Move("", JobId("a"), to="head"))
