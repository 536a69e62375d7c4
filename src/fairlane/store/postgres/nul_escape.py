"""An escape for NUL, which PostgreSQL cannot store and which log lines may contain."""

from typing import Final

_MARK: Final = "\x1a"  # the control character "substitute", which is rare


def escaped(text: str) -> str:
    """Return a text without NUL; `plain` restores the original."""
    if "\x00" in text or _MARK in text:
        return text.replace(_MARK, f"{_MARK}1").replace("\x00", f"{_MARK}0")
    return text


def plain(text: str) -> str:
    if _MARK in text:
        return text.replace(f"{_MARK}0", "\x00").replace(f"{_MARK}1", _MARK)
    return text
