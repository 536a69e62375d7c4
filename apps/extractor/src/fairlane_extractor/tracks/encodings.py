"""Decode the bytes of a subtitle file, whose encoding no field names.

UTF-8 and UTF-16 are recognised with certainty. Of the older encodings, nearly every sequence of
bytes is a text in several, so the one whose text has the most usual characters is right. The
language of the track comes first, where it is known.
"""

import codecs
from collections.abc import Callable
from typing import Final

from fairlane_extractor.languages import short_code

_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_OF_LANGUAGE: Final = {
    "zh": ("gb18030", "big5hkscs"), "ja": ("cp932",), "ko": ("cp949",), "ru": ("cp1251",),
    "uk": ("cp1251",), "el": ("cp1253",), "tr": ("cp1254",), "he": ("cp1255",), "ar": ("cp1256",),
    "th": ("cp874",), "pl": ("cp1250",), "cs": ("cp1250",), "hu": ("cp1250",),
}  # fmt: skip
REPLACEMENT: Final = "\ufffd"  # stands for bytes that are no character
_DAMAGED_SHARE: Final = 0.1
_USUAL_SHARE: Final = 0.8
_SAMPLE: Final = 20_000  # characters that are judged


def decode_text(data: bytes, language: str | None = None) -> str:
    """Return the text of a file in any usual encoding."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace")
    if wide := _utf16_without_mark(data):
        return data.decode(wide, "replace")
    text = data.decode("utf-8", "replace")
    if _share(text, lambda char: char == REPLACEMENT) < _DAMAGED_SHARE:
        return text
    return _decode_older(data, language)


def _utf16_without_mark(data: bytes) -> str | None:
    """Recognise UTF-16 by its zero bytes: digits and line ends have one in each pair."""
    sample = data[:4096]
    for encoding, zeros in (("utf-16-le", sample[1::2]), ("utf-16-be", sample[::2])):
        if zeros.count(0) > len(sample) // 8:
            return encoding
    return None


def _decode_older(data: bytes, language: str | None) -> str:
    for encoding in _OF_LANGUAGE.get(short_code(language) or "", ()):
        text = data.decode(encoding, "replace")
        if encoding != "gb18030" or _share(text, _is_chinese) > _USUAL_SHARE:
            return text
    best, best_share = "", _USUAL_SHARE
    for encoding, is_usual, fewest in _CANDIDATES:
        text = data.decode(encoding, "replace")
        if (share := _share(text, is_usual, fewest)) > best_share:
            best, best_share = text, share
    return best or data.decode("cp1252", "replace")


def _share(text: str, is_usual: Callable[[str], bool], fewest: int = 1) -> float:
    """Return the share of usual characters, of those outside of ASCII."""
    foreign = [char for char in text[:_SAMPLE] if char > "\x7f"]
    return sum(map(is_usual, foreign)) / len(foreign) if len(foreign) >= fewest else 0.0


def _is_chinese(char: str) -> bool:
    """Return whether a character is one of the 3,755 most usual of China, or punctuation."""
    return _is_wide_sign(char) or _lead_byte(char, "gb2312") in range(0xB0, 0xD8)


def _is_traditional(char: str) -> bool:
    return _is_wide_sign(char) or _lead_byte(char, "big5") in range(0xA4, 0xC7)


def _is_japanese(char: str) -> bool:
    is_syllable = "\u3040" <= char <= "\u30ff"
    return _is_wide_sign(char) or is_syllable or _lead_byte(char, "shift_jis") in range(0x88, 0x98)


def _is_korean(char: str) -> bool:
    return "\uac00" <= char <= "\ud7a3"


def _is_wide_sign(char: str) -> bool:
    return "\u3000" <= char <= "\u303f" or "\uff00" <= char <= "\uff5e" or char in "“”‘’…—·"


def _lead_byte(char: str, encoding: str) -> int:
    data = char.encode(encoding, "ignore")
    return data[0] if len(data) == 2 else 0


# Korean bytes are usual Chinese ones as well, but a long Chinese text has others too.
_CANDIDATES: Final = (
    ("cp949", _is_korean, 20),
    ("gb18030", _is_chinese, 1),
    ("big5hkscs", _is_traditional, 1),
    ("cp932", _is_japanese, 1),
)
