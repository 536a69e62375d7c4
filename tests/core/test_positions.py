"""A position lies between any two neighbours without renumbering the rest."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlane.core.position import MIDDLE, between, number, numbered


def test_positions_compare_as_their_numbers_do() -> None:
    assert numbered(MIDDLE - 1) < numbered(MIDDLE) < numbered(MIDDLE + 1) < numbered(MIDDLE + 16)
    assert number(numbered(MIDDLE + 5)) == MIDDLE + 5


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=80))
def test_there_is_always_a_place_between_two_neighbours(choices: list[int]) -> None:
    places = [numbered(MIDDLE), numbered(MIDDLE + 1), numbered(MIDDLE + 2)]
    for choice in choices:
        at = choice % (len(places) - 1)
        new = between(places[at], places[at + 1])
        assert places[at] < new < places[at + 1]
        places.insert(at + 1, new)


def test_a_thousand_drags_to_the_same_spot_still_find_room() -> None:
    low, high = numbered(MIDDLE), numbered(MIDDLE + 1)
    for _ in range(500):
        high = between(low, high)
    for _ in range(500):
        low = between(low, high)
    assert low < high


def test_positions_in_the_wrong_order_are_a_mistake_that_is_named() -> None:
    with pytest.raises(ValueError, match="the first must be the smaller"):
        between(numbered(MIDDLE), numbered(MIDDLE))
