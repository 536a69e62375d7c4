"""Texts of sites: on one line, and without half characters, which no database stores."""

import re
from typing import Any, Final

from fairlane_extractor.characters import without_controls

TITLE_CHARACTERS: Final = 300
_HALVES: Final = re.compile("[\ud800-\udfff]")
_REPLACEMENT: Final = "\ufffd"
# They change the direction of the text around a title.
_DIRECTIONS: Final = re.compile("[\u202a-\u202e\u2066-\u2069]")


def with_whole_characters(value: Any) -> Any:
    """Return a description of yt-dlp in which the halves of characters are replaced."""
    if isinstance(value, str):
        return _HALVES.sub(_REPLACEMENT, value)
    if isinstance(value, dict):
        return {
            with_whole_characters(key): with_whole_characters(one) for key, one in value.items()
        }
    if isinstance(value, list):
        return [with_whole_characters(one) for one in value]
    return value


def title_of(text: str) -> str:
    """Return the title of a media on one line, without characters that control the line."""
    visible = _DIRECTIONS.sub("", without_controls(_HALVES.sub(_REPLACEMENT, text)))
    return " ".join(visible.split())


def printable(text: str) -> str:
    """Return a message with signs in place of characters that a terminal would execute."""
    return "".join(char if char.isprintable() else _REPLACEMENT for char in text)
