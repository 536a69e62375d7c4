"""The results of a source: pages of posts, each with its media."""

import hashlib
from datetime import datetime
from typing import Any, Final, Literal

from msgspec import Struct, field

Kind = Literal["image", "video", "audio", "other"]

_LONGEST_KEY: Final = 200
_KINDS: Final[dict[str, Kind]] = {
    **dict.fromkeys((".jpg", ".jpeg", ".png", ".gif", ".webp", ".avif", ".heic", ".svg"), "image"),
    **dict.fromkeys((".mp4", ".webm", ".mov", ".mkv", ".m4v"), "video"),
    **dict.fromkeys((".mp3", ".m4a", ".ogg", ".opus", ".flac", ".wav", ".aac"), "audio"),
}


class Media(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A file to download. Its key identifies it permanently within its account.

    All values come from a server: `name` may be any text, `bytes` may be wrong.
    """

    key: str
    url: str
    name: str = ""
    kind: Kind = "other"
    bytes: int | None = None
    headers: dict[str, str] = {}
    about: dict[str, Any] = {}


class Post(Struct, frozen=True, kw_only=True, omit_defaults=True):
    id: str
    url: str = ""
    posted_at: datetime | None = None
    is_reply: bool = False
    is_boost: bool = False
    media: tuple[Media, ...] = ()
    after: str | None = None  # the cursor that continues after this post, if the source has one
    about: dict[str, Any] = {}


class Page(Struct, frozen=True, kw_only=True):
    """Posts, the newest first; `next` is the cursor of the next page, None after the last."""

    posts: list[Post] = field(default_factory=list)
    next: str | None = None


class ParsedPage(Struct, frozen=True, kw_only=True):
    """The result of parsing a page: the page, or an error text."""

    page: Page | None = None
    trouble: str = ""


def key_of(*parts: str) -> str:
    """Join the identifiers of a server into a key; a long key is replaced by its digest."""
    text = "/".join(parts)
    if len(text) <= _LONGEST_KEY and "\0" not in text:
        return text
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def kind_by(extension: str, content_type: str = "") -> Kind:
    """Return the kind of a file by its content type, or else by its extension."""
    major = content_type.partition("/")[0].strip().lower()
    if major in ("image", "video", "audio"):
        return major  # type: ignore[return-value]
    return _KINDS.get(extension, "other")
