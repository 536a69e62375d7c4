"""The Mastodon API, on any host that implements it: Mastodon, Pixelfed, GoToSocial, Akkoma."""

import re
from collections.abc import AsyncGenerator
from datetime import UTC, datetime
from typing import Annotated, Any, Final
from urllib.parse import parse_qs, quote, urlencode, urljoin, urlsplit

import msgspec
from msgspec import Meta, Struct

from fairlane import Permanent
from fairlane_archiver.file_names import extension_of, name_in
from fairlane_archiver.filters import Filters
from fairlane_archiver.posts import Kind, Media, Page, Post, key_of, kind_by
from fairlane_archiver.sources.protocol import Tools
from fairlane_archiver.web_client import Answer

PAGE: Final = 40  # the largest page that servers return
MOST_POSTS: Final = 400  # accepted from servers that return more than requested
LONGEST_TEXT: Final = 20_000

_NAME: Final = r"[A-Za-z0-9_](?:[A-Za-z0-9_.-]{0,98}[A-Za-z0-9_])?"
_HOST: Final = r"(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:]+\])(?::[0-9]{1,5})?"
_HANDLE: Final = re.compile(rf"@?({_NAME})@({_HOST})")
_PROFILE: Final = re.compile(rf"(https?)://({_HOST})/(?:@|users/)({_NAME})/?")
_KINDS: Final[dict[str, Kind]] = {
    "image": "image",
    "video": "video",
    "gifv": "video",
    "audio": "audio",
}


class Attachment(Struct, frozen=True):
    id: str
    type: str = "unknown"
    url: str | None = None
    remote_url: str | None = None
    description: str | None = None


class Status(Struct, frozen=True):
    """A post; it is stored with each of its files, so all its fields are limited in size."""

    id: Annotated[str, Meta(max_length=200)]
    created_at: datetime
    url: Annotated[str, Meta(max_length=8_000)] | None = None
    content: str | None = None
    spoiler_text: str | None = None
    sensitive: bool | None = None
    in_reply_to_id: str | None = None
    media_attachments: Annotated[list[Attachment], Meta(max_length=64)] = []
    reblog: "Status | None" = None


class Profile(Struct, frozen=True):
    id: str


class Mastodon:
    name = "mastodon"
    is_ordered = True

    def check(self) -> None:
        pass

    def recognise(self, text: str) -> str | None:
        """Accept @name@host, name@host and the addresses of profiles."""
        if found := _HANDLE.fullmatch(text):
            return f"@{found[1].lower()}@{found[2].lower()}"
        found = _PROFILE.fullmatch(text)
        if found is None or found[3].lower().endswith((".rss", ".atom")):
            return None
        scheme, host, name = found[1], found[2].lower(), found[3].lower()
        return f"@{name}@{host}" if scheme == "https" else f"http://{host}/@{name}"

    async def pages(
        self,
        account: str,
        *,
        cursor: str | None,
        floor: str | None,
        filters: Filters,
        tools: Tools,
    ) -> AsyncGenerator[Page, None]:
        base, name = _place(account)
        profile = await _profile(base, name, tools)
        statuses = f"{base}/api/v1/accounts/{quote(profile.id, safe='')}/statuses"
        fixed = _query(filters, floor)
        seen: set[str] = set()  # post ids, because a server can invent cursors without end
        while True:
            query = fixed if cursor is None else {**fixed, "max_id": cursor}
            answer = await tools.web.read(f"{statuses}?{urlencode(query)}")
            found = _read(answer, Annotated[list[Status], Meta(max_length=MOST_POSTS)])
            fresh = [s for s in found if floor is None or _age(s.id) > _age(floor)]
            # An empty page, or one that reaches known posts, is the last, even if it links to
            # another.
            following = _next(answer) if fresh and len(fresh) == len(found) else None
            if fresh and seen.issuperset(status.id for status in fresh):
                raise Permanent(f"{base} goes round in circles at {cursor}", code="source")
            yield Page(posts=[_post(status) for status in fresh], next=following)
            if following is None:
                return
            seen.update(status.id for status in fresh)
            cursor = following


async def _profile(base: str, name: str, tools: Tools) -> Profile:
    query = urlencode({"acct": name})
    try:
        answer = await tools.web.read(f"{base}/api/v1/accounts/lookup?{query}")
    except Permanent as error:
        if error.facts.get("status") != 404:
            raise
        host = urlsplit(base).netloc
        raise Permanent(
            f"there is no @{name} on {host}, or it does not speak the Mastodon API (it answered "
            "404)",
            code="source",
        ) from None
    found: Profile = _read(answer, Profile)
    return found


def _place(account: str) -> tuple[str, str]:
    """Return the address of the server and the user name."""
    if found := _HANDLE.fullmatch(account):
        return f"https://{found[2]}", found[1]
    found = _PROFILE.fullmatch(account)
    assert found is not None, account
    return f"{found[1]}://{found[2]}", found[3]


def _query(filters: Filters, floor: str | None) -> dict[str, str]:
    query = {"limit": str(PAGE)}
    if filters.boosts:
        pass  # a boost has no media itself, so `only_media` would omit it
    else:
        query |= {"only_media": "true", "exclude_reblogs": "true"}
    if not filters.replies:
        query["exclude_replies"] = "true"
    if floor is not None:
        query["since_id"] = floor
    return query


def _read(answer: Answer, type: Any) -> Any:
    try:
        return msgspec.json.decode(answer.body, type=type)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Permanent(
            f"{urlsplit(answer.url).netloc} does not speak the Mastodon API: {error}",
            code="source",
        ) from None


def _age(id: str) -> tuple[int, str]:
    """Return a sort key for ids, which are growing numbers as text, or growing texts of one
    length."""
    return len(id), id


def _next(answer: Answer) -> str | None:
    """Return the `max_id` of the next page from the `Link` header."""
    for part in answer.headers.get("Link", "").split(","):
        address, _, rest = part.partition(";")
        if re.search(r'\brel="?next"?', rest):
            url = urljoin(answer.url, address.strip().strip("<>"))
            found = parse_qs(urlsplit(url).query).get("max_id")
            if found and len(found[0]) <= 200:
                return str(found[0])
    return None


def _post(status: Status) -> Post:
    shown = status.reblog or status
    return Post(
        id=status.id,
        url=shown.url or "",
        # Some servers omit the zone, which is UTC.
        posted_at=status.created_at.replace(tzinfo=status.created_at.tzinfo or UTC),
        is_reply=status.in_reply_to_id is not None,
        is_boost=status.reblog is not None,
        media=tuple(_media(shown, one) for one in shown.media_attachments if _url(one)),
        after=status.id,
        about={
            name: value
            for name, value in (
                ("content", (shown.content or "")[:LONGEST_TEXT]),
                ("spoiler_text", (shown.spoiler_text or "")[:LONGEST_TEXT]),
                ("sensitive", shown.sensitive),
            )
            if value
        },
    )


def _url(attachment: Attachment) -> str:
    return attachment.url or attachment.remote_url or ""


def _media(status: Status, attachment: Attachment) -> Media:
    url = _url(attachment)
    name = name_in(url)
    return Media(
        key=key_of(status.id, attachment.id),
        url=url,
        name=name,
        kind=_KINDS.get(attachment.type) or kind_by(extension_of(name)),
        about={"description": attachment.description} if attachment.description else {},
    )
