"""How well text was recognised: the rate of wrong words, and of right characters."""

import re
import unicodedata
from collections.abc import Sequence
from typing import Final

from rapidfuzz.distance import Levenshtein

_NUMBERS: Final = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    "eleven", "twelve",
)  # fmt: skip


def word_error_rate(expected: str, found: str) -> float:
    """Return the share of wrong, missing and additional words: 0 is perfect, it can exceed 1.

    Case, punctuation and the spelling of small numbers are no errors.
    """
    wanted = words_of(expected)
    return Levenshtein.distance(wanted, words_of(found)) / max(1, len(wanted))


def character_accuracy(expected: str, found: str) -> float:
    """Return the share of right characters, from 0 to 1; case and spaces do not count."""
    wanted, read = _characters_of(expected), _characters_of(found)
    return max(0.0, 1 - Levenshtein.distance(wanted, read) / max(1, len(wanted)))


def words_of(text: str) -> Sequence[str]:
    """Return the words of a text as they are compared."""
    plain = unicodedata.normalize("NFKC", text).casefold().replace("’", "'")
    words = re.findall(r"\w+(?:'\w+)*", plain)
    return [_spelled(word) for word in words]


def _spelled(word: str) -> str:
    is_small = word.isdecimal() and int(word) < len(_NUMBERS)
    return _NUMBERS[int(word)] if is_small else word


def _characters_of(text: str) -> str:
    return "".join(unicodedata.normalize("NFKC", text).casefold().split())
