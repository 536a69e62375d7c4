"""Media of a site on loopback become files: resumed, joined, bounded, or refused with a reason."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Final

import pytest

from apps.extractor.tests.clips import cues_text, make_clip, shared_clip
from apps.extractor.tests.fetching import Fetcher, fetching
from apps.extractor.tests.site_server import (
    HLS,
    MP4,
    Exchange,
    Site,
    cut_in_pieces,
    send_file,
    site,
)
from fairlane import Retryable
from fairlane_extractor.media import Media
from fairlane_extractor.sources import fetch
from tests.support.eventually import eventually

VTT: Final = "text/vtt"


@pytest.fixture
def server() -> Iterator[Site]:
    with site() as running:
        yield running


@pytest.fixture
async def fetcher(server: Site, tmp_path: Path) -> AsyncIterator[Fetcher]:
    async with fetching(server, tmp_path) as running:
        yield running


@pytest.fixture(scope="module")
def clip() -> bytes:
    """A clip of three seconds with pictures and sound, and an unused box of 400 KB at its end."""
    data = shared_clip(".mp4", seconds=3, sound="music").read_bytes()
    return data + (400_000).to_bytes(4, "big") + b"free" + bytes(400_000 - 8)


@pytest.fixture(scope="module")
def pieces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same clip as a playlist of pieces."""
    folder = tmp_path_factory.mktemp("pieces")
    path = shared_clip(".mp4", seconds=3, sound="music")
    cut_in_pieces(path, folder)
    return folder


def serve_pieces(server: Site, pieces: Path, *, playlist: str = "") -> str:
    for path in pieces.iterdir():
        kind = HLS if path.suffix == ".m3u8" else "video/mp2t"
        server.file(f"/hls/{path.name}", path.read_bytes(), kind)
    if playlist:
        server.file("/hls/index.m3u8", playlist.encode(), HLS)
    return f"{server.url}/hls/index.m3u8"


def direct(server: Site, path: str) -> Media:
    """Return the media of a direct link as it is parsed: the download requests it again."""
    link = server.url + path
    return Media(input=link, kind="link", platform="web", title="clip", address=link)


async def test_a_page_becomes_a_file_and_its_tracks_files_beside_it(
    server: Site, fetcher: Fetcher, clip: bytes
) -> None:
    """A track that is missing, and one on a private address, are left out with a reason."""
    cues = cues_text(".vtt", [(0, 1, "The river is wide.")])
    server.file("/clip.mp4", clip)
    server.file("/en.vtt", cues.encode(), VTT)
    with site() as inside:
        inside.file("/de.vtt", cues.encode(), VTT)
        tracks = {"en": "/en.vtt", "fr": "/missing.vtt", "de": f"{inside.url}/de.vtt"}
        link = server.page("/watch", video="/clip.mp4", tracks=tracks)
        media = await fetcher.parse(link)
        local = await fetcher.download(media)
        assert inside.journal == []

    assert Path(local.path).read_bytes() == clip
    assert Path(local.path).parent == fetcher.folder
    assert (local.has_video, local.has_audio, local.width, local.height) == (True, True, 640, 360)
    assert local.seconds == pytest.approx(3, abs=0.3)
    [track] = local.tracks
    assert [reason.partition(":")[0] for reason in local.lost_tracks] == [
        "subtitles fr", "subtitles de",
    ]  # fmt: skip
    assert "private address" in local.lost_tracks[1]
    assert (track.language, track.format, track.url) == ("en", "vtt", None)
    assert track.path is not None
    assert Path(track.path).read_text() == cues
    # The page is not requested again, and a download that is complete not either.
    assert len(server.requests("/watch")) == 1
    assert await fetcher.download(media) == local
    assert len(server.requests("/clip.mp4")) == 1
    assert fetcher.percents[-1] <= 100


async def test_a_download_that_was_killed_goes_on_where_it_was(
    server: Site, fetcher: Fetcher, clip: bytes
) -> None:
    half = len(clip) // 2

    def stop_in_the_middle(exchange: Exchange) -> None:
        if exchange.request.number == 1:  # of the parsing
            send_file(exchange, clip, MP4)
        elif exchange.request.start is None:
            send_file(exchange, clip, MP4, until=half)
            exchange.wait()
        else:
            send_file(exchange, clip, MP4)

    server.answers["/clip.mp4"] = stop_in_the_middle
    media = await fetcher.parse(f"{server.url}/clip.mp4")
    running = asyncio.ensure_future(fetcher.download(media))

    def stored() -> int:
        return sum(path.stat().st_size for path in fetcher.folder.glob("part-*"))

    await eventually(lambda: stored() > 0, what="the first block of the file")
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    before = stored()
    local = await fetcher.download(media)

    assert Path(local.path).read_bytes() == clip
    starts = [request.start for request in server.requests("/clip.mp4")]
    assert starts == [None, None, before]


