"""Documents that are kept for others: whoever changes one must not undo what somebody else did."""

import pytest

from fairlane.core.inputs import SaveRecord
from fairlane.errors import Conflict
from tests.support.core import World


def test_a_declaration_that_comes_late_gives_way_to_what_was_changed_meanwhile() -> None:
    world = World()
    world.ask(SaveRecord("", "schedule", "tick", "declared"))
    world.ask(SaveRecord("", "schedule", "tick", "paused", "declared"))
    world.ask(SaveRecord("", "schedule", "tick", "declared", if_absent=True))
    assert world.store.records["schedule", "tick"] == "paused"


def test_a_declaration_of_what_nobody_has_declared_is_kept() -> None:
    world = World()
    world.ask(SaveRecord("", "schedule", "tick", "declared", if_absent=True))
    assert world.store.records["schedule", "tick"] == "declared"
    world.ask(SaveRecord("", "schedule", "tick", None))
    world.ask(SaveRecord("", "schedule", "tick", "again", if_absent=True))
    assert world.store.records["schedule", "tick"] == "again"


def test_a_change_of_what_somebody_else_has_changed_is_refused() -> None:
    world = World()
    world.ask(SaveRecord("", "schedule", "tick", "one"))
    with pytest.raises(Conflict, match="was changed meanwhile"):
        world.ask(SaveRecord("", "schedule", "tick", "two", "none"))
    assert world.store.records["schedule", "tick"] == "one"
