"""A site on loopback that speaks what yt-dlp expects, and misbehaves where a test says so.

with site() as server:
    server.page("/watch", video="/clip.mp4", tracks={"en": "/en.vtt"})
    server.file("/clip.mp4", data)          # with ranges
    server.answers["/slow"] = lambda exchange: exchange.wait()
    ...
    assert [request.path for request in server.journal] == ["/watch", "/clip.mp4"]
"""

import re
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

import imageio_ffmpeg

MP4: Final = "video/mp4"
HLS: Final = "application/vnd.apple.mpegurl"
BLOCK: Final = 16 * 1024
WAIT_SECONDS: Final = 60  # ends a broken test

Answer = Callable[["Exchange"], None]


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    headers: Mapping[str, str]
    number: int  # the requests of this path are counted from 1

    @property
    def start(self) -> int | None:
        """The first byte of the requested range."""
        found = re.fullmatch(r"bytes=(\d+)-", self.headers.get("range", ""))
        return int(found[1]) if found else None


@dataclass
class Exchange:
    """One request, and the ways to answer it."""

    request: Request
    server: "Site"
    handler: BaseHTTPRequestHandler

    def head(self, status: int, headers: Mapping[str, object] | None = None) -> None:
        self.handler.send_response(status)
        for name, value in (headers or {}).items():
            self.handler.send_header(name, str(value))
        self.handler.end_headers()

    def send(self, data: bytes) -> None:
        self.handler.wfile.write(data)
        self.handler.wfile.flush()

    def answer(self, status: int, body: bytes = b"", **headers: object) -> None:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.head(status, {"Content-Length": len(body), **named})
        self.send(body)

    def wait(self) -> None:
        """Send no more until the test ends."""
        self.server.released.wait(WAIT_SECONDS)

    def send_endlessly(self, data: bytes) -> None:
        while not self.server.released.is_set():
            self.send(data)

    def drip(self, data: bytes = b"x", seconds: float = 0.02) -> None:
        """Send a little at a time, for as long as the client waits."""
        while not self.server.released.wait(seconds):
            self.send(data)


@dataclass
class Site:
    """The answers of a site by path, and a journal of its requests."""

    port: int = 0
    answers: dict[str, Answer] = field(default_factory=dict)
    journal: list[Request] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        return f"http://{self.host}"

    def requests(self, path: str) -> list[Request]:
        return [request for request in self.journal if request.path == path]

    def page(
        self,
        path: str,
        *,
        video: str,
        title: str = "A walk",
        tracks: Mapping[str, str] | None = None,
        type: str = MP4,
    ) -> str:
        lines = "".join(
            f'<track kind="subtitles" srclang="{language}" src="{address}">'
            for language, address in (tracks or {}).items()
        )
        html = (
            f"<!doctype html><html><head><title>{title}</title></head><body>"
            f'<video controls src="{video}" type="{type}">{lines}</video></body></html>'
        )
        return self.html(path, html)

    def html(self, path: str, text: str) -> str:
        body = text.encode()
        self.answers[path] = lambda exchange: exchange.answer(
            200, body, Content_Type="text/html; charset=utf-8"
        )
        return self.url + path

    def file(self, path: str, data: bytes, type: str = MP4) -> str:
        self.answers[path] = lambda exchange: send_file(exchange, data, type)
        return self.url + path

    def redirect(self, path: str, target: str) -> str:
        self.answers[path] = lambda exchange: exchange.answer(302, Location=target)
        return self.url + path

    def failing(self, path: str, *, times: int, status: int, then: Answer) -> str:
        """Answer the first requests with an error."""

        def answer(exchange: Exchange) -> None:
            if exchange.request.number <= times:
                exchange.answer(status)
            else:
                then(exchange)

        self.answers[path] = answer
        return self.url + path

    def playlist(self, folder: str, clip: Path, workplace: Path) -> str:
        """Serve a clip in pieces of a second, and return the address of their playlist."""
        for path in cut_in_pieces(clip, workplace):
            kind = HLS if path.suffix == ".m3u8" else "video/mp2t"
            self.file(f"{folder}/{path.name}", path.read_bytes(), kind)
        return f"{self.url}{folder}/index.m3u8"


def send_file(exchange: Exchange, data: bytes, type: str, *, until: int | None = None) -> None:
    """Send a file, or the requested range of it; `until` stops before its end."""
    start = exchange.request.start
    headers: dict[str, object] = {"Content-Type": type, "Accept-Ranges": "bytes"}
    if start is not None and start >= len(data):
        exchange.head(416, {"Content-Range": f"bytes */{len(data)}", "Content-Length": 0})
        return
    first = start or 0
    if start is not None:
        headers["Content-Range"] = f"bytes {first}-{len(data) - 1}/{len(data)}"
    headers["Content-Length"] = len(data) - first
    exchange.head(200 if start is None else 206, headers)
    body = data[first : len(data) if until is None else until]
    for offset in range(0, len(body), BLOCK):
        exchange.send(body[offset : offset + BLOCK])


def cut_in_pieces(clip: Path, folder: Path) -> list[Path]:
    subprocess.run(
        [imageio_ffmpeg.get_ffmpeg_exe(), "-nostdin", "-v", "error", "-i", clip, "-c:v", "libx264",
         "-g", "10", "-preset", "ultrafast", "-c:a", "aac", "-f", "hls", "-hls_time", "1",
         "-hls_playlist_type", "vod", folder / "index.m3u8"],
        check=True, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    return sorted(folder.iterdir())


class _Handler(BaseHTTPRequestHandler):
    site: Site

    def do_GET(self) -> None:
        self._answer()

    def do_HEAD(self) -> None:
        self._answer()

    def _answer(self) -> None:
        site = self.site
        headers = {name.lower(): value for name, value in self.headers.items()}
        with site.lock:
            number = len(site.requests(self.path)) + 1
            request = Request(self.command, self.path, headers, number)
            site.journal.append(request)
        exchange = Exchange(request, site, self)
        with suppress(ConnectionError):  # the client has read enough
            answer = site.answers.get(self.path)
            if answer is None:
                exchange.answer(404)
            else:
                answer(exchange)

    def log_message(self, *_: Any) -> None:
        """Write no log: the journal has the requests."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, *_: Any) -> None:
        """Ignore connections that the client has closed."""


@contextmanager
def site() -> Iterator[Site]:
    """Serve a site for the length of the block."""
    served = Site()
    server = _Server(("127.0.0.1", 0), type("Handler", (_Handler,), {"site": served}))
    served.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield served
    finally:
        served.released.set()
        server.shutdown()
        thread.join()
        server.server_close()
