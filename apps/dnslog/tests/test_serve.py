"""`fairlane-dnslog serve`: the pages, the console beside them, the first account and the end."""

import re
import signal
import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing
from ipaddress import ip_address
from pathlib import Path

import httpx
import pytest

from apps.dnslog.tests.terminal_program import TerminalProgram, log_in, running
from apps.dnslog.tests.web_site import open_site
from fairlane import BadSetting
from fairlane_dnslog.database import open_database
from fairlane_dnslog.pull_log import recent_pulls
from fairlane_dnslog.stand_in import Options, stand_in
from fairlane_dnslog.web.accounts import store_account
from fairlane_dnslog.web_server import PAGE_THREADS, address_of, open_listener
from fairlane_dnslog.web_server import Site as WebSite
from tests.support.eventually import eventually_sync

PASSWORD = "a password for a test"  # noqa: S105 - of a database that is deleted again


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TerminalProgram]:
    folder = tmp_path_factory.mktemp("serve")
    (folder / "password").write_text(f"{Options().password}\n")
    with (
        stand_in(Options(rate=20.0)) as server,
        running(
            folder, "serve", "--port", "0", "--url", server.url, "--username", "admin",
            "--password-file", str(folder / "password"),
        ) as program,
    ):  # fmt: skip
        assert program.url
        address = f"sqlite:///{folder}/dnslog.db"
        with closing(open_database(address)) as database, database.transaction() as tx:
            store_account(tx, name="reader", password=PASSWORD, role="viewer")
        yield program


@pytest.fixture
def stranger(served: TerminalProgram) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=served.url) as client:
        yield client


@pytest.fixture(scope="module")
def admin(served: TerminalProgram) -> Iterator[httpx.Client]:
    password = served.find("the first account: admin, password (.+)")
    with httpx.Client(base_url=served.url) as client:
        assert log_in(client, "admin", password) == 303
        yield client


def test_the_first_account_is_printed_and_sees_the_rows_of_its_server(
    served: TerminalProgram, admin: httpx.Client
) -> None:
    assert "pulling: home" in served.output
    eventually_sync(lambda: "192.168.178." in admin.get("/log").text, within_seconds=60)


def test_the_console_is_one_link_away(admin: httpx.Client) -> None:
    assert 'href="/queue/"' in admin.get("/status").text
    page = admin.get("/queue/")
    assert (page.status_code, page.text[:15]) == (200, "<!doctype html>")
    assert admin.get("/queue").headers["Location"] == "/queue/"
    state = admin.get("/queue/api/state").json()
    assert {"pulls", "rules", "upkeep"} <= set(state["queues"])


def test_the_console_is_controlled_by_the_login(admin: httpx.Client) -> None:
    paused = admin.post("/queue/api/queues/upkeep/pause", json={})
    assert paused.status_code == 200, paused.text
    resumed = admin.post("/queue/api/queues/upkeep/resume", json={})
    assert resumed.status_code == 200, resumed.text


