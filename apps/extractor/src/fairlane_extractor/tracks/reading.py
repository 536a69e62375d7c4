"""Read tracks in their order until one has text."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from fairlane_extractor.languages import language_of_script, short_code
from fairlane_extractor.media import Track
from fairlane_extractor.segments import Segment
from fairlane_extractor.tracks.cues import Cue, checked_cues
from fairlane_extractor.tracks.embedded import read_stream
from fairlane_extractor.tracks.problem import TrackProblem
from fairlane_extractor.tracks.repetition import join_repetitions
from fairlane_extractor.tracks.subtitle_file import read_file

LARGEST_RESULT: Final = 6 * 2**20  # the result of a stage may have 8 MiB


class ReadTrack(Struct, frozen=True, kw_only=True):
    """The text of a track; without a track, no track has text, and the reason says why."""

    track: Track | None = None
    method: str | None = None  # such as "track en"
    segments: tuple[Segment, ...] = ()
    reason: str | None = None  # refused tracks, and repaired or dropped cues


def read_first(
    path: Path, seconds: float | None, tracks: Sequence[Track], note: Callable[[str], None]
) -> ReadTrack:
    """Return the first track with text; `TrackProblem` is raised if one is corrupt and none good.

    A track that is refused is a part of the reason.
    """
    problems: list[TrackProblem] = []
    for track in tracks:
        note(f"reading {method_of(track)}")
        try:
            segments, remark = read_track(path, seconds, track)
        except TrackProblem as problem:
            problems.append(problem)
            continue
        remarks = [*(str(one) for one in problems), *([remark] if remark else [])]
        return ReadTrack(
            track=track, method=method_of(track), segments=segments,
            reason="; ".join(remarks) or None,
        )  # fmt: skip
    for refusal in problems:
        if refusal.code != "empty_track":
            raise refusal
    return ReadTrack(reason="; ".join(str(one) for one in problems))


def read_track(
    path: Path, seconds: float | None, track: Track
) -> tuple[tuple[Segment, ...], str | None]:
    """Return the segments of a track, and a remark on cues that were repaired or dropped."""
    title = method_of(track)
    if track.path is not None:
        found = read_file(Path(track.path), title, language=track.language)
    elif track.stream is not None:
        found = read_stream(path, track.stream, title)
    else:
        raise TrackProblem("empty_track", f"{title} has neither a file nor a stream")
    cues, remark = checked_cues(found, seconds, title)
    segments = tuple(_segment(cue, track) for cue in join_repetitions(cues))
    if len(msgspec.json.encode(segments)) > LARGEST_RESULT:
        raise TrackProblem(
            "corrupt_track",
            f"{title} has {len(segments):,} cues; at most {LARGEST_RESULT // 2**20} MiB of "
            "segments are stored",
        )
    return segments, remark


def method_of(track: Track) -> str:
    """Return the name of a track for its readers, such as "track en (automatic)"."""
    name = short_code(track.language) or track.name or "without a language"
    return f"track {name[:40]}" + (" (automatic)" if track.is_automatic else "")


def _segment(cue: Cue, track: Track) -> Segment:
    return Segment(
        start=cue.start,
        end=cue.end,
        text=cue.text,
        source="subtitle",
        language=short_code(track.language) or language_of_script(cue.text),
    )
