"""Every route × method × foreign host, origin, token and body is refused; permitted ones pass."""

import socket
from collections.abc import AsyncIterator, Iterator
from functools import reduce
from typing import Any, Final

import httpx
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from fairlane import Fairlane
from fairlane.api.guard import LARGEST_BODY
from fairlane.errors import BadSetting
from tests.support.served import serving
from tests.support.talking import Client, said, talking, talking_to

OPERATE: Final = "may-operate-1"
READ: Final = "may-read-only-1"
TOKENS: Final[dict[str, Any]] = {"token": OPERATE, "read_token": READ}
METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE")
SAFE: Final = ("GET", "HEAD", "OPTIONS")
OPEN: Final = ("/healthz", "/api/session")


def addresses() -> list[tuple[str, str]]:
    """Every method on every path of the document, with sample values for its parameters."""
    paths = Fairlane("memory://").asgi().openapi()["paths"]
    given = {"{id}": "x", "{queue}": "default", "{number}": "0"}
    filled = [reduce(lambda path, one: path.replace(*one), given.items(), path) for path in paths]
    return [(method, path) for path in filled for method in METHODS]


ADDRESSES: Final = addresses()
GUARDED: Final = [(method, path) for method, path in ADDRESSES if path not in OPEN]
FILES: Final = "/api/files"  # where a body is a file; see test_files.py
UNSAFE: Final = [(method, path) for method, path in ADDRESSES if method not in SAFE]


@pytest.fixture(scope="module")
def application() -> Any:
    """A refused request never reaches the engine: here it is not even started."""
    return Fairlane("memory://").asgi(**TOKENS)


@pytest.fixture
async def stranger(application: Any) -> AsyncIterator[Client]:
    transport = httpx.ASGITransport(application)
    async with Client(transport=transport, base_url="http://localhost") as client:
        yield client


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def refused(answer: httpx.Response, status: int, code: str) -> None:
    kind = answer.headers["content-type"]
    assert (answer.status_code, kind) == (status, "application/problem+json"), answer.request
    assert answer.json()["code"] == code


async def test_without_a_token_nothing_is_answered(stranger: Client) -> None:
    for method, path in GUARDED:
        answer = await stranger.request(method, path)
        refused(answer, 401, "unauthorized")
        assert answer.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize(
    "value",
    ["Bearer wrong-token-1", f"Basic {OPERATE}", OPERATE, "Bearer ", f"Bearer {OPERATE}x"],
)
async def test_with_a_wrong_token_nothing_is_answered(stranger: Client, value: str) -> None:
    for method, path in GUARDED:
        answer = await stranger.request(method, path, headers={"Authorization": value})
        refused(answer, 401, "unauthorized")


async def test_a_token_to_read_changes_nothing(stranger: Client) -> None:
    for method, path in GUARDED:
        if method not in SAFE:
            refused(await stranger.request(method, path, headers=bearer(READ)), 403, "read_only")
        elif path != "/api/events":
            answer = await stranger.request(method, path, headers=bearer(READ))
            assert answer.status_code not in (401, 403)


@pytest.mark.parametrize(
    "host",
    ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "localhost@evil.example",
     "", "[::1", "localhost:80:80", "a!.evil.example:80"],
)  # fmt: skip
async def test_by_a_foreign_name_nothing_is_answered(stranger: Client, host: str) -> None:
    for method, path in ADDRESSES:
        headers = {**bearer(OPERATE), "Host": host}
        refused(await stranger.request(method, path, headers=headers), 403, "bad_host")


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", "http://localhost:3000", "http://localhost.evil.example", "",
     "file://", "https://localhost:80", "http://user@localhost", "http://localhost/x",
     "http://localhost#", "http://"],
)  # fmt: skip
async def test_a_foreign_page_is_not_answered(stranger: Client, origin: str) -> None:
    for method, path in ADDRESSES:
        headers = {**bearer(OPERATE), "Origin": origin}
        refused(await stranger.request(method, path, headers=headers), 403, "bad_origin")


