"""The media of a link becomes one file in a folder, with its subtitles beside it."""

import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from fairlane_extractor.child_side import ChildError, Send
from fairlane_extractor.media import Track
from fairlane_extractor.sources.fetch_errors import child_error_of, http_status_of
from fairlane_extractor.sources.link_parser import LinkParser
from fairlane_extractor.sources.remux import join_streams
from fairlane_extractor.sources.request_meter import bounds_of_media, bounds_of_pages
from fairlane_extractor.sources.site_client import SiteClient

FETCHED: Final = "fetched.json"
NAME: Final = "media"  # names of sites are untrusted; the title is part of the description
TRACK_BYTES: Final = 32 * 2**20
PROGRESS_SECONDS: Final = 0.5
_SUFFIX: Final = re.compile(r"[a-z0-9]{1,5}")
_EXPIRED: Final = (403, 404, 410)

Info = Mapping[str, Any]


class Fetched(Struct, frozen=True, kw_only=True):
    """The result of a download; `resumed` if a part was stored by an earlier try."""

    path: str
    resumed: bool
    tracks: tuple[Track, ...] = ()
    lost: tuple[str, ...] = ()  # the reasons of subtitles that could not be downloaded


class MediaDownload:
    def __init__(
        self,
        client: SiteClient,
        parser: LinkParser,
        folder: Path,
        request: Mapping[str, Any],
        send: Send,
    ) -> None:
        self._client = client
        self._parser = parser
        self._folder = folder
        self._request = request
        self._send = send
        self._next_progress_at = 0.0
        self._part: tuple[int, int] | None = None  # the number of the format, and their count

    def execute(self) -> Any:
        """Return the result of this download, or of the earlier try that finished it."""
        finished = self._finished()
        if finished is not None:
            return msgspec.to_builtins(finished)
        self._client.meter.end_within(self._request["download_seconds"])
        stored_bytes = sum(part.stat().st_size for part in self._folder.glob("part-*"))
        info, parts = self._fetch(stored_bytes)
        tracks, lost = self._download_tracks(info)
        fetched = Fetched(
            path=str(self._final_file(info, parts)),
            resumed=stored_bytes > 0,
            tracks=tuple(tracks),
            lost=tuple(lost),
        )
        (self._folder / FETCHED).write_bytes(msgspec.json.encode(fetched))
        return msgspec.to_builtins(fetched)

    def on_progress(self, facts: Info) -> None:
        """Pass the progress of yt-dlp on, twice a second."""
        now = time.monotonic()
        is_news = facts.get("status") == "downloading" and now >= self._next_progress_at
        if self._part is None or not is_news:
            return
        self._next_progress_at = now + PROGRESS_SECONDS
        done = facts.get("downloaded_bytes") or 0
        total = facts.get("total_bytes") or facts.get("total_bytes_estimate")
        share = min(done / total, 1.0) if total else 0.0
        number, count = self._part
        whole = f" of {_mebibytes(total)}" if total else ""
        message = f"{_mebibytes(done)}{whole}"
        self._send("progress", {"percent": 100 * (number + share) / count, "message": message})

    def _finished(self) -> Fetched | None:
        try:
            fetched = msgspec.json.decode((self._folder / FETCHED).read_bytes(), type=Fetched)
        except (OSError, msgspec.DecodeError):
            return None
        return fetched if Path(fetched.path).exists() else None

    def _fetch(self, stored_bytes: int) -> tuple[Info, list[Path]]:
        """Download by the stored description, or by a new one if its addresses have expired."""
        info = self._parser.stored()
        if info is not None:
            try:
                return info, self._download_formats(info, stored_bytes)
            except Exception as error:
                if http_status_of(error, self._client.meter) not in _EXPIRED:
                    raise
        self._client.meter.restart(bounds_of_pages(self._request["request_seconds"]))
        info = self._parser.describe(self._request["link"])
        return info, self._download_formats(info, stored_bytes)

    def _download_formats(self, info: Info, stored_bytes: int) -> list[Path]:
        seconds, largest = self._request["request_seconds"], self._request["largest_bytes"]
        self._client.meter.restart(bounds_of_media(seconds, largest), bytes=stored_bytes)
        formats = info.get("requested_formats") or [info]
        parts: list[Path] = []
        for number, format in enumerate(formats):
            self._part = (number, len(formats))
            part = self._folder / f"part-{number}.{_suffix(format)}"
            whole = {**info, **format}
            whole.pop("requested_formats", None)
            self._client.load_cookies(whole)
            self._get(part, whole)
            parts.append(part)
        self._part = None
        return parts

    def _get(self, path: Path, info: dict[str, Any]) -> None:
        is_complete, _ = self._client.dl(str(path), info)
        if not is_complete or not path.exists():
            raise ChildError(
                "incomplete", "the download ended before the file was complete", retryable=True
            )
        if path.stat().st_size == 0:
            path.unlink()
            raise ChildError("empty_file", "the server sent an empty file")

    def _download_tracks(self, info: Info) -> tuple[list[Track], list[str]]:
        """Download subtitles; one that fails is a reason in the result, and not an error."""
        meter = self._client.meter
        tracks: list[Track] = []
        lost: list[str] = []
        for number, (known, described) in enumerate(info.get("chosen_subtitles") or ()):
            track = msgspec.convert(known, Track)
            path = self._folder / f"track-{number}.{track.format}"
            meter.restart(bounds_of_media(self._request["request_seconds"], TRACK_BYTES))
            try:
                if described.get("data") is not None:
                    path.write_text(described["data"], encoding="utf-8")
                else:
                    self._get(path, {**described, "id": info.get("id"), "title": NAME})
            except Exception as error:  # noqa: BLE001 - an error of a track must not stop the download
                reason = child_error_of(error, meter)
                lost.append(f"subtitles {track.language or number}: {reason}")
            else:
                tracks.append(replace(track, path=str(path), url=None))
        return tracks, lost

    def _final_file(self, info: Info, parts: list[Path]) -> Path:
        if len(parts) > 1 or str(info.get("protocol")).startswith("m3u8"):
            self._send("progress", {"percent": 99, "message": "joining the streams"})
            return join_streams(parts, self._folder, NAME)
        final = self._folder / f"{NAME}{parts[0].suffix}"
        return parts[0].replace(final)


def _suffix(format: Info) -> str:
    """Return the end of the name, for players; this program reads the content instead."""
    name = str(format.get("ext") or "")
    return name if _SUFFIX.fullmatch(name) else "bin"


def _mebibytes(number: float) -> str:
    return f"{number / 2**20:.1f} MiB"
