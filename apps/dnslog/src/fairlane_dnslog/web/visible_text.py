"""Names from the network, made visible: no character may hide, move or imitate others.

Templates escape markup by themselves; these functions show the characters that HTML leaves
invisible, and both forms of an internationalised name.
"""

import unicodedata
from functools import lru_cache
from typing import Final

from markupsafe import Markup, escape

LONGEST_LABEL: Final = 63
LONGEST_NAME: Final = 1100
_INVISIBLE: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_DOTS: Final = frozenset(".\u3002\uff0e\uff61")
_BLANK: Final = frozenset("\u115f\u1160\u2800\u3164\uffa0")  # letters without a picture


def visible(text: str) -> Markup:
    """Return a text in which control characters, bidirectional marks and odd spaces are shown."""
    parts = [_visible_character(character) for character in text[:LONGEST_NAME]]
    return Markup("<bdi>{}</bdi>").format(Markup("").join(parts))


def visible_lines(text: str) -> Markup:
    """Return a text of several lines, each made visible."""
    return Markup("\n").join(visible(line) for line in text.split("\n"))


def plain(text: str) -> str:
    """Return a text for an attribute or a sentence, with the same characters spelled out."""
    return "".join(
        f"U+{ord(character):04X}" if _is_odd(character) else character
        for character in text[:LONGEST_NAME]
    )


@lru_cache(maxsize=4096)
def domain_name(name: str) -> Markup:
    """Return a domain name; an internationalised one in both forms."""
    readable = decoded(name)
    if readable is None:
        return visible(name)
    return Markup('{} <span class="punycode">{}</span>').format(visible(readable), visible(name))


def decoded(name: str) -> str | None:
    """Return the readable form of a name with punycode labels, or None if there is none."""
    labels = name.split(".")
    readable = [_decoded_label(label) for label in labels]
    return None if readable == labels else ".".join(readable)


def _decoded_label(label: str) -> str:
    if len(label) > LONGEST_LABEL or not label.lower().startswith("xn--"):
        return label
    try:
        found = label[4:].encode("ascii").decode("punycode")
    except (UnicodeError, OverflowError, ValueError):
        return label
    # A name without a foreign character or with a dot of any script is an imitation.
    return label if not found or found.isascii() or _DOTS & set(found) else found


def _visible_character(character: str) -> Markup:
    if _is_odd(character):
        return Markup('<span class="odd">U+{:04X}</span>').format(ord(character))
    return escape(character)


def _is_odd(character: str) -> bool:
    category = unicodedata.category(character)
    is_space = category == "Zs" and character != " "
    return category in _INVISIBLE or is_space or character in _BLANK
