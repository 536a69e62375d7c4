"""The tree that `errors.py` draws is the tree of its classes, and errors carry their facts."""

import re
from itertools import takewhile

import pytest

from fairlane import errors
from fairlane.errors import Duplicate, FairlaneError, IllegalTransition, Undecided, UnknownName


def drawn_tree() -> dict[str, str | None]:
    """Return the parent of each class in the drawing."""
    text = errors.__doc__ or ""
    drawing = takewhile(str.strip, text[text.index("    FairlaneError") :].splitlines())
    parents: dict[str, str | None] = {}
    path: list[tuple[int, str]] = []
    for line in drawing:
        name = re.search(r"[A-Z]\w+", line)
        assert name is not None, line
        while path and path[-1][0] >= name.start():
            path.pop()
        parents[name[0]] = path[-1][1] if path else None
        path.append((name.start(), name[0]))
    return parents


def test_the_drawn_tree_is_the_tree_of_the_classes() -> None:
    classes = [
        cls
        for cls in vars(errors).values()
        if isinstance(cls, type) and issubclass(cls, FairlaneError)
    ]
    parents = {cls.__name__: cls.__mro__[1].__name__ for cls in classes}
    assert drawn_tree() == {**parents, "FairlaneError": None}


def test_every_class_has_a_code_that_no_other_class_has() -> None:
    codes = [
        cls.code
        for cls in vars(errors).values()
        if isinstance(cls, type) and issubclass(cls, FairlaneError)
    ]
    assert len(codes) == len(set(codes))


@pytest.mark.parametrize(
    "error",
    [
        UnknownName("queue", "mial", ["mail"]),
        Duplicate("key", "a", "queued"),
        IllegalTransition("a", "completed", "queued", []),
        IllegalTransition.of_command("a", "running", "it cannot be moved"),
        Undecided("a"),
    ],
    ids=lambda error: error.code,
)
def test_an_error_keeps_its_facts_across_a_process_boundary(error: FairlaneError) -> None:
    other = FairlaneError.from_problem(error.as_problem())
    assert type(other) is type(error)
    assert str(other) == str(error)
    assert other.facts == error.facts
    for name, value in error.facts.items():
        if name in vars(error):
            assert getattr(other, name) == value
