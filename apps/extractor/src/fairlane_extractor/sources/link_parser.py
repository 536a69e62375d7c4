"""A link becomes the description of its media: where it lies, how long it is, its subtitles."""

import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from fairlane_extractor.child_side import ChildError
from fairlane_extractor.media import Media
from fairlane_extractor.sources.cpu_bound import bounded_cpu
from fairlane_extractor.sources.media_bounds import too_large, too_long
from fairlane_extractor.sources.page_text import TITLE_CHARACTERS, title_of, with_whole_characters
from fairlane_extractor.sources.platforms import WEB, canonical_link, platform_of_link
from fairlane_extractor.sources.short_links import resolve_short_link
from fairlane_extractor.sources.site_client import SiteClient
from fairlane_extractor.sources.subtitle_choice import choose_subtitles

PARSED: Final = "parsed.json"
VALID_SECONDS: Final = 15 * 60.0  # sites sign their addresses for hours, most of them
_UNNAMED: Final = ("Generic", "HTML5MediaEmbed")  # the extractors of unknown sites
_LIVE: Final = ("is_live", "is_upcoming")
_PIECE: Final = re.compile(r"^#EXTINF:[ \t]*([0-9.]+)", re.MULTILINE)
# Lists of formats and pictures of a site are long, and the download needs none of them.
_UNUSED: Final = (
    "formats", "thumbnails", "automatic_captions", "subtitles", "heatmap", "comments", "chapters",
    "description", "tags", "entries", "requested_subtitles",
)  # fmt: skip

Info = dict[str, Any]


class LinkParser:
    def __init__(
        self,
        client: SiteClient,
        folder: Path,
        *,
        largest_bytes: int,
        longest_seconds: float,
        cpu_seconds: float,
    ) -> None:
        self._client = client
        self._folder = folder
        self._largest_bytes = largest_bytes
        self._longest_seconds = longest_seconds
        self._cpu_seconds = cpu_seconds

    def parse(self, input: str, link: str) -> Media:
        """Return the media of a link, and store its description for the download."""
        info = self.describe(link)
        address = str(info.get("webpage_url") or link)
        site = platform_of_link(address)
        return Media(
            input=input,
            kind="link",
            platform=site if site != WEB else platform_of_link(link),
            title=_title(info),
            address=address,
            seconds=info.get("duration") or None,
            bytes=self._size(info),
            is_direct=bool(info.get("direct")),
            tracks=tuple(track for track, _ in choose_subtitles(info)),
            language=info.get("language") or None,
            entries=int(info.get("n_entries") or 1),
        )

    def describe(self, link: str) -> Info:
        """Request the description of the media of a link, and store it."""
        meter = self._client.meter
        with bounded_cpu(meter, self._cpu_seconds):
            info = self._extract(canonical_link(resolve_short_link(link, meter)))
            self._check(info)
        info["chosen_subtitles"] = msgspec.to_builtins(choose_subtitles(info))
        self._store(info)
        return info

    def stored(self) -> Info | None:
        """Return the stored description, if its addresses are still valid."""
        try:
            stored = msgspec.json.decode((self._folder / PARSED).read_bytes(), type=dict[str, Any])
        except (OSError, msgspec.DecodeError):
            return None
        age = time.time() - stored["at"]
        return dict(stored["info"]) if 0 <= age < VALID_SECONDS else None

    def _store(self, info: Info) -> None:
        if any("generator" in str(one.get("protocol")) for one in _formats_of(info)):
            return  # its pieces are named by a function
        kept = {key: value for key, value in info.items() if key not in _UNUSED}
        draft = self._folder / f"{PARSED}.draft"
        draft.write_bytes(
            msgspec.json.encode({"at": time.time(), "info": self._client.sanitize_info(kept)})
        )
        draft.replace(self._folder / PARSED)

    def _extract(self, link: str) -> Info:
        info: Info | None = self._client.extract_info(link, download=False)
        count = 1
        while info is not None and "entries" in info:  # a page with several media, or a playlist
            entries = [entry for entry in info["entries"] or () if entry]
            count = max(count, int(info.get("playlist_count") or len(entries)))
            info = entries[0] if entries else None
        if info is None:
            raise ChildError("no_media", "the page shows no video and no sound that can be found")
        return dict(with_whole_characters({**info, "n_entries": count}))

    def _check(self, info: Info) -> None:
        """Refuse media that is live or too long; a playlist of pieces is read to know that."""
        for format in _formats_of(info):
            if str(format.get("protocol")).startswith("m3u8") and not info.get("duration"):
                self._measure(info, format)
        if info.get("is_live") or info.get("live_status") in _LIVE:
            raise ChildError(
                "live_stream",
                "the link is a live stream, which has no end yet; recordings can be extracted",
            )
        seconds = info.get("duration")
        if seconds and seconds > self._longest_seconds:
            raise too_long(seconds, self._longest_seconds)
        size = self._size(info)
        if size and size > self._largest_bytes:
            raise too_large(f"{size:,}", self._largest_bytes)

    def _measure(self, info: Info, format: Mapping[str, Any]) -> None:
        playlist = self._client.read_text(format["url"], format.get("http_headers"))
        pieces = _PIECE.findall(playlist)
        if not pieces:
            raise ChildError("no_media", "the playlist of the media names no pieces")
        if "#EXT-X-ENDLIST" in playlist or "#EXT-X-PLAYLIST-TYPE:VOD" in playlist:
            info["duration"] = sum(map(_seconds_of, pieces))
        else:
            info["live_status"] = "is_live"

    def _size(self, info: Info) -> int | None:
        """Return the size of the media, if the site or the server names it."""

        def size_of(format: Mapping[str, Any]) -> int | None:
            is_file = format.get("protocol") in ("http", "https")  # and not a playlist of files
            announced = self._client.meter.announced_bytes(str(format.get("url")))
            return format.get("filesize") or (announced if is_file else None)

        sizes = [size_of(format) for format in _formats_of(info)]
        return sum(int(size) for size in sizes if size) if all(sizes) else None


def _formats_of(info: Info) -> list[Mapping[str, Any]]:
    """Return the formats that were chosen; one format is a part of the description itself."""
    return list(info.get("requested_formats") or [info])


def _seconds_of(piece: str) -> float:
    try:
        return float(piece)
    except ValueError:
        reason = (
            f"the playlist of the media gives {piece[:20]!r} as the length of a piece, and a "
            "number of seconds is expected"
        )
        raise ChildError("unsupported_stream", reason) from None


def _title(info: Info) -> str:
    title = title_of(str(info.get("title") or info.get("id") or ""))
    if info.get("extractor_key") in _UNNAMED and info["n_entries"] == 1:
        title = title.removesuffix(" (1)")  # yt-dlp numbers the media of a page, also a single one
    return title[:TITLE_CHARACTERS] or "untitled"
