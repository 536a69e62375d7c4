"""Compare texts that different recognisers read from the same moment.

Speech recognisers mishear words and frame readers lose spaces and letters, so equality is fuzzy: of
the letters and digits alone. Numbers are exact, because 10 and 16 are not the same fact; a single
digit inside a word is a misread letter.
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from rapidfuzz import fuzz

from fairlane_extractor.characters import is_unspaced

SHORT: Final = 20  # letters; a Chinese character counts as two
SHORTEST_PIECE: Final = 10  # a word or two occur by chance in the other text
LONGEST_PIECE: Final = 300  # a comparison takes the product of both lengths
LONGEST_JOINED: Final = 1_200
SCORE: Final = 84.0
SCORE_OF_SHORT: Final = 88.0
_NUMBER: Final = re.compile(r"\d{2,}|(?<![a-z])\d(?![a-z])")


@lru_cache(maxsize=4096)
def letters_of(text: str) -> str:
    """Return the letters and digits of a text, without case, width and spaces."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return "".join(char for char in plain if char.isalnum())


def are_equal(one: str, other: str) -> bool:
    """Return whether two texts are the same but for misread letters."""
    first, second = letters_of(one), letters_of(other)
    if first == second:
        return bool(first) or one == other
    if max(len(first), len(second)) > LONGEST_PIECE:
        return False
    needed = _needed(first)
    if fuzz.ratio(first, second, score_cutoff=needed) < needed:
        return False
    return _numbers_in(one) == _numbers_in(other)


def texts_with(text: str, texts: Sequence[str]) -> tuple[int, ...] | None:
    """Find a text in the joined, consecutive texts of another source.

    Return the indexes of those that have a part of it, or None if it is not in them.
    """
    wanted = letters_of(text)
    if _weight(wanted) < SHORTEST_PIECE or len(wanted) > LONGEST_PIECE:
        return None
    pieces = [letters_of(one) for one in texts]
    joined = "".join(pieces)[:LONGEST_JOINED]
    if len(wanted) > len(joined):
        if len(joined) < 0.9 * len(wanted) or fuzz.ratio(wanted, joined) < _needed(wanted):
            return None
        start, end = 0, len(joined)
    else:
        found = fuzz.partial_ratio_alignment(wanted, joined, score_cutoff=_needed(wanted))
        if found is None:
            return None
        start, end = found.dest_start, found.dest_end
    indexes = _texts_at(pieces, start, end)
    known = [number for index in indexes for number in _numbers_in(texts[index])]
    return indexes if all(number in known for number in _numbers_in(text)) else None


def _texts_at(pieces: Sequence[str], start: int, end: int) -> tuple[int, ...]:
    """Return the indexes of the pieces that have a part in a place of their joined text."""
    found: list[int] = []
    begin = 0
    for index, piece in enumerate(pieces):
        shared = min(end, begin + len(piece)) - max(start, begin)
        if piece and shared >= min(4, len(piece)):
            found.append(index)
        begin += len(piece)
    return tuple(found)


@lru_cache(maxsize=4096)
def _numbers_in(text: str) -> tuple[str, ...]:
    return tuple(_NUMBER.findall(unicodedata.normalize("NFKC", text).casefold()))


def _needed(letters: str) -> float:
    return SCORE_OF_SHORT if _weight(letters) < SHORT else SCORE


def _weight(letters: str) -> int:
    return len(letters) if letters.isascii() else len(letters) + sum(map(is_unspaced, letters))
