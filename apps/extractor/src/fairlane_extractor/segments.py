"""Pieces of text with their times, and the record of how each branch of an extraction ended."""

from typing import Literal

from msgspec import Struct

Source = Literal["subtitle", "speech", "frame"]
BranchName = Literal["subtitle", "asr", "ocr", "merging"]
BranchStatus = Literal["used", "skipped", "failed"]


class Segment(Struct, frozen=True, kw_only=True):
    """A piece of text that one recogniser or track found."""

    start: float  # seconds from the begin of the media
    end: float
    text: str
    source: Source
    confidence: float | None = None  # from 0 to 1; None where the source has no measure
    language: str | None = None  # such as "en" or "zh"


class Line(Struct, frozen=True, kw_only=True):
    """A line of the merged result; `sources` are all that agree on its text."""

    start: float
    end: float
    text: str
    sources: tuple[Source, ...]
    confidence: float | None = None
    language: str | None = None
    paragraph: int = 0  # lines of one paragraph have one number


class Branch(Struct, frozen=True, kw_only=True):
    """How one branch ended: by which method, or why it was skipped or failed."""

    name: BranchName
    status: BranchStatus
    method: str | None = None  # such as "moonshine", "pocketsphinx", "rapidocr", "track en"
    segments: int = 0
    code: str | None = None  # a stable word for the reason, such as "no_audio", "out_of_memory"
    reason: str | None = None  # the same in a sentence


class BranchResult(Struct, frozen=True, kw_only=True):
    """The stored result of a stage that extracts text."""

    branch: Branch
    segments: tuple[Segment, ...] = ()
