"""The sources: recognition of accounts, feeds, and gallery-dl."""

import json
from pathlib import Path

import httpx
import pytest

from apps.archiver.tests.archiver import Archiver
from apps.archiver.tests.mastodon_server import Exchange, MastodonServer
from fairlane import Permanent
from fairlane.process.program import run_program
from fairlane_archiver.filters import Filters
from fairlane_archiver.sources import feed, recognise_account, refuse_login
from fairlane_archiver.sources.protocol import Tools
from fairlane_archiver.web_client import Answer


@pytest.mark.parametrize(
    ("text", "account", "source"),
    [
        ("@Ann@Social.Example", "@ann@social.example", "mastodon"),
        ("ann@social.example", "@ann@social.example", "mastodon"),
        ("https://social.example/@ann", "@ann@social.example", "mastodon"),
        (" https://social.example/users/Ann/ ", "@ann@social.example", "mastodon"),
        ("http://127.0.0.1:80/@ann", "http://127.0.0.1:80/@ann", "mastodon"),
        ("https://social.example/@ann.rss", "https://social.example/@ann.rss", "feed"),
        ("https://Blog.example/feed/", "https://blog.example/feed/", "feed"),
        ("https://blog.example/index.xml?a=1#x", "https://blog.example/index.xml?a=1", "feed"),
        ("feed:https://blog.example/news", "feed:https://blog.example/news", "feed"),
        ("http://feeds.host.example/ABC1", "http://feeds.host.example/ABC1", "feed"),
        ("https://a.example/?p=1&feed=rss2", "https://a.example/?p=1&feed=rss2", "feed"),
        ("gallery:https://art.example/x", "gallery:https://art.example/x", "gallery"),
    ],
)
def test_an_account_has_one_name(text: str, account: str, source: str) -> None:
    name, found = recognise_account(text)
    assert (name, found.name) == (account, source)
    assert recognise_account(name)[0] == account


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ann",
        "@ann@",
        "https://blog.example/",
        "ftp://a/feed",
        "http://[/feed",
        "@a@b@c",
        "gallery:",
        "gallery:oauth:flickr",
        "gallery:generic:127.0.0.1/x",
        "gallery:generic:HTTP://127.0.0.1/x",
        "gallery:--help",
        "gallery:/etc/passwd",
    ],
)
def test_what_is_no_account_is_told_what_one_is(text: str) -> None:
    with pytest.raises(Permanent, match="give @name@host"):
        recognise_account(text)


LOGINS = ("ann:hunter2", "hunter2", ":hunter2", "a@b:hunter2", "ann:\thunter2")


@pytest.mark.parametrize("prefix", ["https://", "feed:https://", "gallery:https://", "http:/\n/"])
@pytest.mark.parametrize("login", LOGINS)
def test_a_password_does_not_become_the_name_of_a_row(prefix: str, login: str) -> None:
    with pytest.raises(Permanent, match="no name and password") as refusal:
        refuse_login(f"{prefix}{login}@blog.example/feed.xml")
    assert "hunter2" not in str(refusal.value)


@pytest.mark.parametrize("text", ["https://social.example/@ann", "@ann@social.example"])
def test_an_account_without_one_is_left_as_it_is(text: str) -> None:
    assert refuse_login(text) == text


def test_half_of_a_password_is_no_port() -> None:
    with pytest.raises(Permanent, match="give @name@host"):
        recognise_account("feed:https://ann:hun/ter2@blog.example/any")


def test_an_address_of_neither_is_told_how_to_say_what_it_is() -> None:
    with pytest.raises(Permanent) as refused:
        recognise_account("https://pics.example/ann")
    assert "give feed:https://pics.example/ann;" in str(refused.value)
    assert "gallery:https://pics.example/ann " in str(refused.value)


def test_a_feed_gives_its_enclosures_and_media_through_all_its_pages(
    archiver: Archiver, server: MastodonServer
) -> None:
    for name in ("one.mp3", "two.mp4", "three.jpg", "four.ogg"):
        server.files[f"/pod/{name}"] = name.encode() * 10
    rss = f"""<?xml version="1.0"?>
    <rss version="2.0" xmlns:media="http://search.yahoo.com/mrss/"
         xmlns:atom="http://www.w3.org/2005/Atom"><channel><title>pod</title>
    <atom:link rel="next" href="{server.url}/pod/feed?page=2"/>
    <item><title>First</title><guid>urn:1</guid><pubDate>Mon, 01 Jan 2024 10:00:00 GMT</pubDate>
      <enclosure url="{server.url}/pod/one.mp3" length="0" type="audio/mpeg"/>
      <media:content url="/pod/two.mp4" type="video/mp4"/></item>
    <item><title>Second</title><guid>urn:2</guid>
      <media:content url="{server.url}/pod/three.jpg" medium="image"/></item>
    <item><title>None</title><guid>urn:3</guid></item>
    </channel></rss>"""
    atom = f"""<feed xmlns="http://www.w3.org/2005/Atom"><title>pod</title>
    <entry><title>Old</title><id>urn:4</id><updated>2023-05-01T00:00:00Z</updated>
      <link rel="enclosure" href="{server.url}/pod/four.ogg" type="audio/ogg"/></entry></feed>"""

    async def pages(exchange: Exchange) -> None:
        body = atom if exchange.request.query.get("page") == "2" else rss
        await exchange.answer(200, body.encode(), {"Content-Type": "application/xml"})

    server.handlers["/pod/feed"] = pages
    account = f"{server.url}/pod/feed"
    counts = archiver.archived(account, kinds=["audio", "image"])
    assert (counts["downloaded"], counts["filtered"], counts["page"]) == (3, 1, 2)
    archiver.save(account)
    again = archiver.done(archiver.go_on(account))
    assert (again["downloaded"], again["skipped"]) == (1, 3)
    assert set(archiver.files("pod_feed").values()) == {
        body for path, body in server.files.items() if path.startswith("/pod/")
    }


