"""Reads a feed, in a process of its own: what a stranger wrote may take any time and memory.

It is told its bounds, the type and the address of the feed, gets its bytes on its standard input,
and answers on its standard output with one page as JSON.
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
from fairlane_archiver.posts import Media, Page, Post, Read, key_of, kind_by

_SIZE: Final = re.compile(r"[0-9]{1,18}")


def main() -> None:
    most_bytes, most_seconds, kind, base = sys.argv[1:]
    resource.setrlimit(resource.RLIMIT_AS, (int(most_bytes), int(most_bytes)))
    resource.setrlimit(resource.RLIMIT_CPU, (int(most_seconds), int(most_seconds)))
    sys.stdout.buffer.write(msgspec.json.encode(read(sys.stdin.buffer.read(), kind, base)))


def read(body: bytes, kind: str, base: str) -> Read:
    try:
        # Given the bytes themselves, it would first look for a file of that name on this machine.
        feed = feedparser.parse(BytesIO(body), response_headers={"content-type": kind})
    except (ValueError, LookupError, RecursionError) as error:
        return Read(trouble=f"cannot be read as a feed: {error}")
    if not feed.get("version") and not feed.entries:
        return Read(trouble="is no feed of RSS or Atom")
    posts = [_post(entry, base) for entry in feed.entries]
    return Read(page=Page(posts=posts, next=_next(feed, base)))


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


if __name__ == "__main__":
    main()