def test_the_web_socket_of_the_console_passes_the_gate(
    admin: httpx.Client, stranger: httpx.Client
) -> None:
    upgrade = {
        "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    }  # fmt: skip
    with admin.stream("GET", "/queue/api/ws", headers=upgrade) as answer:
        assert answer.status_code == 101
    assert stranger.get("/queue/api/ws", headers=upgrade).status_code == 403


def test_a_stranger_is_sent_to_the_login_and_reads_no_queue(stranger: httpx.Client) -> None:
    page = stranger.get("/queue/")
    assert (page.status_code, page.headers["Location"]) == (302, "/login?next=/queue/")
    for path in ("/queue/api/state", "/queue/metrics", "/queue/api/openapi.json"):
        assert stranger.get(path).status_code == 401
    forged = stranger.get("/queue/api/state", headers={"Authorization": "Bearer guessed"})
    assert forged.status_code == 401


def test_a_person_who_may_only_read_has_no_console(stranger: httpx.Client) -> None:
    assert log_in(stranger, "reader", PASSWORD) == 303
    assert stranger.get("/status").status_code == 200
    assert stranger.get("/queue/").status_code == 403
    assert stranger.get("/queue/api/state").status_code == 403


def test_another_site_and_another_host_name_are_refused(admin: httpx.Client) -> None:
    foreign = {"Origin": "http://evil.example"}
    answer = admin.post("/queue/api/queues/upkeep/pause", json={}, headers=foreign)
    assert answer.status_code == 403
    for path in ("/", "/queue/", "/queue/api/state"):
        assert admin.get(path, headers={"Host": "evil.example"}).status_code == 400


def test_bytes_that_are_no_text_are_refused(served: TerminalProgram) -> None:
    host, port = served.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as raw:
        raw.sendall(b"GET /log?q=\xff HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert raw.makefile("rb").readline().split()[1] == b"400"


def test_sigterm_ends_it_cleanly_with_an_open_console(tmp_path: Path) -> None:
    (tmp_path / "password").write_text(PASSWORD)
    environment = {"DNSLOG_ADMIN_PASSWORD_FILE": str(tmp_path / "password")}
    with (
        running(tmp_path, "serve", "--port", "0", **environment) as program,
        httpx.Client(base_url=program.url) as client,
    ):
        assert log_in(client, "admin", PASSWORD) == 303
        with client.stream("GET", "/queue/api/events") as events:
            assert events.status_code == 200
            assert program.stop(signal.SIGTERM) == 0
    assert program.output[-1] == "stopped", program.output
    assert PASSWORD not in "".join(program.output)
    assert not [line for line in program.output if "Traceback" in line or "rror" in line]


def test_an_outage_of_the_server_is_two_lines(tmp_path: Path) -> None:
    (tmp_path / "password").write_text(Options().password)
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    with running(
        tmp_path, "serve", "--port", "0", "--url", f"http://127.0.0.1:{port}", "--username",
        "admin", "--password-file", str(tmp_path / "password"),
        DNSLOG_PULL_SECONDS="1", DNSLOG_RECONCILE_SECONDS="2",
    ) as program:  # fmt: skip
        assert program.find(r"home: no connection to (\S+)")
        eventually_sync(lambda: recorded_pulls(tmp_path) >= 6, within_seconds=60)
        with stand_in(Options(), port=port):
            assert program.find("home: (answers again)")
            assert program.stop(signal.SIGTERM) == 0
    lines = [line for line in program.output if "home" in line and "pulling" not in line]
    assert len(lines) == 2, program.output
    assert re.search(r"; tried again every 1 s$", lines[0]), lines
    assert not [line for line in program.output if "job " in line]


def recorded_pulls(folder: Path) -> int:
    address = f"sqlite:///{folder}/dnslog.db"
    with closing(open_database(address)) as database, database.reading() as tx:
        return len(recent_pulls(tx))


def test_a_busy_port_is_one_sentence(served: TerminalProgram) -> None:
    port = int(served.url.rpartition(":")[2])
    with pytest.raises(BadSetting, match=f"port {port}: Address already in use; choose another"):
        open_listener("127.0.0.1", port)


def test_clients_that_do_not_send_their_body_stop_no_page(
    served: TerminalProgram, stranger: httpx.Client
) -> None:
    head = (
        b"POST /login HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100000\r\n"
        b"Content-Type: application/x-www-form-urlencoded\r\n\r\nname="
    )
    with ExitStack() as open_sockets:
        for _ in range(2 * PAGE_THREADS):
            slow = socket.create_connection(("127.0.0.1", httpx.URL(served.url).port or 0))
            open_sockets.enter_context(slow)
            slow.sendall(head)
        assert stranger.get("/healthz").status_code == 200


def test_a_client_cannot_choose_its_address_for_the_limit_of_logins(
    stranger: httpx.Client,
) -> None:
    form = stranger.get("/login").text
    token = form.partition('name="csrf" value="')[2].partition('"')[0]
    codes = [
        stranger.post(
            "/login",
            data={"csrf": token, "name": "nobody", "password": "wrong"},
            headers={"X-Forwarded-For": f"198.51.100.{number}"},
        ).status_code
        for number in range(8)
    ]
    assert (codes[0], codes[-1]) == (401, 429)


async def test_a_header_with_an_underscore_is_not_that_of_a_proxy(tmp_path: Path) -> None:
    with open_site(tmp_path, proxies=1) as site:
        transport = httpx.ASGITransport(WebSite(site.program))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            form = (await client.get("/login")).text
            token = form.partition('name="csrf" value="')[2].partition('"')[0]
            wrong = {"csrf": token, "name": "nobody", "password": "wrong"}
            codes = []
            for number in range(6):
                forged = ("X_Forwarded_For", f"198.51.100.{number}")
                headers = [("X-Forwarded-For", "192.0.2.7"), forged]
                codes.append((await client.post("/login", data=wrong, headers=headers)).status_code)
    assert (codes[0], codes[-1]) == (401, 429)


def test_an_origin_that_is_no_address_is_refused(stranger: httpx.Client) -> None:
    assert stranger.post("/login", headers={"Origin": "http://["}).status_code == 403


def test_the_address_of_a_listener_can_be_opened() -> None:
    with open_listener("127.0.0.1", 0) as listener:
        assert address_of(listener) == f"http://127.0.0.1:{listener.getsockname()[1]}"
    with open_listener("0.0.0.0", 0) as listener:  # noqa: S104 - it accepts no connection
        host, port = address_of(listener).removeprefix("http://").split(":")
        assert not ip_address(host).is_unspecified
        assert int(port) == listener.getsockname()[1]
