"""yt-dlp, with guarded sockets and bounded requests.

Only its own HTTP code is used: libraries and programs that connect by themselves would bypass the
guard. Its retries are off, because the stages of the job retry and count.
"""

import os
from collections.abc import Mapping
from typing import Any, Final, NoReturn

from yt_dlp import YoutubeDL
from yt_dlp.downloader.external import FFmpegFD
from yt_dlp.networking._urllib import UrllibRH
from yt_dlp.networking.common import Request, Response
from yt_dlp.networking.exceptions import HTTPError

from fairlane_extractor.child_side import ChildError
from fairlane_extractor.sources.format_choice import choose_formats
from fairlane_extractor.sources.page_decoding import install_bounded_decoding
from fairlane_extractor.sources.request_meter import BLOCK_BYTES, RequestMeter

_FIXED: Final[Mapping[str, Any]] = {
    "format": choose_formats,
    "quiet": True,
    "no_warnings": True,
    "noprogress": True,
    "color": "never",
    "cachedir": False,
    "proxy": "",  # one of the environment would connect on behalf of this process
    "geo_bypass": False,
    "noplaylist": True,
    "playlist_items": "1",
    "retries": 0,
    "extractor_retries": 0,
    "fragment_retries": 0,
    "file_access_retries": 0,
    "skip_unavailable_fragments": False,
    "external_downloader": {"default": "native"},
    "hls_prefer_native": True,
    "updatetime": False,
    # A block of one size has one bound of time.
    "buffersize": BLOCK_BYTES,
    "noresizebuffer": True,
}


class SiteClient(YoutubeDL):  # type: ignore[misc]
    def __init__(self, meter: RequestMeter, *, request_seconds: float) -> None:
        self.meter = meter
        FFmpegFD.real_download = self._refuse_ffmpeg
        install_bounded_decoding()
        os.environ["YTDLP_NO_PLUGINS"] = "1"  # no code is loaded that is not guarded
        super().__init__(
            {**_FIXED, "socket_timeout": request_seconds}, auto_init="no_verbose_header"
        )

    def build_request_director(self, handlers: Any, preferences: Any = None) -> Any:  # noqa: ARG002
        return super().build_request_director([UrllibRH])

    def urlopen(self, req: Any) -> Response:
        deadline = self.meter.begin()
        with self.meter.timed(deadline):
            try:
                response = super().urlopen(req)
            except HTTPError as error:
                error.response = MeteredResponse(error.response, self.meter, deadline)
                raise
        length = response.get_header("Content-Length") or ""
        if length.isdecimal():
            self.meter.announce(response.url, int(length))
        return MeteredResponse(response, self.meter, deadline)

    def read_text(self, address: str, headers: Mapping[str, str] | None = None) -> str:
        with self.urlopen(Request(address, headers=dict(headers or {}))) as response:
            return str(response.read().decode(errors="replace"))

    def load_cookies(self, info: Mapping[str, Any]) -> None:
        """Add the cookies that a site set for a format while its page was parsed."""
        self._load_cookies(info.get("cookies"), autoscope=False)

    def _refuse_ffmpeg(self, *_: Any) -> NoReturn:
        """Refuse media that yt-dlp would leave to ffmpeg, which opens unguarded connections."""
        reason = "the media is encrypted, or a stream that only other programs can download"
        raise self.meter.refuse(ChildError("unsupported_stream", reason))


class MeteredResponse(Response):  # type: ignore[misc]
    """A response with a counted body."""

    def __init__(self, inner: Response, meter: RequestMeter, deadline: float) -> None:
        super().__init__(
            inner.fp, inner.url, inner.headers, inner.status, inner.reason, inner.extensions
        )
        self._inner = inner
        self._meter = meter
        self._deadline = deadline

    def read(self, amt: int | None = None) -> bytes:
        if amt is not None:
            return self._read(amt)
        pieces: list[bytes] = []
        while piece := self._read(BLOCK_BYTES):
            pieces.append(piece)
        return b"".join(pieces)

    def _read(self, amt: int) -> bytes:
        with self._meter.timed(self._deadline):
            data: bytes = self._inner.read(amt)
        self._meter.count(len(data))
        return data

    def close(self) -> None:
        self._inner.close()
        super().close()
