"""The media behind an input: as parsed, and as it lies in a folder after the download."""

from typing import Literal

from msgspec import Struct

InputKind = Literal["link", "file"]


class Track(Struct, frozen=True, kw_only=True):
    """Subtitles of a media: a stream inside it, a file beside it, or an address to download."""

    language: str | None = None
    name: str | None = None
    stream: int | None = None  # the index of an embedded stream
    path: str | None = None  # a local file
    url: str | None = None
    format: str | None = None  # "vtt", "srt", …; of a stream its codec: "mov_text", "subrip", …
    is_automatic: bool = False  # written by a machine


class Media(Struct, frozen=True, kw_only=True):
    """The result of parsing an input."""

    input: str
    kind: InputKind
    platform: str  # "bilibili", "douyin", …, "web" for other links, "local" for files
    title: str
    address: str  # the resolved link, or the absolute path of the file
    seconds: float | None = None
    bytes: int | None = None
    is_direct: bool = False  # the link is the media itself
    tracks: tuple[Track, ...] = ()
    language: str | None = None
    entries: int = 1  # how many media the link has; the first one is extracted


class LocalMedia(Struct, frozen=True, kw_only=True):
    """The media as a file of this machine, with its streams; the result of the download."""

    path: str
    bytes: int
    seconds: float | None
    has_video: bool
    has_audio: bool
    width: int = 0
    height: int = 0
    tracks: tuple[Track, ...] = ()  # embedded, beside it, and downloaded; each has stream or path
    lost_tracks: tuple[str, ...] = ()  # the reasons of subtitles that could not be downloaded
