"""Read a subtitle stream inside a media."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Final

import av
from av.container import InputContainer
from av.subtitles.stream import SubtitleStream
from av.subtitles.subtitle import AssSubtitle
from msgspec.structs import replace

from fairlane_extractor.sources.containers import open_media
from fairlane_extractor.tracks.cues import MOST_CUES, Cue, make_cue
from fairlane_extractor.tracks.problem import TrackProblem
from fairlane_extractor.tracks.subtitle_file import plain_text

FIELDS_BEFORE_TEXT: Final = 8  # of an event as FFmpeg gives it
LONGEST_CUE_SECONDS: Final = 10.0  # of a cue without an end


def read_stream(path: Path, index: int, title: str) -> list[Cue]:
    """Return the cues of a stream; `TrackProblem` is raised if it cannot be decoded."""
    try:
        with open_media(path) as media:
            return _with_ends(list(_read(media, index, title)))
    except MemoryError:
        raise
    except (av.FFmpegError, OSError) as error:
        raise TrackProblem("corrupt_track", f"{title} cannot be decoded: {error}") from error


def _read(media: InputContainer, index: int, title: str) -> Iterator[Cue]:
    stream = media.streams[index] if index < len(media.streams) else None
    if not isinstance(stream, SubtitleStream):
        raise TrackProblem("corrupt_track", f"{title} is not there: stream {index} is no subtitle")
    has_comments = stream.codec_context.name in ("ass", "ssa")
    pictures = texts = 0
    for packet in media.demux(stream):
        if packet.pts is None or not packet.size:
            continue
        start = float(packet.pts * packet.time_base)
        end = start + float((packet.duration or 0) * packet.time_base)
        decoded = stream.decode2(packet)
        for piece in decoded or ():
            if isinstance(piece, AssSubtitle):
                texts += 1
                yield make_cue(start, end, _text(piece, has_comments=has_comments))
            else:
                pictures += 1
        if texts > MOST_CUES:
            break  # the check of the cues refuses the track
    if pictures and not texts:
        raise TrackProblem("empty_track", f"{title} consists of pictures, not of text")


def _text(piece: AssSubtitle, *, has_comments: bool) -> str:
    event = piece.ass.decode("utf-8", "replace")
    if not event:
        return piece.text.decode("utf-8", "replace")
    fields = event.split(",", FIELDS_BEFORE_TEXT)
    if len(fields) <= FIELDS_BEFORE_TEXT:
        return ""
    return plain_text(fields[-1], has_comments=has_comments)


def _with_ends(cues: list[Cue]) -> list[Cue]:
    """End a cue without a length when the next one begins."""
    ended = []
    last = Cue(float("inf"), float("inf"), ())
    for cue, following in pairwise([*cues, last]):
        if cue.end == cue.start:
            end = min(following.start, cue.start + LONGEST_CUE_SECONDS)
            ended.append(replace(cue, end=end))
        else:
            ended.append(cue)
    return ended