async def test_a_file_that_ends_too_early_is_resumed_by_the_next_try(
    server: Site, fetcher: Fetcher, clip: bytes
) -> None:
    half = len(clip) // 2

    def answer(exchange: Exchange) -> None:
        is_first = exchange.request.number == 2
        send_file(exchange, clip, MP4, until=half if is_first else None)

    server.answers["/clip.mp4"] = answer
    media = direct(server, "/clip.mp4")
    error = await fetcher.failure(media)
    assert (error.code, isinstance(error, Retryable)) == ("incomplete", True)
    local = await fetcher.download(media)
    assert Path(local.path).read_bytes() == clip
    assert server.journal[-1].start == half


async def test_a_server_that_fails_is_requested_once_a_try(
    server: Site, fetcher: Fetcher, clip: bytes
) -> None:
    media = await fetcher.parse(server.file("/clip.mp4", clip))
    server.failing("/clip.mp4", times=2, status=503, then=lambda one: send_file(one, clip, MP4))
    error = await fetcher.failure(media)
    assert (error.code, isinstance(error, Retryable)) == ("http_5xx", True)
    assert len(server.journal) == 2
    await fetcher.download(media)
    assert len(server.journal) == 3


async def test_an_address_that_has_expired_is_parsed_again(
    server: Site, fetcher: Fetcher, clip: bytes
) -> None:
    server.page("/watch", video="/old.mp4")
    media = await fetcher.parse(f"{server.url}/watch")
    server.answers["/old.mp4"] = lambda exchange: exchange.answer(403)
    server.file("/new.mp4", clip)
    server.page("/watch", video="/new.mp4")
    local = await fetcher.download(media)
    assert Path(local.path).read_bytes() == clip
    paths = [request.path for request in server.journal]
    assert paths == ["/watch", "/old.mp4", "/watch", "/new.mp4"]


async def test_pieces_of_a_playlist_become_one_file_and_the_finished_ones_are_not_repeated(
    server: Site, fetcher: Fetcher, pieces: Path
) -> None:
    link = serve_pieces(server, pieces)
    second = (pieces / "index1.ts").read_bytes()
    server.failing(
        "/hls/index1.ts", times=1, status=503, then=lambda one: send_file(one, second, "video/mp2t")
    )
    media = await fetcher.parse(link)
    assert media.seconds == pytest.approx(3, abs=0.3)
    assert media.bytes is None
    error = await fetcher.failure(media)
    assert error.code == "http_5xx"
    local = await fetcher.download(media)
    assert Path(local.path).name == "media.mp4"
    assert (local.has_video, local.has_audio) == (True, True)
    assert local.seconds == pytest.approx(3, abs=0.3)
    assert len(server.requests("/hls/index0.ts")) == 1
    assert len(server.requests("/hls/index1.ts")) == 2
    assert not list(fetcher.folder.glob("part-*"))


async def test_pieces_may_neither_lead_inside_nor_exceed_the_bound_nor_be_left_to_ffmpeg(
    server: Site, fetcher: Fetcher, pieces: Path
) -> None:
    whole = (pieces / "index.m3u8").read_text()
    with site() as inside:
        inside.file("/index1.ts", (pieces / "index1.ts").read_bytes(), "video/mp2t")
        outer = whole.replace("index1.ts", f"{inside.url}/index1.ts")
        media = await fetcher.parse(serve_pieces(server, pieces, playlist=outer))
        error = await fetcher.failure(media)
        assert (error.code, inside.journal) == ("private_address", [])

    size = (pieces / "index0.ts").stat().st_size
    endless = whole.replace("#EXT-X-ENDLIST", "#EXTINF:1,\nindex0.ts\n" * 1000 + "#EXT-X-ENDLIST")
    media = await fetcher.parse(serve_pieces(server, pieces, playlist=endless))
    error = await fetcher.failure(media, largest_bytes=5 * size)
    assert error.code == "too_large"
    assert len(server.requests("/hls/index0.ts")) < 10

    key = '#EXT-X-KEY:METHOD=SAMPLE-AES,URI="http://10.0.0.1/key"\n#EXTINF'
    link = serve_pieces(server, pieces, playlist=whole.replace("#EXTINF", key, 1))
    error = await fetcher.failure(await fetcher.parse(link))
    assert error.code == "unsupported_stream"


