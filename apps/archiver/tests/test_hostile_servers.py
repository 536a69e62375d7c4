"""Hostile servers: files stay in the folder, all sizes are limited, and errors are reported."""

import asyncio
import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from apps.archiver.tests.archiver import Archiver, archiving
from apps.archiver.tests.mastodon_server import Exchange, MastodonServer, mastodon


@pytest.fixture(scope="module")
def cautious(
    server: MastodonServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Archiver]:
    """An archiver with small limits."""
    folder: Path = tmp_path_factory.mktemp("cautious") / "inside"
    bounds = {"largest_bytes": 200_000, "stall_seconds": 1, "longest_seconds": 4, "tries": 2}
    with archiving(folder, server, **bounds) as running:
        yield running


def test_names_stay_in_the_folder_and_can_be_told_apart(
    cautious: Archiver, server: MastodonServer
) -> None:
    names = [
        "..%2F..%2F..%2Fescaped.jpg", "%2e%2e%2fup.jpg", "a%00b.jpg", "x" * 400 + ".jpg",
        "x" * 401 + ".jpg", "", "%2F", "CON.jpg", "con", ".hidden", "tail.", "same.jpg", "SAME.jpg",
        "looks.json", "is.part", "new%0Aline.jpg", "%E2%80%AEgpj.exe", "%ff%fe.jpg", "a%5Cb.jpg",
    ]  # fmt: skip
    urls = [f"{server.url}/hostile/{name}" for name in names]

    async def anything(exchange: Exchange) -> None:
        await exchange.answer(200, exchange.request.path.encode())

    for name in names:
        server.handlers[f"/hostile/{name}"] = anything
    server.post("names", urls=urls)
    server.accounts["names"].statuses[0].id = 7
    before = set(cautious.folder.parent.iterdir())
    counts = cautious.archived(server.name("names"))
    assert (counts["downloaded"], counts["failed"]) == (len(names), 0)
    saved = cautious.files("names")
    [folder] = cautious.folder.glob("files/*names*")
    assert {path.parent for path in cautious.folder.rglob("*-7-*")} == {folder}
    bodies = {f"/hostile/{name}".encode() for name in names}
    assert set(saved.values()) == bodies
    assert all(len(name.encode()) <= 200 and name.isprintable() for name in saved)
    assert not any(name.startswith((".", "-")) or "/" in name for name in saved)
    assert set(cautious.folder.parent.iterdir()) == before
    assert not list(cautious.folder.rglob("*escaped*/*"))


def test_ids_and_addresses_are_not_trusted_either(
    cautious: Archiver, server: MastodonServer
) -> None:
    bad = [
        f"{server.url}9999/",
        "http://[::1",
        "file:///etc/passwd",
        "ftp://x/y",
        "//no",
        "http://\x00/",
        "javascript:x",
    ]
    server.post("addresses", urls=bad)
    [path] = server.post("addresses", "good.jpg")
    status = server.accounts["addresses"].statuses[1]
    status.media = [{**status.media[0], "id": "../../../../tmp/evil\0" * 50}]
    counts = cautious.archived(server.name("addresses"))
    assert (counts["downloaded"], counts["failed"]) == (1, len(bad))
    assert "no address of the web" in counts["trouble"]
    assert list(cautious.files("addresses").values()) == [server.files[path]]


def test_a_file_of_ten_gigabytes_is_refused_before_its_first_byte(
    cautious: Archiver, server: MastodonServer
) -> None:
    [path] = server.post("huge", "huge.bin")

    async def claims_much(exchange: Exchange) -> None:
        await exchange.head(200, {"Content-Length": 10 * 1024**3})
        await server.wait("never")

    server.handlers[path] = claims_much
    counts = cautious.archived(server.name("huge"))
    assert (counts["downloaded"], counts["failed"], counts["bytes"]) == (0, 1, 0)
    assert "10737418240 bytes, and 200000 are allowed" in counts["trouble"]
    assert len(server.asked(path)) == 1


