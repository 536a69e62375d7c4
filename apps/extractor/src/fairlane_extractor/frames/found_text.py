"""The answer of the child: the text on the frames of one video."""

from msgspec import Struct

from fairlane_extractor.segments import Segment


class FoundText(Struct, frozen=True, kw_only=True):
    has_video: bool = True
    segments: tuple[Segment, ...] = ()
    reason: str | None = None  # damaged frames, or text beyond the bound
    sampled: int = 0  # frames that were compared
    read: int = 0  # frames on which text was searched
    recognised: int = 0  # rows whose characters were read
