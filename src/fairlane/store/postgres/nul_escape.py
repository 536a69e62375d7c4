"""PostgreSQL stores every character but one, and what people print holds that one too."""

from typing import Final

_MARK: Final = "\x1a"  # "substitute": rare, and made for this


def escaped(text: str) -> str:
    """Return a text without NUL, from which `plain` makes the same again."""
    if "\x00" in text or _MARK in text:
        return text.replace(_MARK, f"{_MARK}1").replace("\x00", f"{_MARK}0")
    return text


def plain(text: str) -> str:
    if _MARK in text:
        return text.replace(f"{_MARK}0", "\x00").replace(f"{_MARK}1", _MARK)
    return text
