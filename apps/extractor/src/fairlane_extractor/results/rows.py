"""Rows of both databases: a result as values, and values as results and pages."""

from collections.abc import Sequence
from typing import Any

import msgspec

from fairlane import BadSetting
from fairlane_extractor.characters import without_controls
from fairlane_extractor.results.cursors import encode_cursor
from fairlane_extractor.results.passages import (
    LONGEST_EXCERPT,
    best_line,
    decode_passage,
    highlighted,
)
from fairlane_extractor.results.protocol import LARGEST_PAGE
from fairlane_extractor.results.search_words import Term
from fairlane_extractor.results.stored_result import (
    Hit,
    HitPage,
    ResultPage,
    ResultSummary,
    StoredResult,
)

Row = Sequence[Any]

RESULT_COLUMNS = "id, created_at, input, platform, title, seconds, language, media_path, lines"


def storable(result: StoredResult) -> StoredResult:
    """Return a result whose texts every database can store: hostile media has NUL characters and
    halves of characters."""
    return msgspec.convert(_storable(msgspec.to_builtins(result)), StoredResult)


def _storable(value: Any) -> Any:
    if isinstance(value, str):
        return without_controls(value)
    if isinstance(value, list | tuple):
        return [_storable(one) for one in value]
    if isinstance(value, dict):
        return {name: _storable(one) for name, one in value.items()}
    return value


def result_row(result: StoredResult) -> tuple[Any, ...]:
    """Return the values of `RESULT_COLUMNS` and the body."""
    return (
        result.id, result.created_at, result.input, result.platform, result.title, result.seconds,
        result.language, result.media_path, len(result.lines),
        msgspec.json.encode(result).decode(),
    )  # fmt: skip


def decode_result(body: str) -> StoredResult:
    return msgspec.json.decode(body, type=StoredResult)


def checked_limit(limit: int) -> int:
    if limit < 1:
        raise BadSetting(f"the limit of a page is {limit}; expected 1 to {LARGEST_PAGE}")
    return min(limit, LARGEST_PAGE)


def result_page(rows: Sequence[Row], limit: int) -> ResultPage:
    """Return a page of rows with `RESULT_COLUMNS`, of which one more than the limit was read."""
    items = tuple(map(summary, rows[:limit]))
    last = (items[-1].created_at, items[-1].id) if len(rows) > limit else None
    return ResultPage(items, encode_cursor(last) if last else None)


def summary(row: Row) -> ResultSummary:
    """Return a row of `RESULT_COLUMNS`."""
    return ResultSummary(**dict(zip(RESULT_COLUMNS.split(", "), row, strict=True)))


def hit_page(rows: Sequence[Row], terms: Sequence[Term], limit: int) -> HitPage:
    """Return a page of rows with the id and the lines of a passage, and the id, the title and the
    platform of its result."""
    hits = tuple(_hit(row, terms) for row in rows[:limit])
    return HitPage(hits, encode_cursor(rows[limit - 1][0]) if len(rows) > limit else None)


def _hit(row: Row, terms: Sequence[Term]) -> Hit:
    _, lines, result_id, title, platform = row
    line = best_line(decode_passage(lines), terms)
    parts = highlighted(line.text, terms)
    return Hit(
        id=result_id, title=title[:LONGEST_EXCERPT], platform=platform, line=line.index,
        start=line.start, text="".join(part.text for part in parts), parts=parts,
    )  # fmt: skip
