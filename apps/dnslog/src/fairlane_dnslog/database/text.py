"""Text as both databases can store it.

PostgreSQL stores neither NUL characters nor lone surrogates, and both occur in hostile domain
names. Each is replaced by U+FFFD. Every transaction does so with all its values.
"""

import re
from typing import Final

_UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")


def storable(text: str) -> str:
    """Return the text without the characters that a database refuses."""
    if text.isascii() and "\x00" not in text:
        return text
    return _UNSTORABLE.sub("\ufffd", text)


def storable_value(value: object) -> object:
    """Return a value of a statement with its texts made storable."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, list | tuple):
        return [storable_value(one) for one in value]
    return value
