"""Paragraphs of a result: lines that belong together have one number.

Text that is only shown, such as a slide or a sign, interrupts the sentences that are said at the
same time. So said and shown lines have separate paragraphs, although the lines of both stand in the
order of time.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec.structs import replace

from fairlane_extractor.characters import is_unspaced
from fairlane_extractor.segments import Line, Segment

GAP_SECONDS: Final = 2.5
PAUSE_SECONDS: Final = 0.8  # ends a paragraph after a sentence
USUAL_LENGTH: Final = 400  # from here on the end of a sentence ends a paragraph
LARGEST_LENGTH: Final = 1_000
_ENDINGS: Final = frozenset(".!?…。！？｡؟।")
_CLOSINGS: Final = "\"'”’»)）」』】"


def number_paragraphs(lines: Iterable[Line]) -> list[Line]:
    """Return the lines, which are in the order of time, with the numbers of their paragraphs."""
    numbered: list[Line] = []
    said, shown = _Paragraph(), _Paragraph()
    count = 0
    for line in lines:
        paragraph = said if is_said(line) else shown
        if paragraph.ends_before(line):
            paragraph.begin(count)
            count += 1
        paragraph.add(line)
        numbered.append(replace(line, paragraph=paragraph.number))
    return numbered


def paragraphs_of(lines: Sequence[Line]) -> list[list[tuple[int, Line]]]:
    """Return the lines by paragraph, each with its index, in the order of the paragraphs."""
    found: dict[int, list[tuple[int, Line]]] = {}
    for index, line in enumerate(lines):
        found.setdefault(line.paragraph, []).append((index, line))
    return [found[number] for number in sorted(found)]


def raw_lines(segments: Iterable[Segment]) -> list[Line]:
    """Return each segment as a line, in the order of time: the result where merging fails."""
    return [
        Line(
            start=one.start, end=one.end, text=one.text, sources=(one.source,),
            confidence=one.confidence, language=one.language,
        )
        for one in sorted(segments, key=lambda one: (one.start, one.end))
    ]  # fmt: skip


def is_said(line: Line) -> bool:
    """Return whether a line is speech or a subtitle, perhaps on a frame as well."""
    return line.sources != ("frame",)


class _Paragraph:
    def __init__(self) -> None:
        self.number = -1
        self._length = 0
        self._last: Line | None = None

    def begin(self, number: int) -> None:
        self.number, self._length = number, 0

    def add(self, line: Line) -> None:
        # A Chinese character counts as two letters.
        self._length += len(line.text) + sum(map(is_unspaced, line.text))
        self._last = line

    def ends_before(self, line: Line) -> bool:
        if self._last is None or self._length >= LARGEST_LENGTH:
            return True
        gap = line.start - self._last.end
        if gap > GAP_SECONDS:
            return True
        ends_here = ends_sentence(self._last.text)
        return ends_here and (gap > PAUSE_SECONDS or self._length >= USUAL_LENGTH)


def ends_sentence(text: str) -> bool:
    return text.rstrip().rstrip(_CLOSINGS)[-1:] in _ENDINGS
