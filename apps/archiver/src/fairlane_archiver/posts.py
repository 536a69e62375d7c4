"""What a source finds: posts, each with the media that hang on it, in pages."""

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
    """A file to be had. Its key names it for ever within its account.

    Everything here was said by a server: `name` may be anything, `bytes` may be wrong.
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
    after: str | None = None  # the cursor that goes on behind this post, where there is one
    about: dict[str, Any] = {}


class Page(Struct, frozen=True, kw_only=True):
    """Posts, the newest first; `next` is the cursor of the next page, None after the last."""

    posts: list[Post] = field(default_factory=list)
    next: str | None = None


class Read(Struct, frozen=True, kw_only=True):
    """What came of reading something that is to be a page: it, or why there is none."""

    page: Page | None = None
    trouble: str = ""


def key_of(*parts: str) -> str:
    """Join what a server calls a thing into a key; what is too long for one is digested."""
    text = "/".join(parts)
    if len(text) <= _LONGEST_KEY and "\0" not in text:
        return text
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def kind_by(extension: str, content_type: str = "") -> Kind:
    """Tell the kind of a file by its type, or else by its extension."""
    major = content_type.partition("/")[0].strip().lower()
    if major in ("image", "video", "audio"):
        return major  # type: ignore[return-value]
    return _KINDS.get(extension, "other")
