"""Merge the segments of all branches into the lines of a result.

Rules:

- A text that is both said and shown at one time becomes one line, with all sources that agree.
- A subtitle wins over the other sources; between speech and frames the confidence decides.
- A segment is dropped only if the lines of another source at its time have its text, and those
  lines are then never dropped. So no text is lost.
- A long text is several lines, which share its time by their lengths.
- A text that stands much longer than the other one is said (a slide, a watermark) stays, and so
  does a sentence that is only one of several on a slide.

A segment is compared with a bounded number of segments that are near in time, so the work grows
like the sorting, n log n, even if a hostile media shows a thousand texts at once.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from msgspec import Struct

from fairlane_extractor.characters import flat, is_unspaced
from fairlane_extractor.matching import are_equal, letters_of, texts_with
from fairlane_extractor.nearby import Nearby
from fairlane_extractor.paragraphs import number_paragraphs
from fairlane_extractor.segments import Line, Segment, Source

SOURCES: Final[tuple[Source, ...]] = ("subtitle", "speech", "frame")
LONGEST_LINE: Final = 1_000  # characters; a hostile subtitle has one cue of megabytes
LONGEST_WORD: Final = 24
UNKNOWN_CONFIDENCE: Final = 0.7  # of a segment without a measure


def merge(segments: Iterable[Segment]) -> list[Line]:
    """Return the lines of a result in the order of time, with the numbers of their paragraphs."""
    drafts = _without_repetitions(_cleaned(segments))
    said = [one for one in drafts if one.source != "frame"]
    frames = [one for one in drafts if one.source == "frame"]
    subtitles = [one for one in said if one.source == "subtitle"]
    speech = [one for one in said if one.source == "speech"]
    for others in (speech, frames):
        _join_equal(subtitles, others)
        _absorb(others, subtitles)
    _join_equal(speech, frames)
    if _confidence_of(frames) > _confidence_of(speech):
        _absorb(speech, frames, only_captions=True)
    _absorb(frames, speech)
    kept = [one for one in drafts if not one.is_dropped]
    return number_paragraphs(one.as_line() for one in kept)


def pieces_of(text: str, longest: int = LONGEST_LINE) -> list[str]:
    """Split a flat text into pieces of at most this length, at the ends of words where it can."""
    pieces = []
    begin = 0
    while len(text) - begin > longest:
        space = text.rfind(" ", begin + longest // 2, begin + longest + 1)
        end = begin + longest if space < 0 else space
        pieces.append(text[begin:end])
        begin = end if space < 0 else space + 1
    return [*pieces, text[begin:]]


class _Draft(Struct, eq=False):
    """A segment that becomes a line, unless the lines of another source have its text."""

    start: float
    end: float
    text: str
    source: Source
    confidence: float | None
    language: str | None
    agreeing: dict[Source, float | None] = {}
    is_dropped: bool = False

    @property
    def is_fixed(self) -> bool:
        """Whether this line has the text of a dropped segment, and so must stay."""
        return bool(self.agreeing)

    def absorb(self, other: "_Draft") -> None:
        """Record that a dropped segment agrees with this line."""
        known = self.agreeing.get(other.source)
        given = other.confidence
        both = [one for one in (known, given) if one is not None]
        self.agreeing[other.source] = max(both) if both else None
        self.language = self.language or other.language

    def as_line(self) -> Line:
        return Line(
            start=self.start,
            end=self.end,
            text=self.text,
            sources=tuple(one for one in SOURCES if one == self.source or one in self.agreeing),
            confidence=_combined([self.confidence, *self.agreeing.values()]),
            language=self.language,
        )


def _cleaned(segments: Iterable[Segment]) -> list[_Draft]:
    """Return the segments with a text, on one line each or on several if it is long, in an order
    that the input's does not change."""
    drafts = []
    for one in segments:
        text = flat(one.text)
        if text:
            start = max(0.0, one.start) if math.isfinite(one.start) else 0.0
            end = max(start, one.end) if math.isfinite(one.end) else start
            for begin, stop, piece in _shares(start, end, text):
                drafts.append(
                    _Draft(
                        begin, stop, piece, one.source, one.confidence, one.language, agreeing={}
                    )
                )
    return sorted(drafts, key=_order)


def _shares(start: float, end: float, text: str) -> Iterator[tuple[float, float, str]]:
    """Yield the pieces of a text with their shares of its time."""
    pieces = pieces_of(text)
    total = sum(map(len, pieces))
    begin, done = start, 0
    for piece in pieces:
        done += len(piece)
        stop = end if done == total else min(end, start + (end - start) * done / total)
        yield begin, stop, piece
        begin = stop


def _order(draft: _Draft) -> tuple[float, int, float, str, float, str]:
    return (
        draft.start, SOURCES.index(draft.source), draft.end, draft.text,
        -1.0 if draft.confidence is None else draft.confidence, draft.language or "",
    )  # fmt: skip