async def test_an_oversized_body_is_not_read(stranger: Client) -> None:
    headers = {**bearer(OPERATE), "Content-Type": "application/json"}
    body = b" " * (LARGEST_BODY + 1)
    for method, path in ADDRESSES:
        answer = await stranger.request(method, path, headers=headers, content=body)
        if path == FILES and method not in SAFE:
            refused(answer, 415, "not_octets")  # test_files.py tests the size limit
        else:
            refused(answer, 413, "too_large")


@pytest.mark.parametrize(
    "kind", ["", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data"]
)
async def test_a_body_that_is_not_json_is_not_read(stranger: Client, kind: str) -> None:
    headers = {**bearer(OPERATE), "Content-Type": kind}
    for method, path in UNSAFE:
        answer = await stranger.request(method, path, headers=headers, content=b'{"to": "head"}')
        refused(answer, 415, "not_octets" if path == FILES else "not_json")


async def test_a_body_that_tells_no_length_is_read_only_so_far(stranger: Client) -> None:
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        while True:
            sent += 1024 * 1024
            yield b" " * 1024 * 1024

    headers = {**bearer(OPERATE), "Content-Type": "application/json"}
    refused(await stranger.post("/api/jobs", content=endless(), headers=headers), 413, "too_large")
    assert sent <= LARGEST_BODY + 2 * 1024 * 1024


async def test_looking_changes_nothing() -> None:
    app = Fairlane("memory://")

    @app.task
    async def noop() -> None: ...

    async with talking(app) as client:
        before = said(await client.get("/api/state"), 200)["seq"]
        for method, path in ADDRESSES:
            if method == "GET" and path != "/api/events":
                await client.get(path)
        assert said(await client.get("/api/state"), 200)["seq"] == before


async def test_its_own_page_is_answered() -> None:
    async with talking(Fairlane("memory://"), bearer=OPERATE, **TOKENS) as client:
        for origin, host in (
            ("http://localhost", "localhost"),
            ("http://localhost:8420", "localhost:8420"),
            ("http://127.0.0.1:8420", "127.0.0.1:8420"),
            ("http://[::1]:8420", "[::1]:8420"),
            ("https://localhost", "localhost:443"),
        ):
            headers = {"Origin": origin, "Host": host}
            said(await client.post("/api/queues/default/pause", headers=headers), 200)


@pytest.mark.parametrize("host", ["tasks.example", "tasks.example:8420", "TASKS.example"])
async def test_a_name_that_is_vouched_for_is_answered(host: str) -> None:
    app = Fairlane("memory://")
    async with talking(app, hosts=["tasks.example"]) as client:
        said(await client.get("/api/jobs", headers={"Host": host}), 200)


async def test_names_in_the_environment_are_vouched_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAIRLANE_ALLOWED_HOSTS", "one.example, two.example")
    async with talking(Fairlane("memory://")) as client:
        for host in ("one.example", "two.example"):
            said(await client.get("/api/jobs", headers={"Host": host}), 200)


async def test_without_a_token_only_this_machine_is_served() -> None:
    app = Fairlane("memory://")
    async with app:
        here = ("127.0.0.1", "::1", "::ffff:127.0.0.1")
        for address in (*here, "192.0.2.7", "::ffff:192.0.2.7", "2001:db8::7"):
            transport = httpx.ASGITransport(app.asgi(), client=(address, 1))
            async with Client(transport=transport, base_url="http://localhost") as client:
                answer = await client.get("/api/jobs")
                assert answer.status_code == (200 if address in here else 401)


async def test_with_a_token_an_address_in_numbers_is_answered_without_one_it_is_not() -> None:
    app = Fairlane("memory://")
    headers = {"Host": "192.0.2.7:8420"}
    async with talking(app, bearer=OPERATE, **TOKENS) as client:
        said(await client.get("/api/jobs", headers=headers), 200)
        async with talking_to(app) as other:
            refused(await other.get("/api/jobs", headers=headers), 403, "bad_host")


@pytest.mark.parametrize("token", ["short", "with space in it", "mit-ümläuten-darin"])
def test_a_token_that_cannot_serve_as_one_is_refused(token: str) -> None:
    with pytest.raises(Exception, match="token to operate"):
        Fairlane("memory://").asgi(token=token)


# sessions


@pytest.mark.parametrize(
    ("token", "role", "status"), [(OPERATE, "operate", 200), (READ, "read", 403)]
)
async def test_a_browser_exchanges_its_token_for_a_cookie(
    token: str, role: str, status: int
) -> None:
    async with talking(Fairlane("memory://"), **TOKENS) as client:
        assert said(await client.get("/api/session"), 200)["role"] is None
        answer = await client.post("/api/session", json={"token": token})
        assert said(answer, 200) == {"role": role, "token_needed": True}
        cookie = answer.headers["set-cookie"]
        for part in ("HttpOnly", "SameSite=strict", "Path=/", "Max-Age="):
            assert part in cookie
        assert token not in cookie
        assert said(await client.get("/api/session"), 200)["role"] == role
        said(await client.get("/api/jobs"), 200)
        said(await client.post("/api/queues/default/pause"), status)
        said(await client.delete("/api/session"), 204)
        said(await client.get("/api/jobs"), 401)


async def test_a_wrong_token_makes_no_session() -> None:
    async with talking(Fairlane("memory://"), **TOKENS) as client:
        answer = await client.post("/api/session", json={"token": "wrong-token-1"})
        refused(answer, 401, "unauthorized")
        assert "set-cookie" not in answer.headers


async def test_a_session_ends_with_its_token_and_cannot_be_made_up() -> None:
    app = Fairlane("memory://")
    async with talking(app, **TOKENS) as client:
        answer = await client.post("/api/session", json={"token": READ})
        name, value = answer.headers["set-cookie"].partition(";")[0].split("=")
        began, _, signature = value.partition(".")
        async with talking_to(app, token=OPERATE, read_token="another-token-1") as other:  # noqa: S106
            said(await other.get("/api/jobs", headers={"Cookie": f"{name}={value}"}), 401)
        for forged in (
            f"{int(began) + 1}.{signature}",
            f"{began}.",
            f"{began}.{signature}0",
            "",
            ".",
        ):
            client.cookies.clear()
            headers = {"Cookie": f"{name}={forged}"}
            said(await client.get("/api/jobs", headers=headers), 401)


async def test_a_cookie_is_bound_to_the_path_that_the_application_is_mounted_under() -> None:
    application = Fairlane("memory://").asgi(**TOKENS)
    transport = httpx.ASGITransport(application, root_path="/queue")
    async with Client(transport=transport, base_url="http://localhost") as client:
        answer = await client.post("/queue/api/session", json={"token": READ})
        assert "Path=/queue;" in answer.headers["set-cookie"]


# a real server


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(FAIRLANE_TOKEN=OPERATE, FAIRLANE_READ_TOKEN=READ) as server:
        yield server.url


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        (bearer("wrong-token-1"), 401),
        ({**bearer(READ), "Origin": "http://evil.example"}, 403),
        ({**bearer(READ), "Host": "evil.example"}, 403),
    ],
)
async def test_a_websocket_is_refused_as_a_request_is(
    url: str, headers: dict[str, str], status: int
) -> None:
    host = headers.get("Host", "127.0.0.1")
    port = int(url.rpartition(":")[2])
    others = {name: value for name, value in headers.items() if name != "Host"}
    with pytest.raises(InvalidStatus) as caught:
        # The URL has the name; the address to connect to is given separately.
        await connect(
            f"ws://{host}:{port}/api/ws", host="127.0.0.1", port=port, additional_headers=others
        )
    assert caught.value.response.status_code == status


