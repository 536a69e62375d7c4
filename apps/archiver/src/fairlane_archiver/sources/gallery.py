"""Other sites, through gallery-dl: `gallery:` and any address that it supports.

gallery-dl lists the files in a child process that ends with the job; the files are then downloaded
as usual. It is part of the extra `gallery`. Its requests are not guarded: only its first address is
checked.
"""

import importlib.util
import json
import re
import sys
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from fairlane import Permanent
from fairlane_archiver.file_names import extension_of, name_in
from fairlane_archiver.filters import Filters
from fairlane_archiver.posts import Media, Page, Post, key_of, kind_by
from fairlane_archiver.sources.protocol import Tools

PAGE: Final = 40
LARGEST_LISTING: Final = 64 * 1024 * 1024
# Optionally prefixed with the name of a site. gallery-dl accepts more, such as addresses without a
# scheme, but those could not be checked.
_ADDRESS: Final = re.compile(r"gallery:((?:[a-z0-9_-]+:)?(https?://\S+))")
_FILE: Final = 3  # the message type of a file in gallery-dl


class Gallery:
    name = "gallery"
    is_ordered = False

    def check(self) -> None:
        if importlib.util.find_spec("gallery_dl") is None:
            raise Permanent(
                'this needs gallery-dl; pip install "fairlane-archiver[gallery]"', code="source"
            )

    def recognise(self, text: str) -> str | None:
        return text if _ADDRESS.fullmatch(text) else None

    async def pages(
        self,
        account: str,
        *,
        cursor: str | None,
        floor: str | None,  # noqa: ARG002 - it knows no such thing; what is saved is skipped
        filters: Filters,  # noqa: ARG002
        tools: Tools,
    ) -> AsyncGenerator[Page, None]:
        self.check()
        found = _ADDRESS.fullmatch(account)
        assert found is not None, account
        address = found[1]
        await tools.web.reach(found[2])  # refuses a private address, which gallery-dl would not
        first = int(cursor or 0)
        messages = await _listed(address, first, tools)
        posts = [_post(url, told) for kind, url, told in _files(messages) if kind == _FILE]
        for start in range(0, len(posts), PAGE):
            end = start + PAGE
            following = str(first + end) if end < len(posts) else None
            yield Page(posts=posts[start:end], next=following)
        # Files listed before the error are saved by now.
        _raise_errors(messages)


async def _listed(address: str, first: int, tools: Tools) -> list[Any]:
    """Return the whole listing of gallery-dl: line by line it would omit its errors."""
    lines: list[str] = []
    size = 0

    def on_line(line: str) -> None:
        nonlocal size
        size += len(line)
        if size > LARGEST_LISTING:
            raise Permanent("gallery-dl lists more than can be taken in", code="source")
        lines.append(line)

    argv = [
        sys.executable, "-m", "gallery_dl", "--config-ignore", "--dump-json",
        "-o", "output.private=true", "-o", "cache.file=null",
        "--range", f"{first + 1}-", "--", address,
    ]  # fmt: skip
    finished = await tools.run(argv, on_stdout=on_line, check=False)
    try:
        messages = json.loads("\n".join(lines))
    except ValueError:
        messages = None
    if not isinstance(messages, list):
        said = finished.stderr_tail.strip()[-500:] or f"it ended with {finished.returncode}"
        raise Permanent(f"gallery-dl: {said}", code="source")
    return messages


def _files(messages: Sequence[Any]) -> Iterator[tuple[int, str, dict[str, Any]]]:
    for message in messages:
        match message:
            case [int(kind), str(url), dict(told)]:
                yield kind, url, told


def _raise_errors(messages: Sequence[Any]) -> None:
    for message in messages:
        match message:
            case [-1, dict(told)]:
                said = f"{told.get('error', '')}: {told.get('message', '')}"
                raise Permanent(f"gallery-dl: {said[:500]}", code="source")


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
