"""Codes of languages: one short form of each, and the language that a script stands for."""

from typing import Final

_SHORT: Final = {
    "ara": "ar", "ces": "cs", "chi": "zh", "cmn": "zh", "cze": "cs", "dan": "da", "deu": "de",
    "dut": "nl", "ell": "el", "eng": "en", "fin": "fi", "fra": "fr", "fre": "fr", "ger": "de",
    "gre": "el", "heb": "he", "hin": "hi", "hun": "hu", "ind": "id", "ita": "it", "jpn": "ja",
    "kor": "ko", "nld": "nl", "nor": "no", "pol": "pl", "por": "pt", "ron": "ro", "rum": "ro",
    "rus": "ru", "spa": "es", "swe": "sv", "tha": "th", "tur": "tr", "ukr": "uk", "vie": "vi",
    "yue": "zh", "zho": "zh",
}  # fmt: skip
_UNKNOWN: Final = frozenset({"", "und", "unknown", "mul", "mis", "zxx", "none"})
_NAMED_BY_SCRIPT: Final = (
    ("ja", (("\u3040", "\u30ff"), ("\u31f0", "\u31ff"))),
    ("ko", (("\u1100", "\u11ff"), ("\uac00", "\ud7af"))),
    ("th", (("\u0e00", "\u0e7f"),)),
    ("zh", (("\u3400", "\u4dbf"), ("\u4e00", "\u9fff"), ("\U00020000", "\U0003ffff"))),
)


def short_code(code: str | None) -> str | None:
    """Return the two letters of a code such as "eng", "zh-Hans" or "pt_BR"; None if unknown."""
    first = (code or "").replace("_", "-").partition("-")[0].strip().lower()
    return None if first in _UNKNOWN else _SHORT.get(first, first)


def language_of_script(text: str) -> str | None:
    """Return the language whose script a text has, and None for scripts of many languages.

    A text with Japanese syllables is Japanese, however many Chinese characters it has.
    """
    for language, ranges in _NAMED_BY_SCRIPT:
        if any(first <= char <= last for char in text for first, last in ranges):
            return language
    return None
