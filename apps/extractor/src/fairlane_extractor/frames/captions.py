"""Make segments of rows: without noise, one for a text that grows, and rows of a block together."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from fairlane_extractor.characters import flat
from fairlane_extractor.frames.moving_text import join_moving
from fairlane_extractor.frames.row_times import TimedRow
from fairlane_extractor.frames.same_text import CERTAIN, folded, similarity
from fairlane_extractor.languages import language_of_script
from fairlane_extractor.segments import Segment

UNCERTAIN: Final = 0.75  # a row that is seen once needs as much confidence
BLENDED: Final = 60.0  # similarity of a row with the caption that it fades from or into
TOGETHER_SECONDS: Final = 0.3
TOUCHING_SECONDS: Final = 0.6
STANDING_SHARE: Final = 0.6  # of the video; a text shown as long is a watermark
LARGEST_RESULT: Final = 6 * 2**20  # the result of a stage may have 8 MiB


def make_segments(rows: Iterable[TimedRow], seconds: float) -> list[Segment]:
    """Return the segments in the order of time, and of reading where times are equal."""
    kept = sorted(_without_noise(list(rows)), key=lambda row: (row.start, row.box.top))
    joined = _join_standing(_join_growing(join_moving(kept)), seconds)
    blocks = sorted(_blocks(joined), key=lambda block: (block[0].start, block[0].box.top))
    return [_segment(block) for block in blocks]


def bound_segments(segments: Sequence[Segment]) -> list[Segment]:
    """Drop the shortest segments of a result that would be too large to store."""
    excess = len(msgspec.json.encode(segments)) - LARGEST_RESULT
    dropped: set[int] = set()
    by_length = sorted(
        range(len(segments)), key=lambda number: segments[number].end - segments[number].start
    )
    for number in by_length:
        if excess <= 0:
            break
        excess -= len(msgspec.json.encode(segments[number])) + 1
        dropped.add(number)
    return [one for number, one in enumerate(segments) if number not in dropped]


def _without_noise(rows: Sequence[TimedRow]) -> list[TimedRow]:
    """Drop uncertain readings of a single picture, such as that of a caption that fades in."""
    lasting = [row for row in rows if not row.is_seen_once]
    by_second: dict[int, list[TimedRow]] = defaultdict(list)
    for row in lasting:
        for second in range(int(row.start) - 1, int(row.end) + 2):
            by_second[second].append(row)
    kept = list(lasting)
    for row in rows:
        if row.is_seen_once and row.confidence >= UNCERTAIN:
            near = by_second[int(row.start)]
            if not any(_is_blend(row, other) for other in near):
                kept.append(row)
    return kept


def _is_blend(row: TimedRow, other: TimedRow) -> bool:
    return (
        row.box.overlap(other.box) > 0
        and _touch(row, other)
        and similarity(folded(row.text), folded(other.text)) >= BLENDED
        and row.confidence < min(CERTAIN, other.confidence)
    )


def _join_growing(rows: Sequence[TimedRow]) -> list[TimedRow]:
    """Join rows that begin with the row that they replace: words that appear one by one."""
    joined: list[TimedRow] = []
    for row in rows:
        for before in reversed(joined[-8:]):
            text, longer = folded(before.text), folded(row.text)
            if (
                longer.startswith(text)
                and longer != text
                and abs(row.start - before.end) <= TOUCHING_SECONDS
                and row.box.overlap(before.box) > 0
                and abs(row.box.left - before.box.left) < row.box.height
            ):
                row.start = before.start
                joined.remove(before)
                break
        joined.append(row)
    return sorted(joined, key=lambda row: (row.start, row.box.top))


def _join_standing(rows: Sequence[TimedRow], seconds: float) -> list[TimedRow]:
    """Join the pieces of a text that is there most of the time, such as a watermark."""
    pieces: dict[str, list[TimedRow]] = defaultdict(list)
    for row in rows:
        pieces[folded(row.text)].append(row)
    standing: dict[str, TimedRow] = {}
    for text, found in pieces.items():
        if len(found) > 1 and sum(row.end - row.start for row in found) >= STANDING_SHARE * seconds:
            best = max(found, key=lambda row: row.confidence)
            best.start, best.gone_at = found[0].start, max(row.end for row in found)
            standing[text] = best
    return [row for row in rows if standing.get(folded(row.text), row) is row]


def _blocks(rows: Sequence[TimedRow]) -> list[list[TimedRow]]:
    """Group rows that come and go together and stand below each other."""
    blocks: list[list[TimedRow]] = []
    for row in rows:
        for block in reversed(blocks[-16:]):
            if _belongs(row, block[-1]):
                block.append(row)
                break
        else:
            blocks.append([row])
    return blocks


def _belongs(row: TimedRow, above: TimedRow) -> bool:
    gap = row.box.top - above.box.bottom
    height = max(row.box.height, above.box.height)
    return (
        abs(row.start - above.start) <= TOGETHER_SECONDS
        and abs(row.end - above.end) <= TOGETHER_SECONDS
        and -0.3 * height <= gap <= 0.7 * height
        and min(row.box.right, above.box.right) > max(row.box.left, above.box.left)
        and min(row.box.height, above.box.height) > 0.6 * height
        # A translation below its original is a text of another language.
        and language_of_script(row.text) == language_of_script(above.text)
    )


def _touch(row: TimedRow, other: TimedRow) -> bool:
    return row.start <= other.end + TOUCHING_SECONDS and other.start <= row.end + TOUCHING_SECONDS


def _segment(block: Sequence[TimedRow]) -> Segment:
    text = flat("\n".join(row.text for row in block))
    characters = sum(len(row.text) for row in block)
    confidence = sum(row.confidence * len(row.text) for row in block) / characters
    start = round(min(row.start for row in block), 3)
    return Segment(
        start=start,
        end=max(round(max(row.end for row in block), 3), start + 0.001),
        text=text,
        source="frame",
        confidence=round(confidence, 3),
        language=language_of_script(text),
    )
