"""Read a subtitle file: beside the media, or downloaded with it."""

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pysubs2

from fairlane_extractor.tracks.cues import Cue, make_cue
from fairlane_extractor.tracks.encodings import decode_text
from fairlane_extractor.tracks.problem import TrackProblem
from fairlane_extractor.tracks.timed_text import is_timed_text, read_timed_text

LARGEST_FILE: Final = 16 * 2**20
_BRACES: Final = re.compile(r"(?<!\\)\{[^{}]*\}")
_TAGS: Final = re.compile(r"(?<!\\)\{\\[^{}]*\}")
_FORMATS: Final = "srt, vtt, ass, ssa, ttml, smi"


def read_file(path: Path, title: str, *, language: str | None = None) -> list[Cue]:
    """Return the cues of a file; `TrackProblem` is raised if it is no subtitle file."""
    text = decode_text(_bytes_of(path, title), language)
    if not text.strip("\0 \t\r\n"):
        raise TrackProblem("empty_track", f"{title} is empty: {path.name}")
    cues = list(read_timed_text(text) if is_timed_text(text) else _read_other(text))
    if not cues and not text.lstrip().startswith("WEBVTT"):
        raise TrackProblem(
            "corrupt_track", f"{title} is no subtitle file: {path.name}; known are {_FORMATS}"
        )
    return cues


def plain_text(text: str, *, has_comments: bool = True) -> str:
    """Return the text of an event of SubStation Alpha, without its tags.

    All braces that are no tag are comments, unless the event was made of another format.
    """
    if pysubs2.SSAEvent(text=text).is_drawing:
        return ""
    text = (_BRACES if has_comments else _TAGS).sub("", text)
    return re.sub(r"\\([Nnh{}])", _escaped_character, text)


def _escaped_character(match: re.Match[str]) -> str:
    return {"N": "\n", "n": "\n", "h": " "}.get(match[1], match[1])


def _bytes_of(path: Path, title: str) -> bytes:
    try:
        # A name beside the media may be a pipe or a device; opening it must not wait.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise TrackProblem("corrupt_track", f"{title} is not a file: {path.name}")
            data = file.read(LARGEST_FILE + 1)
            size = os.fstat(file.fileno()).st_size
    except OSError as error:
        reason = error.strerror or error
        raise TrackProblem("corrupt_track", f"{title} cannot be read: {reason}") from error
    if len(data) > LARGEST_FILE:
        raise TrackProblem(
            "corrupt_track",
            f"{title} has {size / 2**20:,.0f} MiB; a subtitle file has at most "
            f"{LARGEST_FILE // 2**20} MiB",
        )
    return data


def _read_other(text: str) -> Iterator[Cue]:
    """Read a format with a library; a text of no format has no cues."""
    try:
        file = pysubs2.SSAFile.from_string(text)
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001 - its parsers raise many kinds of errors on bad input
        return
    for event in file:
        if not event.is_comment:
            yield make_cue(event.start / 1000, event.end / 1000, plain_text(event.text))
