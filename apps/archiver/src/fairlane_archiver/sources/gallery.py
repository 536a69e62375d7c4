"""Everything else, by gallery-dl: `gallery:` and any address that it knows.

It lists what there is, in a child process that ends with the job; the files are then fetched like
all others. It is a part of the extra `gallery`. Its own requests are its own: of where they go only
the first is looked at.
"""

import asyncio
import importlib.util
import json
import sys
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import urlsplit

from fairlane import Permanent
from fairlane_archiver.filters import Filters
from fairlane_archiver.names import extension_of, name_in
from fairlane_archiver.posts import Media, Page, Post, key_of, kind_by
from fairlane_archiver.sources.protocol import Tools

PAGE: Final = 40
_PREFIX: Final = "gallery:"
_FILE: Final = 3  # what gallery-dl calls a message that brings a file
_ERROR: Final = -1


class Gallery:
    name = "gallery"
    is_ordered = False

    def recognise(self, text: str) -> str | None:
        if not text.startswith(_PREFIX) or len(text) == len(_PREFIX):
            return None
        return text

    async def pages(
        self,
        account: str,
        *,
        cursor: str | None,
        floor: str | None,  # noqa: ARG002 - it knows no such thing; what is saved is skipped
        filters: Filters,  # noqa: ARG002
        tools: Tools,
    ) -> AsyncIterator[Page]:
        if importlib.util.find_spec("gallery_dl") is None:
            raise Permanent(
                'this needs gallery-dl; pip install "fairlane-archiver[gallery]"', code="source"
            )
        address = account.removeprefix(_PREFIX)
        await _look(address, tools)
        first = int(cursor or 0)
        lines: asyncio.Queue[str | None] = asyncio.Queue()
        listing = asyncio.create_task(_list(address, first, lines, tools))
        try:
            posts: list[Post] = []
            async for post in _posts(lines):
                posts.append(post)
                if len(posts) == PAGE:
                    first += PAGE
                    yield Page(posts=posts, next=str(first))
                    posts = []
            await listing
            yield Page(posts=posts, next=None)
        finally:
            listing.cancel()
            await asyncio.wait([listing])


async def _look(address: str, tools: Tools) -> None:
    """Refuse an address inside, which gallery-dl would not."""
    plain = address[address.find("http") :]
    if urlsplit(plain).scheme in ("http", "https"):
        await tools.web.reach(plain)


async def _list(address: str, first: int, lines: "asyncio.Queue[str | None]", tools: Tools) -> None:
    argv = [
        sys.executable, "-m", "gallery_dl", "--config-ignore", "--dump-json",
        "-o", "output.jsonl=true", "--range", f"{first + 1}-", "--", address,
    ]  # fmt: skip
    try:
        await tools.run(argv, on_stdout=lines.put_nowait)
    finally:
        lines.put_nowait(None)


async def _posts(lines: "asyncio.Queue[str | None]") -> AsyncIterator[Post]:
    while (line := await lines.get()) is not None:
        try:
            message = json.loads(line)
        except ValueError:
            continue  # a word to people
        match message:
            case [kind, str(url), dict(told)] if kind == _FILE:
                yield _post(url, told)
            case [kind, dict(told)] if kind == _ERROR:
                raise Permanent(f"gallery-dl: {told.get('message', told)}", code="source")


def _post(url: str, told: Mapping[str, Any]) -> Post:
    name = name_in(url)
    identity = str(told.get("id") or told.get("filename") or url)
    headers = told.get("_http_headers")
    media = Media(
        key=key_of(str(told.get("category", "")), identity, str(told.get("num", "")), name),
        url=url,
        name=name,
        kind=kind_by(extension_of(name) or f".{told.get('extension', '')}"),
        headers={str(k): str(v) for k, v in headers.items()} if isinstance(headers, dict) else {},
        about={k: v for k, v in told.items() if isinstance(v, str | int) and not k.startswith("_")},
    )
    return Post(id=identity, posted_at=_when(told.get("date")), media=(media,))


def _when(date: Any) -> datetime | None:
    try:
        return datetime.fromisoformat(str(date)).replace(tzinfo=UTC)
    except ValueError:
        return None
