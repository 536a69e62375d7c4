"""Read the rows of text on a picture, with rapidocr.

Finding the places of text is one model, and reading the characters of a place is another. A row
that looks as it did on the last picture is not read twice.
"""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from msgspec import Struct

from fairlane_extractor.characters import join_texts
from fairlane_extractor.frames.sampling import Picture, has_changed

LOWEST_CONFIDENCE: Final = 0.5
MOST_ROWS: Final = 64  # of one picture; a page of a book has fewer
ALIKE: Final = 14.0  # a block of a row that differs by more is another character
SAME_PLACE: Final = 0.5


class Box(Struct, frozen=True):
    """A part of a picture; all lengths are shares of the height of the picture."""

    left: float
    top: float
    right: float
    bottom: float

    @property
    def height(self) -> float:
        return self.bottom - self.top

    def overlap(self, other: "Box") -> float:
        """Return the common area as a share of the area of both: 1 if they are equal."""
        width = min(self.right, other.right) - max(self.left, other.left)
        height = min(self.bottom, other.bottom) - max(self.top, other.top)
        if width <= 0 or height <= 0:
            return 0.0
        common = width * height
        return common / (self._area + other._area - common)

    def union(self, other: "Box") -> "Box":
        return Box(
            min(self.left, other.left),
            min(self.top, other.top),
            max(self.right, other.right),
            max(self.bottom, other.bottom),
        )

    @property
    def _area(self) -> float:
        return (self.right - self.left) * (self.bottom - self.top)


class Row(Struct, frozen=True):
    """A row of text on one picture."""

    box: Box
    text: str
    confidence: float


class TextReader:
    """The recogniser, with the rows of the last picture."""

    def __init__(self, threads: int) -> None:
        from rapidocr import RapidOCR  # here, because it takes a second

        self.recognised = 0  # rows whose characters were read
        self._engine: Any = RapidOCR(
            params={
                "Global.log_level": "error",
                "Global.max_side_len": 2000,
                "Det.limit_type": "max",
                "Det.limit_side_len": 960,
                "EngineConfig.onnxruntime.intra_op_num_threads": threads,
                "EngineConfig.onnxruntime.inter_op_num_threads": 1,
            }
        )
        self._rows: list[Row] = []
        self._grey: Picture | None = None

    def read(self, picture: Picture) -> list[Row]:
        """Return the rows from top to bottom and left to right."""
        grey = picture[:, :, 1]
        rows = []
        for box in self._find(picture):
            row = self._known(box, grey) or self._recognise(box, picture)
            rows.append(row)
        self._rows, self._grey = rows, grey
        return in_reading_order(join_pieces(rows))

    def _find(self, picture: Picture) -> list[Box]:
        found = self._engine(picture, use_det=True, use_cls=False, use_rec=False)
        corners = getattr(found, "boxes", None)
        if corners is None:
            return []
        height, width = picture.shape[:2]
        places = (
            np.asarray(corners, dtype=float).reshape(-1, 4, 2).clip(0, (width, height)) / height
        )
        boxes = [Box(*place.min(axis=0).tolist(), *place.max(axis=0).tolist()) for place in places]
        return boxes[:MOST_ROWS]

    def _known(self, box: Box, grey: Picture) -> Row | None:
        """Return the row of the last picture that is in the same place and looks the same."""
        before = self._grey
        if before is None or before.shape != grey.shape:
            return None
        for row in self._rows:
            if box.overlap(row.box) >= SAME_PLACE:
                place = box.union(row.box)  # a word may have been added to the row
                if not has_changed(_cut(before, place), _cut(grey, place), ALIKE):
                    return row
        return None

    def _recognise(self, box: Box, picture: Picture) -> Row:
        piece = np.ascontiguousarray(_cut(picture, box))
        found = self._engine(piece, use_det=False, use_cls=False, use_rec=True)
        self.recognised += 1
        texts, scores = getattr(found, "txts", None), getattr(found, "scores", None)
        if not texts or not scores:
            return Row(box, "", 0.0)
        return Row(box, " ".join(texts[0].split()), round(float(scores[0]), 3))


def join_pieces(rows: Sequence[Row]) -> list[Row]:
    """Join the pieces of a row that was found in parts: a wide comma looks like a gap."""
    joined: list[Row] = []
    for row in sorted(rows, key=lambda row: row.box.left):
        if row.confidence < LOWEST_CONFIDENCE:
            continue
        before = next((one for one in joined if _continues(one.box, row.box)), None)
        if before is None:
            joined.append(row)
        else:
            joined[joined.index(before)] = _joined(before, row)
    return joined


def _continues(before: Box, box: Box) -> bool:
    """Return whether a box of the same height stands just right of another one."""
    height = min(before.height, box.height)
    shared = min(before.bottom, box.bottom) - max(before.top, box.top)
    gap = box.left - before.right
    return shared > 0.7 * max(before.height, box.height) and -0.5 * height < gap < 0.7 * height


def _joined(before: Row, row: Row) -> Row:
    text = join_texts([before.text, row.text])
    return Row(before.box.union(row.box), text, min(before.confidence, row.confidence))


def in_reading_order(rows: Sequence[Row]) -> list[Row]:
    """Sort rows by lines of the picture; those that share most of their height are one line."""
    lines: list[list[Row]] = []
    for row in sorted(rows, key=lambda row: row.box.top + row.box.bottom):
        middle = (row.box.top + row.box.bottom) / 2
        if lines and lines[-1][0].box.top < middle < lines[-1][0].box.bottom:
            lines[-1].append(row)
        else:
            lines.append([row])
    return [row for line in lines for row in sorted(line, key=lambda row: row.box.left)]


def _cut(picture: Picture, box: Box) -> Picture:
    height = picture.shape[0]
    top, left = int(box.top * height), int(box.left * height)
    bottom = max(top + 1, round(box.bottom * height))
    right = max(left + 1, round(box.right * height))
    return picture[top:bottom, left:right]