def test_a_body_that_never_ends_is_bounded_by_size_by_time_and_by_silence(
    cautious: Archiver, server: MastodonServer
) -> None:
    [flood] = server.post("endless", "flood.bin")
    [drip] = server.post("endless", "drip.bin")
    [silent] = server.post("endless", "silent.bin")
    [good] = server.post("endless", "good.jpg")

    async def floods(exchange: Exchange) -> None:
        await exchange.head(200, {"Connection": "close"})
        while True:
            await exchange.send(b"x" * 10_000)

    async def drips(exchange: Exchange) -> None:
        await exchange.head(200, {"Connection": "close"})
        while True:
            await exchange.send(b"x")
            await asyncio.sleep(0.1)

    async def says_nothing(exchange: Exchange) -> None:
        await exchange.head(200, {"Content-Length": 100})
        await server.wait("never")

    server.handlers |= {flood: floods, drip: drips, silent: says_nothing}
    counts = cautious.archived(server.name("endless"))
    assert (counts["downloaded"], counts["failed"]) == (1, 3)
    assert list(cautious.files("endless").values()) == [server.files[good]]
    job = cautious.row(server.name("endless"))["last_job"]
    log = cautious.ask("GET", f"/api/jobs/{job}/log")
    told = " ".join(line["message"] for line in log["items"])
    assert "flood.bin: more than 200000 bytes came" in told
    assert "drip.bin: it took longer than 4 s" in told
    assert "silent.bin: the server fell silent" in told
    assert cautious.parts() == []


def test_what_is_packed_twice_or_oddly_is_refused(
    cautious: Archiver, server: MastodonServer
) -> None:
    """A kilobyte that was compressed twice expands to a gigabyte in one step."""
    [twice] = server.post("packed", "twice.bin")
    [oddly] = server.post("packed", "oddly.bin")
    [once] = server.post("packed", "once.txt", body=b"plain")

    async def packs(exchange: Exchange) -> None:
        coding = {twice: "gzip, gzip", oddly: "zstd", once: "gzip"}[exchange.request.path]
        body = gzip.compress(b"plain")
        await exchange.answer(200, body, {"Content-Encoding": coding})

    server.handlers |= dict.fromkeys((twice, oddly, once), packs)
    counts = cautious.archived(server.name("packed"))
    assert (counts["downloaded"], counts["failed"]) == (1, 2)
    assert list(cautious.files("packed").values()) == [b"plain"]
    assert "which is not read" in counts["trouble"]


def test_a_page_or_a_redirect_that_never_ends_is_bounded(
    cautious: Archiver, server: MastodonServer
) -> None:
    [path] = server.post("around", "a.jpg")

    async def goes_round(exchange: Exchange) -> None:
        await exchange.head(302, {"Location": f"{server.url}{path}", "Connection": "close"})
        while exchange.request.number > 3:
            await exchange.send(b"x" * 10_000)
        exchange.keeps = False

    server.handlers[path] = goes_round
    counts = cautious.archived(server.name("around"))
    assert "more than 5 redirects" in counts["trouble"]
    assert len(server.asked(path)) == 6


def test_cookies_are_neither_kept_nor_sent(cautious: Archiver, server: MastodonServer) -> None:
    """A server could set more with each response, and each request would send all of them."""
    [path] = server.post("cookies", "a.jpg")

    async def leads_on(exchange: Exchange) -> None:
        if exchange.request.number == 1:
            cookie = {"Set-Cookie": "seen=yes; Path=/"}
            await exchange.answer(302, b"", {"Location": f"{server.url}{path}", **cookie})
        else:
            await server.file(exchange, b"x")

    server.handlers[path] = leads_on
    assert cautious.archived(server.name("cookies"))["downloaded"] == 1
    assert ["cookie" in request.headers for request in server.asked(path)] == [False, False]


