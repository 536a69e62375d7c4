"""Links of a site on loopback become media, or an error with a code and a remedy.

yt-dlp runs for real, in a child process.
"""

import zlib
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from apps.extractor.tests.fetching import Fetcher, fetching
from apps.extractor.tests.site_server import HLS, MP4, Exchange, Site, send_file, site
from fairlane import BadSetting, Permanent, Retryable
from fairlane_extractor.child_program import run_child
from fairlane_extractor.media import Media
from fairlane_extractor.sources import fetch


@pytest.fixture
def server() -> Iterator[Site]:
    with site() as running:
        yield running


@pytest.fixture
async def fetcher(server: Site, tmp_path: Path) -> AsyncIterator[Fetcher]:
    async with fetching(server, tmp_path) as running:
        yield running


async def test_a_page_with_a_video_and_its_tracks_is_parsed_with_one_request(
    server: Site, fetcher: Fetcher
) -> None:
    tracks = {"en": "/en.vtt", "zh": "/zh.vtt"}
    link = server.page("/watch?v=1", video="/clip.mp4", tracks=tracks, title="A walk 散步")

    media = await fetcher.parse(f"look: {link} !")

    assert (media.kind, media.platform, media.title) == ("link", "web", "A walk 散步")
    assert (media.address, media.is_direct, media.entries) == (link, False, 1)
    found = [(track.language, track.url, track.format) for track in media.tracks]
    assert found == [
        ("en", f"{server.url}/en.vtt", "vtt"),
        ("zh", f"{server.url}/zh.vtt", "vtt"),
    ]
    assert [request.path for request in server.journal] == ["/watch?v=1"]
    assert fetcher.messages == [f"reading {link}"]


async def test_a_direct_link_has_its_size_and_a_redirect_is_followed(
    server: Site, fetcher: Fetcher
) -> None:
    server.file("/a%20b.mp4", b"x" * 1000)
    link = server.redirect("/short", "/a%20b.mp4")
    media = await fetcher.parse(link)
    assert (media.is_direct, media.bytes, media.title) == (True, 1000, "a b")
    error = await fetcher.refusal(link, largest_bytes=999)
    assert error.code == "too_large"
    assert "1,000 bytes, and 999 are allowed" in str(error)


async def test_of_a_page_with_several_videos_the_first_is_taken_and_the_count_is_shown(
    server: Site, fetcher: Fetcher
) -> None:
    videos = "".join(f'<video src="/{number}.mp4"></video>' for number in range(3))
    link = server.html("/list", f"<html><title>Three</title>{videos}</html>")
    media = await fetcher.parse(link)
    assert (media.title, media.entries) == ("Three (1)", 3)


async def test_a_page_without_media_or_with_a_ring_of_pages_is_refused(
    server: Site, fetcher: Fetcher
) -> None:
    link = server.html("/text", "<html><title>Only text</title><p>words</p></html>")
    error = await fetcher.refusal(link)
    assert error.code == "no_media"
    server.redirect("/a", "/b")
    error = await fetcher.refusal(server.redirect("/b", "/a"))
    assert error.code == "not_found"
    assert len(server.journal) < 20


@pytest.mark.parametrize("slowness", ["silent", "drip"])
async def test_a_page_that_takes_too_long_is_a_time_out(
    server: Site, fetcher: Fetcher, slowness: str
) -> None:
    """The second one sends bytes all the time, so that the time-out of its socket never ends."""

    def answer(exchange: Exchange) -> None:
        if slowness == "drip":
            exchange.head(200, {"Content-Type": "text/html"})
            exchange.drip(b"<html> ")
        exchange.wait()

    server.answers["/slow"] = answer
    error = await fetcher.refusal(f"{server.url}/slow", request_seconds=1)
    assert (error.code, isinstance(error, Retryable)) == ("timeout", True)


@pytest.mark.parametrize("encoding", ["identity", "gzip"])
async def test_a_page_without_an_end_is_bounded_also_if_it_is_packed(
    server: Site, fetcher: Fetcher, encoding: str
) -> None:
    text = b"<html> " * 20_000
    packer = zlib.compressobj(wbits=zlib.MAX_WBITS | 16)

    def answer(exchange: Exchange) -> None:
        exchange.head(200, {"Content-Type": "text/html", "Content-Encoding": encoding})
        if encoding == "identity":
            exchange.send_endlessly(text)
        for _ in range(1000):
            exchange.send(packer.compress(text))
        exchange.send(packer.flush())

    server.answers["/endless"] = answer
    error = await fetcher.refusal(f"{server.url}/endless")
    assert error.code == "too_large"
    assert "67,108,864 bytes" in str(error)


async def test_private_addresses_are_refused_also_behind_a_redirect(
    server: Site, fetcher: Fetcher
) -> None:
    with site() as inside:
        inside.file("/secret.mp4", b"secret")
        target = f"{inside.url}/secret.mp4"
        error = await fetcher.refusal(target)
        assert error.code == "private_address"
        assert f"FAIRLANE_EXTRACT_ALLOW={inside.host}" in str(error)
        link = server.redirect("/out", target)
        error = await fetcher.refusal(link)
        assert error.code == "private_address"
        assert inside.journal == []
    with pytest.raises(BadSetting, match="cannot be allowed"):
        await fetcher.parse(target, allow=("a b",))


