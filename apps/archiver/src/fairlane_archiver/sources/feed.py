"""RSS and Atom feeds: the enclosures of their entries, such as podcasts and picture blogs."""

import re
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import msgspec

from fairlane import Permanent
from fairlane_archiver.filters import Filters
from fairlane_archiver.posts import Page, ParsedPage
from fairlane_archiver.sources.protocol import Tools
from fairlane_archiver.web_client import Answer

MOST_PAGES: Final = 1_000
# The largest accepted feed, 16 MiB, needs a quarter of either limit.
MOST_BYTES: Final = 768 * 1024 * 1024
MOST_SECONDS: Final = 60
# Run as a file, so that it imports little.
_CHILD: Final = str(Path(__file__).with_name("feed_child.py"))
_LOOKS_LIKE_ONE: Final = re.compile(
    r"(\.(rss|atom|xml|rdf)|/(feed|feeds|rss|atom)(/[^/]*)?)/?$", re.IGNORECASE
)
_HOST_OF_FEEDS: Final = re.compile(r"(feeds?|rss)\.", re.IGNORECASE)
_ASKS_FOR_ONE: Final = re.compile(
    r"(^|&)((feed|format|type|output)=(rss2?|atom|rdf|feed)|feed=)", re.IGNORECASE
)


class Feed:
    name = "feed"
    is_ordered = False

    def check(self) -> None:
        pass

    def recognise(self, text: str) -> str | None:
        """Accept `feed:` with any address, and addresses that look like feeds."""
        url = text.removeprefix("feed:")
        try:
            place = urlsplit(url)
            _ = place.port
        except ValueError:  # no host, or a port that is not a number: possibly a part of a password
            return None
        if place.scheme not in ("http", "https") or not place.netloc:
            return None
        plain = place._replace(netloc=place.netloc.lower(), fragment="").geturl()
        if (
            _LOOKS_LIKE_ONE.search(place.path)
            or _HOST_OF_FEEDS.match(place.netloc)
            or _ASKS_FOR_ONE.search(place.query)
        ):
            return plain
        return f"feed:{plain}" if text != url else None

    async def pages(
        self,
        account: str,
        *,
        cursor: str | None,
        floor: str | None,  # noqa: ARG002 - a feed is short, and what is saved is skipped
        filters: Filters,  # noqa: ARG002
        tools: Tools,
    ) -> AsyncGenerator[Page, None]:
        url = cursor or account.removeprefix("feed:")
        seen: set[str] = set()
        while len(seen) < MOST_PAGES:
            seen.add(url)
            page = await _page(await tools.web.read(url), url, tools)
            following = None if page.next in seen else page.next
            yield Page(posts=page.posts, next=following)
            if following is None:
                return
            url = following


async def _page(answer: Answer, url: str, tools: Tools) -> Page:
    """Parse a feed in a child process with limits, which ends with the job."""
    pieces: list[str] = []
    argv = [
        sys.executable, "-P", _CHILD, str(MOST_BYTES), str(MOST_SECONDS),
        answer.headers.get("Content-Type", ""), answer.url,
    ]  # fmt: skip
    finished = await tools.run(argv, input=answer.body, on_stdout=pieces.append, check=False)
    if finished.returncode != 0:
        raise Permanent(
            f"{url[:200]} cannot be read as a feed: it takes more than {MOST_BYTES >> 20} MiB of "
            f"memory or {MOST_SECONDS} s",
            code="source",
        )
    read = msgspec.json.decode("".join(pieces), type=ParsedPage)
    if read.page is None:
        raise Permanent(f"{url[:200]} {read.trouble}", code="source")
    return read.page
