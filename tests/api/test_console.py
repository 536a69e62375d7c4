"""The console's files, as the API serves them; `tests/console` tests the console itself."""

import gzip
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
from fastapi import FastAPI

from fairlane import Fairlane
from fairlane.api import console
from tests.support.talking import Client, said, talking_to

PAGE: Final = '<!doctype html><script type="module" src="./assets/index-1a2b.js"></script>'
SCRIPT: Final = "console.log('hello')\n" * 100
TOKENS: Final[dict[str, Any]] = {"token": "may-operate-1", "read_token": "may-read-only-1"}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A console of few words in place of the real one, which may not be built."""
    folder = tmp_path / "console"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text(PAGE)
    (folder / "favicon.svg").write_text("<svg/>")
    (folder / "assets" / "index-1a2b.js").write_text(SCRIPT)
    (folder / ".stamp").write_text("secret")
    (tmp_path / "outside.js").write_text("outside")
    monkeypatch.setattr(console, "FOLDER", folder)
    return folder


def app() -> Fairlane:
    return Fairlane("memory://")


async def test_the_page_is_asked_for_anew_each_time_and_allows_itself_nothing_foreign() -> None:
    async with talking_to(app()) as client:
        answer = await client.get("/")
        assert (answer.status_code, answer.text) == (200, PAGE)
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        assert answer.headers["cache-control"] == "no-cache"
        policy = answer.headers["content-security-policy"].split("; ")
        assert {"default-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"} <= set(policy)
        assert "unsafe" not in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["referrer-policy"] == "no-referrer"

        again = await client.get("/", headers={"If-None-Match": answer.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")


async def test_what_is_named_after_its_content_is_kept_for_good() -> None:
    async with talking_to(app()) as client:
        answer = await client.get("/assets/index-1a2b.js")
        assert answer.text == SCRIPT
        assert answer.headers["content-type"] == "text/javascript; charset=utf-8"
        assert "immutable" in answer.headers["cache-control"]
        assert (await client.head("/assets/index-1a2b.js")).status_code == 200
        icon = await client.get("/favicon.svg")
        assert (icon.status_code, icon.headers["content-type"]) == (200, "image/svg+xml")


async def test_it_is_packed_for_whoever_can_unpack_it() -> None:
    async with talking_to(app()) as client:
        plain = await client.get("/assets/index-1a2b.js", headers={"Accept-Encoding": "identity"})
        assert "content-encoding" not in plain.headers
        packed = await client.get("/assets/index-1a2b.js", headers={"Accept-Encoding": "gzip, br"})
        assert packed.headers["content-encoding"] == "gzip"
        assert packed.text == SCRIPT
        assert int(packed.headers["content-length"]) == len(gzip.compress(SCRIPT.encode()))
        assert plain.headers["vary"] == packed.headers["vary"] == "Accept-Encoding"


async def test_what_is_built_anew_is_served_anew(folder: Path) -> None:
    async with talking_to(app()) as client:
        await client.get("/")
        (folder / "index.html").write_text("another page")
        assert (await client.get("/")).text == "another page"


@pytest.mark.parametrize(
    "path",
    ["/assets/nothing.js", "/assets/.stamp", "/assets/..%2f.stamp", "/assets/..%2F..%2Foutside.js",
     "/assets/%2e%2e/outside.js", "/assets/", "/.stamp", "/index.html", "/assets/index-1a2b.js%00"],
)  # fmt: skip
async def test_nothing_else_is_served(path: str) -> None:
    async with talking_to(app()) as client:
        answer = await client.get(path)
        assert said(answer, 404)["code"] == "no_route"


async def test_other_methods_are_refused() -> None:
    async with talking_to(app()) as client:
        for path in ("/", "/assets/index-1a2b.js"):
            answer = await client.post(path)
            assert said(answer, 405)["code"] == "method_not_allowed"
            assert answer.headers["allow"] == "GET, HEAD"


async def test_it_needs_no_token_but_the_right_name_and_no_foreign_page() -> None:
    async with talking_to(app(), **TOKENS) as client:
        for path in ("/", "/favicon.svg", "/assets/index-1a2b.js"):
            assert (await client.get(path)).status_code == 200
            assert said(await client.get(path, headers={"Host": "evil.example"}), 403)
            assert said(await client.get(path, headers={"Origin": "http://evil.example"}), 403)
        said(await client.get("/api/state"), 401)
        said(await client.get("/assetsx"), 401)


async def test_without_a_token_other_machines_are_not_served() -> None:
    transport = httpx.ASGITransport(app().asgi(), client=("192.0.2.7", 1234))
    async with Client(transport=transport, base_url="http://localhost") as client:
        said(await client.get("/"), 401)


async def test_it_works_under_any_prefix() -> None:
    outer = FastAPI()
    outer.mount("/queue", app().asgi(**TOKENS))
    transport = httpx.ASGITransport(outer)
    async with Client(transport=transport, base_url="http://localhost") as client:
        assert (await client.get("/queue/")).text == PAGE
        assert (await client.get("/queue/assets/index-1a2b.js")).text == SCRIPT
        answer = await client.get("/queue")
        assert (answer.status_code, answer.headers["location"]) == (307, "http://localhost/queue/")


async def test_where_it_was_not_built_the_page_says_how(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console, "FOLDER", folder / "nowhere")
    async with talking_to(app()) as client:
        answer = await client.get("/")
        assert answer.status_code == 404
        assert answer.headers["content-type"] == "text/plain; charset=utf-8"
        assert "make setup" in answer.text