def _without_repetitions(drafts: Sequence[_Draft]) -> list[_Draft]:
    """Join the segments of one source that have the same text at the same time."""
    last: dict[tuple[Source, str], _Draft] = {}
    kept: list[_Draft] = []
    for draft in drafts:
        key = (draft.source, letters_of(draft.text) or draft.text)
        earlier = last.get(key)
        if earlier is not None and draft.start < max(earlier.end, earlier.start + 0.001):
            earlier.end = max(earlier.end, draft.end)
            known = [one for one in (earlier.confidence, draft.confidence) if one is not None]
            earlier.confidence = max(known) if known else None
            earlier.language = earlier.language or draft.language
            continue
        last[key] = draft
        kept.append(draft)
    return kept


def _join_equal(first: Sequence[_Draft], second: Sequence[_Draft]) -> None:
    """Join each pair of equal texts of two sources; a subtitle or the surer text stays.

    Pairs at the same time come first: a repeated text is also near its neighbour's time.
    """
    nearby = Nearby(second)
    for only_overlapping in (True, False):
        for draft in first:
            near = [second[index] for index in nearby.of(draft.start, draft.end)]
            _join_pairs(
                draft, [one for one in near if _overlap(draft, one) or not only_overlapping]
            )


def _join_pairs(draft: _Draft, others: Sequence[_Draft]) -> None:
    for other in others:
        if draft.is_dropped or other.is_dropped or (draft.is_fixed and other.is_fixed):
            continue
        is_known = other.source in draft.agreeing or draft.source in other.agreeing
        if is_known and not _overlap(draft, other):
            continue  # the text is repeated
        if not _is_at_time_of(draft, other) or not are_equal(draft.text, other.text):
            continue
        winner, loser = (other, draft) if _is_better(other, draft) else (draft, other)
        winner.absorb(loser)
        loser.is_dropped = True


def _is_better(one: _Draft, other: _Draft) -> bool:
    """Return whether the first text is better; a line that has to stay always is."""
    if one.is_fixed or other.is_fixed:
        return one.is_fixed
    if "subtitle" in (one.source, other.source):
        return one.source == "subtitle"
    return _confidence(one) > _confidence(other)


def _absorb(
    losers: Sequence[_Draft], winners: Sequence[_Draft], *, only_captions: bool = False
) -> None:
    """Drop each loser with a text that is in the winners at its time.

    With `only_captions`, the text of these winners must also be in the losers.
    """
    remaining = [one for one in winners if not one.is_dropped]
    nearby, nearby_losers = Nearby(remaining), Nearby(losers)
    for loser in losers:
        if loser.is_dropped or loser.is_fixed:
            continue
        near = _at_time_of(loser, remaining, nearby)
        found = texts_with(loser.text, [one.text for one in near])
        if not found:
            continue
        agreeing = [near[index] for index in found]
        if only_captions and not all(
            texts_with(one.text, [said.text for said in _at_time_of(one, losers, nearby_losers)])
            for one in agreeing
        ):
            continue
        loser.is_dropped = True
        for winner in agreeing:
            winner.absorb(loser)


def _at_time_of(draft: _Draft, others: Sequence[_Draft], nearby: Nearby) -> list[_Draft]:
    """Return other drafts at the time of a draft, in their order."""
    near = [others[index] for index in sorted(nearby.of(draft.start, draft.end))]
    return [one for one in near if _is_at_time_of(one, draft)]


def _overlap(one: _Draft, other: _Draft) -> bool:
    return one.start < other.end and other.start < one.end


def _is_at_time_of(one: _Draft, other: _Draft) -> bool:
    """Return whether neither text stands much longer than the other one is said."""
    lengths = sorted((one.end - one.start, other.end - other.start))
    return lengths[1] <= max(12.0, 8 * lengths[0])


def _confidence(draft: _Draft) -> float:
    value = UNKNOWN_CONFIDENCE if draft.confidence is None else draft.confidence
    # A frame reader is sure of its letters even where it has lost the spaces between words.
    return value / 2 if _has_lost_spaces(draft.text) else value


def _has_lost_spaces(text: str) -> bool:
    return any(
        len(word) > LONGEST_WORD and not any(map(is_unspaced, word)) for word in text.split()
    )


def _confidence_of(drafts: Sequence[_Draft]) -> float:
    """Return the mean confidence of the segments that remain."""
    values = [_confidence(one) for one in drafts if not one.is_dropped]
    return sum(values) / len(values) if values else 0.0


def _combined(values: Iterable[float | None]) -> float | None:
    """Return the confidence in a text on which independent sources agree."""
    known = [min(1.0, max(0.0, one)) for one in values if one is not None]
    return round(1 - math.prod(1 - one for one in known), 4) if known else None