def test_what_is_no_feed_says_so(archiver: Archiver, server: MastodonServer) -> None:
    server.files["/not/feed"] = b"<html>hello</html>"
    account = f"{server.url}/not/feed"
    archiver.save(account)
    ended = archiver.ended(archiver.start(account))
    assert "is no feed of RSS or Atom" in ended["error"]["message"]


def test_a_feed_that_is_the_name_of_a_file_does_not_open_it(
    archiver: Archiver, server: MastodonServer, tmp_path: Path
) -> None:
    """It could name any file of this machine, or one that never ends."""
    inside = tmp_path / "inside.xml"
    inside.write_text("<rss version='2.0'><channel><item><guid>1</guid></item></channel></rss>")
    server.files["/names/feed"] = str(inside).encode()
    account = f"{server.url}/names/feed"
    archiver.save(account)
    ended = archiver.ended(archiver.start(account))
    assert ended["state"] == "failed"
    assert "is no feed of RSS or Atom" in ended["error"]["message"]


def test_an_entry_that_makes_no_sense_does_not_take_the_others_along(
    archiver: Archiver, server: MastodonServer
) -> None:
    server.files["/odd/good.jpg"] = b"pixels"
    server.files["/odd/feed"] = f"""<rss version="2.0"><channel>
    <item><guid>1</guid><enclosure url="http://[x/bad.jpg" type="image/jpeg"/></item>
    <item><guid>2</guid><pubDate>Mon, 01 Jan 99999 10:00:00 GMT</pubDate>
      <enclosure url="good.jpg" type="image/jpeg" length="{"9" * 5000}"/></item>
    </channel></rss>""".encode()
    counts = archiver.archived(f"{server.url}/odd/feed")
    assert (counts["downloaded"], counts["failed"]) == (1, 1)
    [sidecar] = archiver.folder.glob("files/*odd_feed*/*good.jpg.json")
    assert "url" not in json.loads(sidecar.read_bytes())["post"]  # a guid is no address


def test_a_feed_with_half_a_character_is_refused_with_the_reason(
    archiver: Archiver, server: MastodonServer
) -> None:
    server.files["/half/feed"] = (
        b"<rss version='2.0'><channel><item><guid>1</guid><title>x&#xD800;y</title></item>"
    )
    account = f"{server.url}/half/feed"
    archiver.save(account)
    ended = archiver.ended(archiver.start(account))
    assert (ended["state"], ended["error"]["code"]) == ("failed", "source")
    assert "cannot be read as a feed" in ended["error"]["message"]


def test_gallery_dl_lists_and_its_files_are_saved_like_all_others(
    archiver: Archiver, server: MastodonServer
) -> None:
    for number in range(3):
        server.post("gallery", f"{number}.jpg")
    account = f"gallery:mastodon:{server.url}/@gallery"
    counts = archiver.archived(account)
    assert (counts["downloaded"], counts["failed"]) == (3, 0)
    saved = {body for path, body in server.files.items() if "/gallery/" in path}
    assert set(archiver.files("gallery_mastodon").values()) == saved
    archiver.save("gallery:http://127.0.0.1:1/x")
    ended = archiver.ended(archiver.start("gallery:http://127.0.0.1:1/x"))
    assert ended["error"]["code"] == "private_address"


@pytest.mark.parametrize(("bound", "most"), [("MOST_BYTES", 160 << 20), ("MOST_SECONDS", 1)])
async def test_a_feed_that_takes_too_much_to_read_is_refused_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, bound: str, most: int
) -> None:
    monkeypatch.setattr(feed, bound, most)

    class Web:
        async def read(self, url: str) -> Answer:
            body = b"<rss version='2.0'><channel>" + b"<a>" * 500_000
            return Answer(url, httpx.Headers(), body)

    tools = Tools(web=Web(), run=run_program)  # type: ignore[arg-type]
    pages = feed.Feed().pages(
        "http://pods.example/feed", cursor=None, floor=None, filters=Filters(), tools=tools
    )
    with pytest.raises(Permanent, match="it takes more than"):
        await anext(pages)
