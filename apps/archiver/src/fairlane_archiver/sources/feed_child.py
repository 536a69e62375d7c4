"""Parse a feed in a separate process, because untrusted input may take unlimited time and memory.

The arguments are its limits, the content type and the address of the feed; the feed is read from
standard input, and one page is written as JSON to standard output.
"""

import re
import resource
import sys
from calendar import timegm
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from io import BytesIO
from typing import Any, Final
from urllib.parse import urljoin

import feedparser  # type: ignore[import-untyped]
import msgspec

from fairlane_archiver.file_names import extension_of, name_in
from fairlane_archiver.posts import Media, Page, ParsedPage, Post, key_of, kind_by

_SIZE: Final = re.compile(r"[0-9]{1,18}")


def main() -> None:
    most_bytes, most_seconds, kind, base = sys.argv[1:]
    resource.setrlimit(resource.RLIMIT_AS, (int(most_bytes), int(most_bytes)))
    resource.setrlimit(resource.RLIMIT_CPU, (int(most_seconds), int(most_seconds)))
    sys.stdout.buffer.write(msgspec.json.encode(read(sys.stdin.buffer.read(), kind, base)))


def read(body: bytes, kind: str, base: str) -> ParsedPage:
    try:
        # Given bytes instead of a stream, feedparser would first open a file of that name.
        feed = feedparser.parse(BytesIO(body), response_headers={"content-type": kind})
    except (ValueError, LookupError, RecursionError) as error:
        return ParsedPage(trouble=f"cannot be read as a feed: {error}")
    if not feed.get("version") and not feed.entries:
        return ParsedPage(trouble="is no feed of RSS or Atom")
    posts = [_post(entry, base) for entry in feed.entries]
    return ParsedPage(page=Page(posts=posts, next=_next(feed, base)))


def _next(feed: Any, base: str) -> str | None:
    """Return the next page of a paged feed."""
    for link in feed.feed.get("links", ()):
        if link.get("rel") == "next" and link.get("href"):
            return _joined(base, _text(link["href"])) or None
    return None


def _joined(base: str, url: str) -> str:
    """Return the absolute URL; an invalid one is refused when it is used."""
    try:
        return urljoin(base, url)
    except ValueError:
        return url


def _text(value: Any) -> str:
    """Return a text that can be encoded, without lone surrogates."""
    return str(value or "").encode("utf-8", "replace").decode()


def _post(entry: Mapping[str, Any], base: str) -> Post:
    link = _text(entry.get("link"))
    id = _text(entry.get("id") or link or entry.get("title"))
    media: dict[str, Media] = {}
    for told in _printed(entry):
        url = _joined(base, _text(told.get("href") or told.get("url")))
        if url.startswith(("http://", "https://")) and url not in media:
            media[url] = _media(id, url, told)
    return Post(
        id=name_in(id) or id,
        # Without an address the link is the guid, which need not be a link.
        url=link if link.startswith(("http://", "https://")) else "",
        posted_at=_when(entry),
        media=tuple(media.values()),
        about={"title": _text(entry["title"])} if entry.get("title") else {},
    )


def _printed(entry: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
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
        # Podcasts with an unknown length state 0.
        bytes=int(size) or None if _SIZE.fullmatch(size) else None,
    )


def _when(entry: Mapping[str, Any]) -> datetime | None:
    parsed = entry.get("published_parsed") or entry.get("updated_parsed")
    try:
        return datetime.fromtimestamp(timegm(parsed), UTC) if parsed else None
    except (TypeError, ValueError, OverflowError):
        return None


if __name__ == "__main__":
    main()
