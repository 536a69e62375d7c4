"""Follow rows of text from picture to picture, so that each is one text with a begin and an end.

A row may be missing for a moment: behind a hand, in a flash, or because of the recogniser. It
continues if it returns soon.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from fairlane_extractor.frames.reading import Box, Row
from fairlane_extractor.frames.same_text import folded, is_same_text, similarity

GONE_SECONDS: Final = 1.2
NEAR: Final = 0.15  # of the height; rows that roll move as far between two samples
MOST_ROWS: Final = 50_000  # of one video


class TimedRow:
    """A row of text during the time that it is shown."""

    def __init__(self, row: Row, start: float, time: float) -> None:
        self.box = row.box
        self.text = row.text
        self.confidence = row.confidence
        self.start = start
        self.seen_at = time
        self.first_seen_at = time
        self.gone_at: float | None = None
        self._votes: Counter[str] = Counter()
        self._add(row)

    @property
    def end(self) -> float:
        return self.seen_at if self.gone_at is None else self.gone_at

    @property
    def is_seen_once(self) -> bool:
        return self.first_seen_at == self.seen_at

    def see(self, row: Row, time: float) -> None:
        """Note that the row is still there."""
        self.box, self.seen_at, self.gone_at = row.box, time, None
        self._add(row)

    def _add(self, row: Row) -> None:
        """Let the reading with the most confidence in sum be the text."""
        self._votes[row.text] += max(1, round(row.confidence * 1000))
        if row.text == self.text:
            self.confidence = max(self.confidence, row.confidence)
        elif self._votes[row.text] > self._votes[self.text]:
            self.text, self.confidence = row.text, row.confidence


class RowTimes:
    """All rows of a video so far."""

    def __init__(self) -> None:
        self.ended: list[TimedRow] = []
        self.dropped = 0
        self._shown: list[TimedRow] = []

    def continue_all(self, time: float) -> None:
        """Note that the picture is the same as before."""
        for shown in self._shown:
            if shown.gone_at is None:
                shown.seen_at = time
        self._end_gone(time)

    def update(self, rows: Sequence[Row], since: float, time: float) -> None:
        """Note the rows of a picture that differs from the last one since a time or later."""
        changed_at = (since + time) / 2
        free = list(self._shown)
        for row in rows:
            if not any(map(str.isalnum, row.text)):
                continue  # a bullet, or a line of a drawing
            shown = _best_match(row, free)
            if shown is not None:
                free.remove(shown)
                shown.see(row, time)
            elif len(self.ended) + len(self._shown) < MOST_ROWS:
                self._shown.append(TimedRow(row, changed_at, time))
            else:
                self.dropped += 1
        for shown in free:
            if shown.gone_at is None:
                shown.gone_at = max(changed_at, shown.seen_at)
        self._end_gone(time)

    def finish(self, end: float) -> list[TimedRow]:
        """Return all rows; those that are still there stay until the end."""
        for shown in self._shown:
            if shown.gone_at is None:
                shown.gone_at = max(end, shown.seen_at)
        return [*self.ended, *self._shown]

    def _end_gone(self, time: float) -> None:
        gone = [one for one in self._shown if one.end < time - GONE_SECONDS]
        if gone:
            self.ended += gone
            self._shown = [one for one in self._shown if one not in gone]


def _best_match(row: Row, candidates: Sequence[TimedRow]) -> TimedRow | None:
    """Return the candidate with the same text that is nearest, or one in exactly this place."""
    matches = [
        one
        for one in candidates
        if _distance(one.box, row.box) <= NEAR
        and is_same_text(one.text, one.confidence, row.text, row.confidence)
    ]
    return min(
        matches,
        key=lambda one: (
            _distance(one.box, row.box),
            -similarity(folded(one.text), folded(row.text)),
        ),
        default=None,
    )


def _distance(one: Box, other: Box) -> float:
    across = abs(one.left + one.right - other.left - other.right) / 2
    down = abs(one.top + one.bottom - other.top - other.bottom) / 2
    return max(across, down)
