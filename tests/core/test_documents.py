"""Stored documents: a change must not undo a change that another client made meanwhile."""

import pytest

from fairlane.core.inputs import SaveRecord
from fairlane.errors import Conflict
from tests.support.core import World


def test_a_late_declaration_keeps_the_change_of_an_operator() -> None:
    world = World()
    world.send(SaveRecord("", "schedule", "tick", "declared"))
    world.send(SaveRecord("", "schedule", "tick", "paused", "declared"))
    world.send(SaveRecord("", "schedule", "tick", "declared", if_absent=True))
    assert world.store.records["schedule", "tick"] == "paused"


def test_a_first_declaration_is_stored() -> None:
    world = World()
    world.send(SaveRecord("", "schedule", "tick", "declared", if_absent=True))
    assert world.store.records["schedule", "tick"] == "declared"
    world.send(SaveRecord("", "schedule", "tick", None))
    world.send(SaveRecord("", "schedule", "tick", "again", if_absent=True))
    assert world.store.records["schedule", "tick"] == "again"


def test_a_change_based_on_an_outdated_record_is_refused() -> None:
    world = World()
    world.send(SaveRecord("", "schedule", "tick", "one"))
    with pytest.raises(Conflict, match="was changed meanwhile"):
        world.send(SaveRecord("", "schedule", "tick", "two", "none"))
    assert world.store.records["schedule", "tick"] == "one"