async def test_a_live_stream_is_refused_and_a_playlist_that_ended_has_its_length(
    server: Site, fetcher: Fetcher
) -> None:
    lines = "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2.0,\na.ts\n#EXTINF:1.5,\nb.ts\n"
    server.file("/live.m3u8", lines.encode(), HLS)
    server.file("/ended.m3u8", f"{lines}#EXT-X-ENDLIST\n".encode(), HLS)
    live = server.page("/live", video="/live.m3u8", type=HLS)
    assert (await fetcher.refusal(live)).code == "live_stream"
    ended = server.page("/ended", video="/ended.m3u8", type=HLS)
    error = await fetcher.refusal(ended, longest_seconds=3.0)
    assert error.code == "too_long"
    assert "4 seconds, and 3 are allowed" in str(error)


async def test_a_short_link_is_resolved_and_its_name_may_not_lead_inside(
    server: Site, fetcher: Fetcher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The child resolves `v.douyin.com` to loopback, as a hostile name server may do it."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).resolve().parents[3]))
    child = "apps.extractor.tests.child_with_names"
    target = f"http://www.iesdouyin.com:{server.port}/watch"
    server.redirect("/abc/", target)
    server.file("/watch", b"x")
    link = f"http://v.douyin.com:{server.port}/abc/"
    request = {
        "action": "parse", "input": link, "link": link, "folder": str(tmp_path),
        "allow": [server.host], "request_seconds": 10.0, "largest_bytes": 10**9,
        "longest_seconds": 3600.0, "cpu_seconds": 60.0,
    }  # fmt: skip
    media = Media(**await run_child(fetcher.ctx, child, request))
    assert (media.platform, media.address) == ("douyin", target)
    assert [request.path for request in server.journal] == ["/abc/", "/watch"]
    assert "iPhone" in server.journal[0].headers["user-agent"]
    for hostile in (link, target):
        with pytest.raises(Permanent, match="private address") as raised:
            await run_child(fetcher.ctx, child, {**request, "link": hostile, "allow": []})
        assert raised.value.code == "private_address"
    assert len(server.journal) == 2


async def test_a_server_that_closes_the_connection_or_a_name_without_address_can_be_retried(
    server: Site, fetcher: Fetcher
) -> None:
    server.answers["/closes"] = lambda _: None
    for link in (f"{server.url}/closes", "http://name.invalid/clip.mp4"):
        error = await fetcher.refusal(link)
        assert (error.code, isinstance(error, Retryable)) == ("unreachable", True)


async def test_a_failed_server_that_recovers_is_parsed_by_the_next_try(
    server: Site, fetcher: Fetcher
) -> None:
    link = server.failing(
        "/clip.mp4", times=1, status=500, then=lambda one: send_file(one, b"x" * 10, MP4)
    )
    error = await fetcher.refusal(link)
    assert (error.code, isinstance(error, Retryable)) == ("http_5xx", True)
    assert len(server.journal) == 1  # the stage retries and counts, and not yt-dlp
    assert (await fetcher.parse(link)).title == "clip"


async def test_a_title_with_half_a_character_and_signs_of_direction_is_repaired(
    server: Site, fetcher: Fetcher
) -> None:
    facts = (
        '{"@context":"https://schema.org","@type":"VideoObject",'
        f'"contentUrl":"{server.url}/clip.mp4",'
        '"name":"half \\ud83d end \\u202egpj\\u2066\\u001b[31m","description":"\\udc00"}'
    )
    server.file("/clip.mp4", b"x")
    link = server.html("/watch", f'<script type="application/ld+json">{facts}</script>')
    media = await fetcher.parse(link)
    assert media.title == "half \ufffd end gpj[31m"


async def test_a_page_that_is_made_to_be_slow_is_refused_after_its_cpu_time(
    server: Site, fetcher: Fetcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetch, "PARSE_CPU_SECONDS", 1.0)
    link = server.html("/watch", "<html>" + "<video " * 60_000)
    error = await fetcher.refusal(link)
    assert (error.code, isinstance(error, Permanent)) == ("unsupported_site", True)
    assert "1 seconds of CPU time" in str(error)


async def test_a_length_that_is_no_number_is_refused_with_a_sentence(
    server: Site, fetcher: Fetcher
) -> None:
    """yt-dlp reads the playlist of a direct link, and this program that of a page."""
    lines = "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:.,\na.ts\n#EXT-X-ENDLIST\n"
    direct = server.file("/list.m3u8", lines.encode(), HLS)
    for link, reason in {
        server.page("/watch", video="/list.m3u8", type=HLS): "gives '.' as the length of a piece",
        direct: "has a number that cannot be read",
    }.items():
        error = await fetcher.refusal(link)
        assert error.code == "unsupported_stream"
        assert reason in str(error)
