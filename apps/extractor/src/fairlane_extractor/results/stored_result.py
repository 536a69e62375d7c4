"""A stored result, and its views in a list and in a search."""

from msgspec import Struct

from fairlane_extractor.segments import Branch, Line


class StoredResult(Struct, frozen=True, kw_only=True):
    """The text of one extraction; its id is that of the job."""

    id: str
    input: str
    platform: str
    title: str
    seconds: float | None = None
    language: str | None = None
    media_path: str | None = None  # None once the media is removed
    created_at: float  # seconds since 1970
    branches: tuple[Branch, ...] = ()
    lines: tuple[Line, ...] = ()


class ResultSummary(Struct, frozen=True, kw_only=True):
    """A result in a list: `lines` is their number."""

    id: str
    input: str
    platform: str
    title: str
    seconds: float | None
    language: str | None
    media_path: str | None
    created_at: float
    lines: int


class ResultPage(Struct, frozen=True):
    items: tuple[ResultSummary, ...]
    next: str | None  # the cursor of the next page


class Part(Struct, frozen=True):
    """A piece of a found text: the parts of a hit together are its text."""

    text: str
    is_match: bool


class Hit(Struct, frozen=True, kw_only=True):
    """A passage with all words of a query, represented by its best line.

    `line` is the index in the lines of the result, and None if the title was found. `text` is the
    part of a long line that is around the match.
    """

    id: str
    title: str
    platform: str
    line: int | None
    start: float
    text: str
    parts: tuple[Part, ...]


class HitPage(Struct, frozen=True):
    items: tuple[Hit, ...]
    next: str | None
