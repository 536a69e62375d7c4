"""Kinds of characters: those that no text of a result needs, and scripts without spaces."""

import re
from collections.abc import Iterable
from typing import Final

_CONTROLS: Final = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f\x80-\x84\x86-\x9f\ud800-\udfff\ufeff\ufff9-\ufffb]"
)
_UNSPACED: Final = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Burmese
    (0x1100, 0x11FF),  # Korean letters
    (0x1780, 0x17FF),  # Khmer
    (0x3040, 0x31FF),  # Japanese syllables, Chinese phonetic letters
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),  # Chinese characters
    (0xA960, 0xA97F),
    (0xAC00, 0xD7FF),  # Korean syllables
    (0xF900, 0xFAFF),
    (0x20000, 0x3FFFF),
)
_KOREAN: Final = ((0x1100, 0x11FF), (0xA960, 0xA97F), (0xAC00, 0xD7FF))
_WIDE_PUNCTUATION: Final = frozenset("，。！？；：、）】》」』”’…（【《「『“‘—～·")


def is_unspaced(char: str) -> bool:
    """Return whether a character is of a script whose words are not found by their spaces."""
    return _is_in(char, _UNSPACED)


def without_controls(text: str) -> str:
    """Return a text without control characters and halves of characters; line breaks stay."""
    return text if text.isascii() and text.isprintable() else _CONTROLS.sub("", text)


def flat(text: str) -> str:
    """Return a text on one line, without control characters and halves of characters."""
    return join_texts(without_controls(text).splitlines())


def join_texts(texts: Iterable[str]) -> str:
    """Join pieces of text with spaces, and without them in scripts that write none."""
    joined = ""
    for text in texts:
        piece = " ".join(text.split())
        if joined and piece and not _touches(joined[-1], piece[0]):
            joined += " "
        joined += piece
    return joined


def _touches(before: str, after: str) -> bool:
    return _has_no_space(before) and _has_no_space(after)


def _has_no_space(char: str) -> bool:
    return char in _WIDE_PUNCTUATION or (is_unspaced(char) and not _is_in(char, _KOREAN))


def _is_in(char: str, ranges: Iterable[tuple[int, int]]) -> bool:
    code = ord(char)
    return code >= 0x0E00 and any(first <= code <= last for first, last in ranges)