async def test_a_picture_and_a_sound_of_two_files_are_joined(
    server: Site, fetcher: Fetcher, tmp_path: Path
) -> None:
    picture = make_clip(tmp_path / "picture.mp4", seconds=2, sound="none")
    sound = make_clip(tmp_path / "sound.m4a", seconds=2, sound="music")
    server.file("/picture.mp4", picture.read_bytes())
    server.file("/sound.m4a", sound.read_bytes(), "audio/mp4")
    manifest = (
        '<MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static" mediaPresentationDuration="PT2S">'
        '<Period><AdaptationSet mimeType="video/mp4"><Representation id="v" bandwidth="1000" '
        'width="640" height="360" codecs="avc1.42c01e"><BaseURL>/picture.mp4</BaseURL>'
        '</Representation></AdaptationSet><AdaptationSet mimeType="audio/mp4"><Representation '
        'id="a" bandwidth="100" codecs="mp4a.40.2"><BaseURL>/sound.m4a</BaseURL>'
        "</Representation></AdaptationSet></Period></MPD>"
    )
    server.file("/clip.mpd", manifest.encode(), "application/dash+xml")
    local = await fetcher.fetch(f"{server.url}/clip.mpd")
    assert (local.has_video, local.has_audio) == (True, True)
    assert local.seconds == pytest.approx(2, abs=0.3)
    assert "joining the streams" in fetcher.messages


async def test_a_body_that_is_too_large_or_has_no_end_is_bounded(
    server: Site, fetcher: Fetcher, clip: bytes
) -> None:
    def endless(exchange: Exchange) -> None:
        exchange.head(200, {"Content-Type": MP4})
        exchange.send_endlessly(b"x" * 100_000)

    def announces_much(exchange: Exchange) -> None:
        exchange.head(200, {"Content-Type": MP4, "Content-Length": 10**8})
        exchange.wait()

    server.answers |= {"/endless.mp4": endless, "/much.mp4": announces_much}
    for path in ("/endless.mp4", "/much.mp4"):
        media = await fetcher.parse(server.url + path)
        error = await fetcher.failure(media, largest_bytes=2_000_000)
        assert error.code == "too_large"
        stored = sum(file.stat().st_size for file in fetcher.folder.glob("part-*"))
        assert stored <= 2_000_000
        for file in fetcher.folder.iterdir():
            file.unlink()


@pytest.mark.parametrize("slowness", ["silent", "drip"])
async def test_media_that_arrive_too_slowly_are_a_time_out(
    server: Site, fetcher: Fetcher, slowness: str
) -> None:
    def answer(exchange: Exchange) -> None:
        exchange.head(200, {"Content-Type": MP4, "Content-Length": 10**6})
        if slowness == "drip":
            exchange.drip()
        exchange.wait()

    server.answers["/slow.mp4"] = answer
    error = await fetcher.failure(direct(server, "/slow.mp4"), request_seconds=0.5)
    assert (error.code, isinstance(error, Retryable)) == ("timeout", True)


async def test_media_that_would_take_more_than_a_day_are_refused(
    server: Site, fetcher: Fetcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(exchange: Exchange) -> None:
        exchange.head(200, {"Content-Type": MP4})
        exchange.drip(b"x" * 100_000)

    server.answers["/slow.mp4"] = answer
    media = await fetcher.parse(f"{server.url}/slow.mp4")
    monkeypatch.setattr(fetch, "DOWNLOAD_SECONDS", 0.5)
    error = await fetcher.failure(media)
    assert (error.code, isinstance(error, Retryable)) == ("too_slow", False)


async def test_a_page_a_playlist_or_nothing_in_place_of_media_is_refused(
    server: Site, fetcher: Fetcher
) -> None:
    """The playlist would make a program read files of this machine."""
    bodies = {
        "page": (b"<html><p>log in first</p></html>", "not_a_media_file"),
        "list": (b"#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n#EXT-X-ENDLIST\n", "not_a_media_file"),
        "head": (b"\0\0\0\x18ftypmp42" + b"\0" * 5000, "corrupt_media"),
        "none": (b"", "empty_file"),
    }
    media = await fetcher.parse(server.file("/clip.mp4", b"x"))
    parsed = fetcher.folder / "parsed.json"
    description = parsed.read_bytes()
    for name, (body, code) in bodies.items():
        server.file("/clip.mp4", body)
        parsed.write_bytes(description)  # a failure removes it
        assert (await fetcher.failure(media)).code == code, name
        assert not list(fetcher.folder.glob("media*"))


async def test_a_file_that_changed_between_two_tries_is_downloaded_from_its_begin(
    server: Site, fetcher: Fetcher, clip: bytes
) -> None:
    media = await fetcher.parse(server.file("/clip.mp4", clip))
    fetcher.folder.joinpath("part-0.mp4.part").write_bytes(b"\xff" * (len(clip) // 2))
    error = await fetcher.failure(media)
    assert (error.code, isinstance(error, Retryable)) == ("incomplete", True)
    local = await fetcher.download(media)
    assert Path(local.path).read_bytes() == clip
