"""Texts that people type, with a bound."""

import unicodedata

from fairlane_dnslog.rules.errors import InvalidRule

# Control, format (bidirectional overrides among them), surrogate, and line and paragraph separators
_REFUSED = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_JOINERS = "\u200c\u200d"  # parts of words in some scripts, and of emoji


def checked_text(field: str, text: str, *, longest: int) -> str:
    """Return the text without space around it; refuse an empty, long or unprintable one."""
    if len(text) > longest:
        raise InvalidRule(field, f"got {len(text)} characters, expected at most {longest}")
    for character in text:
        if unicodedata.category(character) in _REFUSED and character not in _JOINERS:
            raise InvalidRule(
                field, f"got {text!r}, expected one line without control characters; remove "
                f"{character!r}"
            )  # fmt: skip
    stripped = text.strip()
    if not stripped:
        raise InvalidRule(field, "got an empty text, expected at least one character")
    return stripped
