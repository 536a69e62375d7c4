"""Where media come from. A new source is one file here, and its name in `SOURCES`."""

import re
from collections.abc import Iterable
from typing import Final

from fairlane import Permanent
from fairlane_archiver.sources.feed import Feed
from fairlane_archiver.sources.gallery import Gallery
from fairlane_archiver.sources.mastodon import Mastodon
from fairlane_archiver.sources.protocol import Source

# The first that recognises an address has it.
SOURCES: Final[tuple[Source, ...]] = (Mastodon(), Feed(), Gallery())
_LOGIN: Final = re.compile(r"://[^/?#]*@")
_UNREAD: Final = dict.fromkeys(map(ord, "\t\r\n"))


def recognised(text: str) -> tuple[str, Source]:
    """Return the one name of the account that a text means, and its source."""
    wanted = text.strip()
    for source in SOURCES:
        account = source.recognise(wanted)
        if account is not None:
            return account, source
    shown = wanted[:200]
    if wanted.startswith(("http://", "https://")):
        advice = (
            f"if it is a feed, give feed:{shown}; of a page that gallery-dl knows, "
            f"gallery:{shown} (else give @name@host, or the address of a profile)"
        )
    else:
        advice = (
            "give @name@host, the address of a profile or of a feed, or gallery: and any address "
            "that gallery-dl knows"
        )
    raise Permanent(f"{shown!r} is no account; {advice}", code="unknown_account")


def without_login(text: str) -> str:
    """Refuse a name and password before a host: a row is named after its account."""
    # As addresses are read: without tabs and ends of lines, wherever they are.
    if _LOGIN.search(text.translate(_UNREAD)):  # not repeated here: what is refused is logged, too
        raise Permanent(
            "the address of an account may have no name and password before its host, because a "
            "row is named after it, and shown to everybody who may look; leave them out",
            code="login_in_address",
        )
    return text


def canonical(text: str) -> str:
    """Return the one name of an account, however it is written."""
    return recognised(text)[0]


def canonicals(texts: Iterable[str] | None) -> list[str]:
    return [canonical(text) for text in texts or ()]
