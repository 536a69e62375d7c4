"""RSS and Atom: whatever hangs on the entries of a feed, podcasts and picture blogs alike."""

import asyncio
import re
from calendar import timegm
from collections.abc import AsyncGenerator, Iterator, Mapping
from datetime import UTC, datetime
from io import BytesIO
from typing import Any, Final
from urllib.parse import urljoin, urlsplit

from fairlane import Permanent
from fairlane_archiver.filters import Filters
from fairlane_archiver.names import extension_of, name_in
from fairlane_archiver.posts import Media, Page, Post, key_of, kind_by
from fairlane_archiver.sources.protocol import Tools
from fairlane_archiver.web import Answer

MOST_PAGES: Final = 1_000
_LOOKS_LIKE_ONE: Final = re.compile(
    r"(\.(rss|atom|xml|rdf)|/(feed|feeds|rss|atom)(/[^/]*)?)/?$", re.IGNORECASE
)
_HOST_OF_FEEDS: Final = re.compile(r"(feeds?|rss)\.", re.IGNORECASE)
_ASKS_FOR_ONE: Final = re.compile(
    r"(^|&)((feed|format|type|output)=(rss2?|atom|rdf|feed)|feed=)", re.IGNORECASE
)
_SIZE: Final = re.compile(r"[0-9]{1,18}")


class Feed:
    name = "feed"
    is_ordered = False

    def check(self) -> None:
        pass

    def recognise(self, text: str) -> str | None:
        """Read `feed:` and any address, and addresses that look like those of feeds."""
        url = text.removeprefix("feed:")
        try:
            place = urlsplit(url)
            _ = place.port
        except ValueError:  # no host, or a port that is no number: half of a password, perhaps
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
            answer = await tools.web.read(url)
            # It touches no files, so whoever cancels need not wait for its end.
            feed = await asyncio.to_thread(_parsed, answer)
            if not feed.get("version") and not feed.entries:
                raise Permanent(f"{url[:200]} is no feed of RSS or Atom", code="source")
            following = _next(feed, answer.url)
            following = None if following in seen else following
            yield Page(posts=[_post(entry, answer.url) for entry in feed.entries], next=following)
            if following is None:
                return
            url = following


def _parsed(answer: Answer) -> Any:
    import feedparser  # type: ignore[import-untyped]  # which takes its time

    kind = {"content-type": answer.headers.get("Content-Type", "")}
    try:
        # Given the bytes themselves, it would first look for a file of that name on this machine.
        return feedparser.parse(BytesIO(answer.body), response_headers=kind)
    except (ValueError, LookupError, RecursionError) as error:
        raise Permanent(
            f"{answer.url[:200]} cannot be read as a feed: {error}", code="source"
        ) from None


def _next(feed: Any, base: str) -> str | None:
    """Return the next page of a feed that comes in several."""
    for link in feed.feed.get("links", ()):
        if link.get("rel") == "next" and link.get("href"):
            return _joined(base, _text(link["href"])) or None
    return None


def _joined(base: str, url: str) -> str:
    """Return an address in full; one that makes no sense is refused where it is used."""
    try:
        return urljoin(base, url)
    except ValueError:
        return url


def _text(value: Any) -> str:
    """Return a text that can be written down, which half a character cannot."""
    return str(value or "").encode("utf-8", "replace").decode()


def _post(entry: Mapping[str, Any], base: str) -> Post:
    link = _text(entry.get("link"))
    id = _text(entry.get("id") or link or entry.get("title"))
    media: dict[str, Media] = {}
    for told in _told(entry):
        url = _joined(base, _text(told.get("href") or told.get("url")))
        if url.startswith(("http://", "https://")) and url not in media:
            media[url] = _media(id, url, told)
    return Post(
        id=name_in(id) or id,
        # What is no address is the guid, which may be a link of the entry and need not.
        url=link if link.startswith(("http://", "https://")) else "",
        posted_at=_when(entry),
        media=tuple(media.values()),
        about={"title": _text(entry["title"])} if entry.get("title") else {},
    )


def _told(entry: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from entry.get("enclosures", ())
    yield from entry.get("media_content", ())


def _media(entry: str, url: str, told: Mapping[str, Any]) -> Media:
    name = name_in(url)
    size = str(told.get("length") or told.get("filesize") or told.get("fileSize") or "")
    medium = str(told.get("type") or told.get("medium") or "")
    return Media(
        key=key_of(entry, url),
        url=url,
        name=name,
        kind=kind_by(extension_of(name), medium),
        # A podcast that does not know the length writes 0.
        bytes=int(size) or None if _SIZE.fullmatch(size) else None,
    )


def _when(entry: Mapping[str, Any]) -> datetime | None:
    parsed = entry.get("published_parsed") or entry.get("updated_parsed")
    try:
        return datetime.fromtimestamp(timegm(parsed), UTC) if parsed else None
    except (TypeError, ValueError, OverflowError):
        return None