async def test_a_websocket_with_a_token_opens(url: str) -> None:
    address = url.replace("http:", "ws:") + "/api/ws"
    async with connect(address, additional_headers={**bearer(READ), "Origin": url}):
        pass


@pytest.mark.parametrize("path", ["/api/events", "/api/jobs", "/healthz"])
def test_a_stream_is_refused_as_a_request_is(url: str, path: str) -> None:
    right = bearer(OPERATE)
    wrong: list[tuple[dict[str, str], int]] = [
        ({**right, "Origin": "http://evil.example"}, 403),
        ({**right, "Host": "evil.example"}, 403),
    ]
    if path not in OPEN:
        wrong += [({}, 401), (bearer("wrong-token-1"), 401)]
    for headers, status in wrong:
        assert httpx.get(url + path, headers=headers).status_code == status


def test_every_answer_carries_the_headers_that_browsers_obey(url: str) -> None:
    for path, status in (("/healthz", 200), ("/api/jobs", 401), ("/nowhere", 401)):
        answer = httpx.get(url + path)
        assert answer.status_code == status
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["x-frame-options"] == "DENY"
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["cache-control"] == "no-store"
        assert "access-control-allow-origin" not in answer.headers
        assert "server" not in answer.headers


@pytest.mark.parametrize("host", ["::1", "127.0.0.1", "queue.example"])
async def test_who_listens_on_an_address_vouches_for_no_other_page_or_name(host: str) -> None:
    application = Fairlane("memory://").asgi(hosts=[host])
    transport = httpx.ASGITransport(application)
    shown = f"[{host}]" if ":" in host else host
    async with Client(transport=transport, base_url=f"http://{shown}:8420") as client:
        for name in ("a!.evil.example:8420", "", "evil.example"):
            answer = await client.get("/healthz", headers={"Host": name})
            refused(answer, 403, "bad_host")
        for origin in (f"http://{shown}:9999", f"https://{shown}:9999", "http://localhost:8420"):
            answer = await client.get("/healthz", headers={"Origin": origin})
            refused(answer, 403, "bad_origin")
        own = await client.get("/healthz", headers={"Origin": f"http://{shown}:8420"})
        assert own.status_code not in (401, 403)


