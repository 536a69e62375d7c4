"""The sources of media. A new source is one file here, and an entry in `SOURCES`."""

import re
from collections.abc import Iterable
from typing import Final

from fairlane import Permanent
from fairlane_archiver.sources.feed import Feed
from fairlane_archiver.sources.gallery import Gallery
from fairlane_archiver.sources.mastodon import Mastodon
from fairlane_archiver.sources.protocol import Source

# The first source that recognises an address is used.
SOURCES: Final[tuple[Source, ...]] = (Mastodon(), Feed(), Gallery())
_LOGIN: Final = re.compile(r"://[^/?#]*@")
_UNREAD: Final = dict.fromkeys(map(ord, "\t\r\n"))


def recognise_account(text: str) -> tuple[str, Source]:
    """Return the canonical name of an account, and its source."""
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
    raise Permanent(f"{shown!r} is not an account; {advice}", code="unknown_account")


def refuse_login(text: str) -> str:
    """Refuse a user name and password before a host, because all users see the account."""
    # URL parsers ignore tabs and line ends, so they are removed before the check.
    # The text is not repeated in the message, which is logged.
    if _LOGIN.search(text.translate(_UNREAD)):
        raise Permanent(
            "the address of an account may have no name and password before its host, because "
            "every user of the console sees it; leave them out",
            code="login_in_address",
        )
    return text


def canonical_name(text: str) -> str:
    """Return the canonical name of an account."""
    return recognise_account(text)[0]


def canonical_names(texts: Iterable[str] | None) -> list[str]:
    return [canonical_name(text) for text in texts or ()]
