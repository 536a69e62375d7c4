"""The words of a text and of a query, the same for both databases.

Words are runs of letters and digits, without case, accents and width. Chinese, Japanese, Korean,
Thai and related scripts have no reliable space between words: each character there begins a pair
with its successor, and the last of a run stands alone. So 看这个 is the words 看这, 这个 and 个:
one character is found as the beginning of a pair, two as a pair, more as pairs in their order.

A query becomes plain words before a database gets it, so its syntax never reaches one.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final

from msgspec import Struct

from fairlane_extractor.characters import is_unspaced

LONGEST_WORD: Final = 40
MOST_WORDS: Final = 4_000  # of one passage; PostgreSQL stores at most 1 MiB of them
MOST_TERMS: Final = 16
MOST_WORDS_OF_TERM: Final = 32
LONGEST_QUERY: Final = 500

_ACCENTS: Final = re.compile("[\u0300-\u036f]")
_PIECES: Final = re.compile(r'"([^"]*)"?|([^\s"]+)')


class Word(Struct, frozen=True):
    """A word, and the characters of the text that it is from."""

    text: str
    start: int
    end: int


class Term(Struct, frozen=True):
    """Words of a query that follow each other; `is_prefix` if the last one is a beginning."""

    words: tuple[str, ...]
    is_prefix: bool


def composed(text: str) -> str:
    """Return the text with its accents composed; the words of a text refer to this form."""
    return unicodedata.normalize("NFC", text)


def words_in(text: str, most: int = MOST_WORDS) -> list[Word]:
    """Return the first words of a composed text, in their order."""
    found: list[Word] = []
    for run in _runs(text):
        found += _words_of_run(run)
        if len(found) >= most:
            return found[:most]
    return found


def terms_in(query: str) -> tuple[Term, ...]:
    """Return the terms of a query; words in double quotes are whole words."""
    terms: list[Term] = []
    for piece in _PIECES.finditer(composed(query[:LONGEST_QUERY])):
        is_quoted = piece[2] is None
        term = _term(piece[1] if is_quoted else piece[2], is_quoted=is_quoted)
        if term is not None and term not in terms:
            terms.append(term)
    return tuple(terms[:MOST_TERMS])


def occurrences(term: Term, words: Sequence[Word]) -> Iterator[tuple[int, int]]:
    """Yield the first and the last index of the words of each occurrence of a term."""
    size = len(term.words)
    for first in range(len(words) - size + 1):
        if all(
            matches(wanted, words[first + n], is_prefix=term.is_prefix and n == size - 1)
            for n, wanted in enumerate(term.words)
        ):
            yield first, first + size - 1


def matches(wanted: str, word: Word, *, is_prefix: bool) -> bool:
    return word.text.startswith(wanted) if is_prefix else word.text == wanted


_Run = list[tuple[str, int]]  # folded characters with their places in the text


def _runs(text: str) -> Iterator[_Run]:
    """Yield runs of word characters of one kind: with spaces between words, or without."""
    run: _Run = []
    run_is_unspaced = False
    for place, char in enumerate(text):
        for folded in _folded(char):
            if run and is_unspaced(folded) != run_is_unspaced:
                yield run
                run = []
            run_is_unspaced = is_unspaced(folded)
            run.append((folded, place))
        if run and not _is_of_word(char):
            yield run
            run = []
    if run:
        yield run


def _words_of_run(run: _Run) -> list[Word]:
    if not is_unspaced(run[0][0]):
        text = "".join(char for char, _ in run[:LONGEST_WORD])
        return [Word(text, run[0][1], run[-1][1] + 1)]
    pairs = zip(run, [*run[1:], ("", run[-1][1])], strict=True)
    return [Word(one + two, place, after + 1) for (one, place), (two, after) in pairs]


def _term(piece: str, *, is_quoted: bool) -> Term | None:
    words = [word.text for word in words_in(piece, MOST_WORDS_OF_TERM)]
    if not words:
        return None
    is_pair = is_unspaced(words[-1][0])
    if is_pair and len(words) > 1 and len(words[-2]) == 2 and words[-2][1] == words[-1]:
        return Term(tuple(words[:-1]), is_prefix=False)
    return Term(tuple(words), is_prefix=is_pair or not is_quoted)


@lru_cache(maxsize=16_384)
def _folded(char: str) -> str:
    """Return the word characters of a character, without case, accents and width."""
    plain = unicodedata.normalize("NFKD", char).casefold()
    plain = unicodedata.normalize("NFC", _ACCENTS.sub("", plain))
    return "".join(one for one in plain if one.isalnum() or unicodedata.category(one)[0] == "M")


@lru_cache(maxsize=16_384)
def _is_of_word(char: str) -> bool:
    return char.isalnum() or unicodedata.category(char)[0] == "M"