async def test_a_page_may_come_through_a_proxy_that_names_the_server_otherwise() -> None:
    application = Fairlane("memory://").asgi(hosts=["queue.example", "other.example:8443"])
    transport = httpx.ASGITransport(application)
    async with Client(transport=transport, base_url="http://localhost:8420") as client:
        for origin, status in {
            "https://queue.example": 200, "https://queue.example:8443": 403,
            "https://other.example:8443": 200, "https://other.example": 403,
        }.items():  # fmt: skip
            answer = await client.get("/api/session", headers={"Origin": origin})
            assert answer.status_code == status, origin


@pytest.mark.parametrize("host", ["https://queue.example", "a b", "[::1", "x:y"])
def test_an_allowed_host_that_is_none_is_refused(host: str) -> None:
    with pytest.raises(BadSetting, match="not a host name"):
        Fairlane("memory://").asgi(hosts=[host])


@pytest.mark.parametrize("other", ['prefs={"a":1}', "theme=dark mode", "a@b=1", "ä=ö"])
async def test_cookies_of_other_programs_end_no_session(stranger: Client, other: str) -> None:
    login = await stranger.post("/api/session", json={"token": READ})
    [(name, value)] = login.cookies.items()
    headers = {b"Cookie": f"{other}; {name}={value}".encode()}
    answer = await stranger.get("/api/session", headers=headers)
    assert answer.json()["role"] == "read"


async def test_who_signs_out_is_told_of_no_cookie_but_its_own(stranger: Client) -> None:
    assert "set-cookie" not in (await stranger.delete("/api/session")).headers
    await stranger.post("/api/session", json={"token": READ})
    [told] = (await stranger.delete("/api/session")).headers.get_list("set-cookie")
    assert told.startswith("fairlane_")


def test_a_request_that_begins_without_end_is_cut_off() -> None:
    with serving() as server, socket.create_connection(server.address, timeout=30) as line:
        line.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: ")
        with pytest.raises((BrokenPipeError, ConnectionResetError)):
            line.sendall(b"x" * 100_000_000)
