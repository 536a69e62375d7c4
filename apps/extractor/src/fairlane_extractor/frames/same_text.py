"""Decide whether two readings are of the same text.

A recogniser reads the same row a little differently on two frames. But captions that follow each
other can differ in one character as well: "Step 1 of 5" and "Step 2 of 5". So a reading that
differs counts as the same text only if one of the two is uncertain.
"""

from typing import Final

from rapidfuzz import fuzz

CERTAIN: Final = 0.9
SIMILAR: Final = 82.0
_CONFUSED: Final = str.maketrans({"i": "l", "1": "l", "|": "l", "0": "o", "5": "s"})


def folded(text: str) -> str:
    """Return the characters of a text without those that recognisers confuse or lose."""
    return "".join(filter(str.isalnum, text.casefold().translate(_CONFUSED)))


def is_same_text(one: str, one_confidence: float, other: str, other_confidence: float) -> bool:
    first, second = folded(one), folded(other)
    if first == second:
        return True
    if min(one_confidence, other_confidence) >= CERTAIN or _digits(one) != _digits(other):
        return False
    return similarity(first, second) >= SIMILAR


def similarity(first: str, second: str) -> float:
    """Return how similar two folded texts are: 100 if they are equal."""
    return fuzz.ratio(first, second)


def _digits(text: str) -> str:
    return "".join(filter(str.isdigit, text))
