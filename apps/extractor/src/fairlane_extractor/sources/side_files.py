"""Subtitle files beside a media file: `walk.srt` and `walk.en.vtt` beside `walk.mp4`."""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from fairlane_extractor.media import Track

SUFFIXES: Final = frozenset({".srt", ".vtt", ".ass", ".ssa", ".ttml", ".sub"})
MEDIA_SUFFIXES: Final = frozenset({
    ".3gp", ".aac", ".ac3", ".aiff", ".amr", ".ape", ".asf", ".avi", ".caf", ".dts", ".flac",
    ".flv", ".gif", ".m2ts", ".m4a", ".m4v", ".mka", ".mkv", ".mov", ".mp3", ".mp4", ".mpeg",
    ".mpg", ".mts", ".mxf", ".oga", ".ogg", ".ogv", ".opus", ".rm", ".rmvb", ".ts", ".wav",
    ".webm", ".wma", ".wmv", ".wv",
})  # fmt: skip
MOST: Final = 16
_KINDS: Final = frozenset({"auto", "cc", "default", "forced", "sdh"})
_SCRIPT: Final = r"[-_][a-z]{4}"
_REGION: Final = r"[-_](?:[a-z]{2}|\d{3})"
_LANGUAGE: Final = re.compile(rf"[a-z]{{2,3}}(?:{_SCRIPT})?(?:{_REGION})?", re.IGNORECASE)


def side_tracks(media: Path) -> list[Track]:
    """Return the tracks of the files that have the name of the media, in the order of their names.

    `walk.en.srt` has the language "en"; `walk.forced.srt` has a name and no language. If the
    folder has a `walk.en.mp4` as well, `walk.en.srt` belongs to that one.
    """
    stem = media.stem.casefold()
    files: list[Path] = []
    longer: set[str] = set()
    with os.scandir(media.parent) as entries:
        for entry in entries:
            path = Path(entry.path)
            name = path.stem.casefold()
            if name != stem and not name.startswith(f"{stem}."):
                continue
            suffix = path.suffix.casefold()
            if suffix in SUFFIXES and entry.is_file():
                files.append(path)
            elif suffix in MEDIA_SUFFIXES and name != stem and entry.is_file():
                longer.add(name)
    tracks = (_track_of(path, stem, longer) for path in sorted(files))
    return [track for track in tracks if track is not None][:MOST]


def _track_of(path: Path, stem: str, longer: set[str]) -> Track | None:
    """Return the track of a file, unless it is one of a media with another name."""
    parts = path.stem.split(".")
    count = stem.count(".") + 1
    language, kinds = _meaning(parts[count:])
    names = (".".join(parts[:end]).casefold() for end in range(count + 1, len(parts) + 1))
    if len(parts) - count != len(kinds) + (language is not None) or any(
        name in longer for name in names
    ):
        return None
    return Track(
        language=language.replace("_", "-") if language else None,
        name=" ".join(kinds) or None,
        path=str(path),
        format=path.suffix[1:].casefold(),
        is_automatic=any(kind.casefold() == "auto" for kind in kinds),
    )


def _meaning(words: Sequence[str]) -> tuple[str | None, list[str]]:
    """Return the language and the kinds among the words between the name and the suffix."""
    kinds = [word for word in words if word.casefold() in _KINDS]
    others = (word for word in words if word.casefold() not in _KINDS)
    return next((word for word in others if _LANGUAGE.fullmatch(word)), None), kinds