@pytest.mark.parametrize(
    "place",
    ["http://127.0.0.2:{port}/", "http://localhost:{other}/", "http://127.0.0.1:{other}/",
     "http://[::1]:{port}/", "http://[::ffff:127.0.0.1]:{port}/", "http://10.0.0.1/",
     "http://169.254.169.254/latest/meta-data/", "http://2130706433:{port}/", "http://0:{port}/"],
)  # fmt: skip
def test_a_redirect_to_a_private_address_is_refused(
    cautious: Archiver, server: MastodonServer, place: str
) -> None:
    with mastodon() as inside:
        inside.files["/"] = b"the secret"
        target = place.format(port=server.port, other=inside.port)
        name = "inside" + str(abs(hash(place)))[:8]
        [path] = server.post(name, "a.jpg")

        async def leads_inside(exchange: Exchange) -> None:
            await exchange.answer(302, b"", {"Location": target})

        server.handlers[path] = leads_inside
        counts = cautious.archived(server.name(name))
        assert (counts["downloaded"], counts["failed"]) == (0, 1)
        assert "is a private address" in counts["trouble"]
        assert inside.journal == []
        assert not [r for r in server.journal if r.path == "/"]


def test_an_account_inside_is_refused_with_the_reason_in_its_row(cautious: Archiver) -> None:
    account = "http://127.0.0.1:1/@anybody"
    cautious.save(account)
    ended = cautious.ended(cautious.start(account))
    assert (ended["state"], ended["error"]["code"]) == ("failed", "private_address")
    assert "127.0.0.1, port 1, is a private address" in ended["error"]["message"]


def test_a_server_that_speaks_nonsense_fails_its_account_alone(
    cautious: Archiver, server: MastodonServer
) -> None:
    server.post("nonsense", "a.jpg")
    path = f"/api/v1/accounts/{server.accounts['nonsense'].id}/statuses"

    async def nonsense(exchange: Exchange) -> None:
        await exchange.answer(200, b'[{"id": 5, "created_at": "never"}]')

    server.handlers[path] = nonsense
    cautious.save(server.name("nonsense"))
    ended = cautious.ended(cautious.start(server.name("nonsense")))
    assert ended["state"] == "failed"
    assert "does not speak the Mastodon API" in ended["error"]["message"]


@pytest.mark.parametrize("how", ["same", "other"])
def test_pages_that_come_again_are_not_asked_for_for_ever(
    cautious: Archiver, server: MastodonServer, how: str
) -> None:
    """They link to an earlier cursor, or to a new one each time."""
    name = f"circles{how}"
    server.post(name, "a.jpg")
    path = f"/api/v1/accounts/{server.accounts[name].id}/statuses"

    async def links_on(exchange: Exchange) -> None:
        cursor = 900_000 + (exchange.request.number if how == "other" else 0)
        posts = [status.as_json() for status in server.accounts[name].statuses]
        link = f'<{server.url}{path}?max_id={cursor}>; rel="next"'
        await exchange.answer(200, json.dumps(posts).encode(), {"Link": link})

    server.handlers[path] = links_on
    cautious.save(server.name(name))
    ended = cautious.ended(cautious.start(server.name(name)))
    assert (ended["state"], ended["error"]["code"]) == ("failed", "source")
    assert "goes round in circles" in ended["error"]["message"]
    assert (len(server.asked(path)), len(cautious.files(name))) == (2, 1)


@pytest.mark.parametrize(
    "much",
    [{"id": "9" * 1_000}, {"media_attachments": [{"id": str(n)} for n in range(100)]},
     {"url": "https://example.test/" + "x" * 10_000}],
    ids=["id", "media", "url"],
)  # fmt: skip
def test_a_post_that_would_be_written_down_without_bounds_is_refused(
    cautious: Archiver, server: MastodonServer, much: dict[str, object]
) -> None:
    """A post is stored with each of its files, so a page could fill the disk."""
    name = "much" + next(iter(much)).partition("_")[0]
    server.post(name, "a.jpg")
    path = f"/api/v1/accounts/{server.accounts[name].id}/statuses"

    async def says_much(exchange: Exchange) -> None:
        post = server.accounts[name].statuses[0].as_json() | much
        await exchange.answer(200, json.dumps([post]).encode())

    server.handlers[path] = says_much
    cautious.save(server.name(name))
    ended = cautious.ended(cautious.start(server.name(name)))
    assert (ended["state"], ended["error"]["code"]) == ("failed", "source")
    assert "of length <= " in ended["error"]["message"]
