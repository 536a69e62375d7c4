"""Subtitle files beside a media file: `walk.srt` and `walk.en.vtt` beside `walk.mp4`."""

import os
import re
from pathlib import Path
from typing import Final

from fairlane_extractor.media import Track

SUFFIXES: Final = frozenset({".srt", ".vtt", ".ass", ".ssa", ".ttml", ".sub"})
MOST: Final = 16
_LANGUAGE: Final = re.compile(r"[a-z]{2,3}([-_][a-z0-9]{1,8}){0,2}", re.IGNORECASE)


def side_tracks(media: Path) -> list[Track]:
    """Return the tracks of the files that have the name of the media, in the order of their names.

    `walk.en.srt` has the language "en"; `walk.forced.srt` has a name and no language.
    """
    stem = media.stem.casefold()
    found: list[Path] = []
    with os.scandir(media.parent) as entries:
        for entry in entries:
            path = Path(entry.path)
            if path.suffix.casefold() in SUFFIXES and entry.is_file():
                name = path.stem.casefold()
                if name == stem or name.startswith(f"{stem}."):
                    found.append(path)
    return [_track_of(path, stem) for path in sorted(found)[:MOST]]


def _track_of(path: Path, stem: str) -> Track:
    words = [word for word in path.stem[len(stem) :].split(".") if word]
    language = next((word for word in words if _LANGUAGE.fullmatch(word)), None)
    labels = [word for word in words if word != language]
    return Track(
        language=language.replace("_", "-") if language else None,
        name=" ".join(labels) or None,
        path=str(path),
        format=path.suffix[1:].casefold(),
        is_automatic="auto" in labels,
    )
