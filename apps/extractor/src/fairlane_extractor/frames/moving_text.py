"""Join the readings of a text that moves from right to left, each of which has a part of it."""

from collections.abc import Sequence
from difflib import Match, SequenceMatcher
from typing import Final

from fairlane_extractor.frames.row_times import TimedRow
from fairlane_extractor.frames.same_text import similarity

FEWEST_READINGS: Final = 3  # that move; two captions can look like a movement
TOUCHING_SECONDS: Final = 0.6
LONGEST_SECONDS: Final = 60.0  # a text that never ends is cut
SHORTEST_COMMON: Final = 4  # characters
CUT_CHARACTERS: Final = 3  # at the edges of the picture, which are read badly
SIMILAR: Final = 75.0


class _Chain:
    """Readings of one text, and all of it so far."""

    def __init__(self, row: TimedRow) -> None:
        self.readings = [row]
        self.text = row.text

    def add(self, row: TimedRow) -> bool:
        """Add a reading if it is the next part of the text."""
        last = self.readings[-1]
        is_near = (
            abs(row.start - last.end) <= TOUCHING_SECONDS
            and abs(row.box.top - last.box.top) < 0.5 * row.box.height
            and row.end - self.readings[0].start <= LONGEST_SECONDS
        )
        if not is_near or not is_later_part(last.text, row.text):
            return False
        longer = continue_text(self.text, row.text)
        if longer is None:
            return False
        self.text = longer
        self.readings.append(row)
        return True

    def rows(self) -> Sequence[TimedRow]:
        if len(self.readings) < FEWEST_READINGS:
            return self.readings
        whole = max(self.readings, key=lambda row: len(row.text))
        whole.start, whole.gone_at = self.readings[0].start, self.readings[-1].end
        whole.text = self.text
        return [whole]


def join_moving(rows: Sequence[TimedRow]) -> list[TimedRow]:
    """Return rows in the order of time, with one row for each text that moves."""
    chains: list[_Chain] = []
    active: list[_Chain] = []
    for row in rows:
        active = [one for one in active if one.readings[-1].end >= row.start - TOUCHING_SECONDS]
        if not any(chain.add(row) for chain in reversed(active)):
            chain = _Chain(row)
            chains.append(chain)
            active.append(chain)
    joined = [row for chain in chains for row in chain.rows()]
    return sorted(joined, key=lambda row: (row.start, row.box.top))


def is_later_part(text: str, part: str) -> bool:
    """Return whether a part begins later in a text, or has all of it and more at its end."""
    known, seen = _squeezed(text), _squeezed(part)
    common = _longest_common(known, seen)
    if common.a == common.b == 0:
        return common.size == len(known) < len(seen)
    return common.a > common.b and common.size > 0


def continue_text(text: str, part: str) -> str | None:
    """Return a text with the characters that a later part of it adds; None if it is another one.

    Spaces are not compared: of all characters, a recogniser loses them most.
    """
    known, seen = _squeezed(text), _squeezed(part)
    common = _longest_common(known, seen)
    if common.size < max(1, min(SHORTEST_COMMON, len(known), len(seen))):
        return None
    if len(known) - common.a - common.size > CUT_CHARACTERS:
        return None
    before = known[max(0, common.a - common.b) : common.a]
    if common.b > CUT_CHARACTERS and similarity(before, seen[: common.b]) < SIMILAR:
        return None
    return text[: _places(text)[common.a]] + part[_places(part)[common.b] :]


def _longest_common(known: str, seen: str) -> Match:
    return SequenceMatcher(None, known, seen, autojunk=False).find_longest_match()


def _squeezed(text: str) -> str:
    return "".join(text.split())


def _places(text: str) -> list[int]:
    return [place for place, char in enumerate(text) if not char.isspace()]
