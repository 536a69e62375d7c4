"""Passages of a result, the units of the search, and the hits in them.

A sentence often spans several lines, so all words of a query must be in one passage, not in one
line. A passage is consecutive lines of one paragraph; the title is one too. The line of a hit is
the one with most of the query. A long line is in several pieces, and a hit shows a part of them, so
that no hostile media makes a search slow or its answer large.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec
from msgspec import Struct

from fairlane_extractor.characters import flat, join_texts
from fairlane_extractor.merging import pieces_of
from fairlane_extractor.paragraphs import paragraphs_of
from fairlane_extractor.results.search_words import (
    Term,
    Word,
    composed,
    matches,
    occurrences,
    words_in,
)
from fairlane_extractor.results.stored_result import Part, StoredResult
from fairlane_extractor.segments import Line

MOST_LINES: Final = 40
MOST_CHARACTERS: Final = 2_000
LONGEST_EXCERPT: Final = 300  # characters of a hit
BEFORE_MATCH: Final = 100


class PassageLine(Struct, frozen=True, array_like=True):
    """A line of a passage, or a piece of it, by its index in the result; the title has none."""

    index: int | None
    start: float
    text: str


Passage = tuple[PassageLine, ...]


def passages_of(result: StoredResult) -> Iterator[Passage]:
    """Yield the passages of a result in their order, the title first."""
    if result.title.strip():
        title = composed(flat(result.title))[:MOST_CHARACTERS]
        yield tuple(PassageLine(None, 0.0, piece) for piece in pieces_of(title))
    for paragraph in paragraphs_of(result.lines):
        passage: list[PassageLine] = []
        characters = 0
        for one in _lines_of(paragraph):
            if passage and (len(passage) >= MOST_LINES or characters > MOST_CHARACTERS):
                yield tuple(passage)
                passage, characters = [], 0
            passage.append(one)
            characters += len(one.text)
        yield tuple(passage)


def _lines_of(paragraph: Iterable[tuple[int, Line]]) -> Iterator[PassageLine]:
    for index, line in paragraph:
        for piece in pieces_of(composed(flat(line.text))):
            yield PassageLine(index, line.start, piece)


def words_of(passage: Passage) -> list[str]:
    """Return the words of a passage as the index stores them, joined like a paragraph."""
    return [word.text for word in words_in(join_texts(line.text for line in passage))]


def encode_passage(passage: Passage) -> str:
    return msgspec.json.encode(passage).decode()


def decode_passage(text: str) -> Passage:
    return msgspec.json.decode(text, type=Passage)


def best_line(passage: Passage, terms: Sequence[Term]) -> PassageLine:
    """Return the line with the most terms of the query, and of those the first."""

    def score(line: PassageLine) -> tuple[int, int]:
        words = words_in(line.text)
        whole = sum(any(True for _ in occurrences(term, words)) for term in terms)
        return whole, sum(bool(_single_matches(term, words)) for term in terms)

    return max(passage, key=score)


def highlighted(text: str, terms: Sequence[Term]) -> tuple[Part, ...]:
    """Split a text into parts that match the query and parts that do not.

    Of a long text these are the parts around the first match, between ellipses.
    """
    words = words_in(text)
    marked = bytearray(len(text))
    for term in terms:
        found = [(words[first], words[last]) for first, last in occurrences(term, words)]
        # The words of a term can lie on two lines; then those on this line are marked.
        for first_word, last_word in found or [(one, one) for one in _single_matches(term, words)]:
            end = _end_of_match(term, last_word)
            marked[first_word.start : end] = b"\x01" * (end - first_word.start)
    begin, end = _excerpt(text, max(0, marked.find(1)))
    before, after = "…" * (begin > 0), "…" * (end < len(text))
    shown = bytes(len(before)) + marked[begin:end] + bytes(len(after))
    return tuple(_parts(f"{before}{text[begin:end]}{after}", shown))


def _excerpt(text: str, match: int) -> tuple[int, int]:
    """Return the begin and the end of the text around a match, at words where it can."""
    if len(text) <= LONGEST_EXCERPT:
        return 0, len(text)
    begin = max(0, min(match - BEFORE_MATCH, len(text) - LONGEST_EXCERPT))
    if begin:
        begin = text.find(" ", begin, match) + 1 or begin
    end = min(len(text), begin + LONGEST_EXCERPT)
    if end < len(text):
        space = text.rfind(" ", begin + LONGEST_EXCERPT // 2, end)
        end = end if space < 0 else space
    return begin, end


def _single_matches(term: Term, words: Sequence[Word]) -> list[Word]:
    last = len(term.words) - 1
    return [
        word
        for word in words
        if any(
            matches(wanted, word, is_prefix=term.is_prefix and n == last)
            for n, wanted in enumerate(term.words)
        )
    ]


def _end_of_match(term: Term, word: Word) -> int:
    """Return where the marked text ends: a single character is not marked with its successor."""
    is_first_of_pair = len(term.words[-1]) == 1 and term.is_prefix and len(word.text) == 2
    return word.start + 1 if is_first_of_pair and word.end == word.start + 2 else word.end


def _parts(text: str, marked: bytes) -> Iterator[Part]:
    begin = 0
    for place in range(1, len(text) + 1):
        if place == len(text) or marked[place] != marked[begin]:
            yield Part(text[begin:place], bool(marked[begin]))
            begin = place
