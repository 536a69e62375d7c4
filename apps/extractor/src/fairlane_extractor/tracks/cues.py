"""Cues: pieces of a track with their times, and the repair of bad times."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from fairlane_extractor.characters import flat
from fairlane_extractor.tracks.problem import TrackProblem

MOST_CUES: Final = 200_000
SLACK_SECONDS: Final = 2.0  # cues may begin a little after the end of the media
REPAIRED_SECONDS: Final = 2.0  # the length of a cue that ends before it begins


class Cue(Struct, frozen=True):
    """A piece of text as a track has it; its rows are separate lines of the picture."""

    start: float
    end: float
    rows: tuple[str, ...]

    @property
    def text(self) -> str:
        return flat("\n".join(self.rows))


def make_cue(start: float, end: float, text: str) -> Cue:
    """Return a cue with clean rows; one without text has no rows."""
    rows = (flat(row) for row in text.splitlines())
    return Cue(round(start, 3), round(end, 3), tuple(row for row in rows if row))


def checked_cues(
    found: Iterable[Cue], seconds: float | None, title: str
) -> tuple[list[Cue], str | None]:
    """Return the cues in the order of time, with sound times, and a remark on bad ones.

    A few bad cues are the fault of an editor; if most are bad, the track belongs to another media.
    """
    cues = [cue for cue in found if cue.rows]
    if not cues:
        raise TrackProblem("empty_track", f"{title} has no text")
    if len(cues) > MOST_CUES:
        raise TrackProblem(
            "corrupt_track", f"{title} has {len(cues):,} cues; at most {MOST_CUES:,} are read"
        )
    last = float("inf") if seconds is None else seconds + SLACK_SECONDS
    inside = sorted((cue for cue in cues if 0 <= cue.start <= last), key=lambda cue: cue.start)
    outside = len(cues) - len(inside)
    backward = sum(cue.end <= cue.start for cue in inside)
    if outside + backward > len(cues) / 2:
        raise TrackProblem("corrupt_track", _bad_times(title, len(cues), outside, backward))
    remark = None
    if outside or backward:
        remark = f"{_bad_times(title, len(cues), outside, backward)}; the rest is used"
    return _bounded(_repaired(inside), seconds), remark


def _bad_times(title: str, count: int, outside: int, backward: int) -> str:
    parts = [f"{outside} lie outside of the media"] if outside else []
    parts += [f"{backward} end before they begin"] if backward else []
    return f"{title} has bad times: of {count} cues, {' and '.join(parts)}"


def _repaired(cues: Sequence[Cue]) -> list[Cue]:
    """End each backward cue after two seconds, or when the next one begins."""
    repaired = []
    for cue, following in pairwise([*cues, Cue(float("inf"), float("inf"), ())]):
        if cue.end <= cue.start:
            end = min(cue.start + REPAIRED_SECONDS, following.start)
            cue = replace(cue, end=end if end > cue.start else cue.start + REPAIRED_SECONDS)
        repaired.append(cue)
    return repaired


def _bounded(cues: Sequence[Cue], seconds: float | None) -> list[Cue]:
    if seconds is None:
        return list(cues)
    return [
        replace(cue, end=max(seconds, cue.start + 0.001)) if cue.end > seconds else cue
        for cue in cues
    ]
