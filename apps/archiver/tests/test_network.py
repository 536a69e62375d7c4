"""The addresses that are visited: public ones, and allowed private ones."""

import ssl
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path

import httpx
import pytest

from fairlane import BadSetting
from fairlane_archiver import network
from fairlane_archiver.network import Allowed, Refused, guarded_client, is_private


@pytest.mark.parametrize(
    ("address", "private"),
    [
        ("93.184.216.34", False), ("2606:2800:220:1::1", False), ("127.0.0.1", True),
        ("10.1.2.3", True), ("172.16.0.1", True), ("192.168.1.1", True), ("169.254.169.254", True),
        ("100.64.0.1", True), ("0.0.0.1", True), ("224.0.0.1", True), ("255.255.255.255", True),
        ("::1", True), ("::", True), ("fe80::1", True), ("fc00::1", True), ("ff02::1", True),
        ("::ffff:10.0.0.1", True), ("::ffff:93.184.216.34", False), ("64:ff9b::7f00:1", True),
        ("64:ff9b::5db8:d822", False), ("2002:7f00:1::", True),
        ("::127.0.0.1", True), ("fec0::1", True), ("64:ff9b:1::7f00:1", True),
    ],
)  # fmt: skip
def test_what_is_private_is_known_in_all_its_clothes(address: str, private: bool) -> None:
    assert is_private(ip_address(address)) is private


def test_what_is_allowed_is_exactly_that() -> None:
    allowed = Allowed(["127.0.0.1:8080", "nas.local", "10.1.0.0/16", "[::1]:81"])
    inside = ip_address("127.0.0.1")
    assert allowed.permits("127.0.0.1", 8080, inside)
    assert not allowed.permits("127.0.0.1", 8081, inside)
    assert allowed.permits("nas.local", 5000, ip_address("192.168.7.7"))
    assert not allowed.permits("other.local", 5000, ip_address("192.168.7.7"))
    assert allowed.permits("any.name", 1, ip_address("10.1.2.3"))
    assert not allowed.permits("any.name", 1, ip_address("10.2.2.3"))
    assert allowed.permits("::1", 81, ip_address("::1"))


@pytest.mark.parametrize("entry", ["10.0.0.0/99", "http://x/", "a b", "", "x/y/z"])
def test_what_cannot_be_allowed_is_refused_at_once(entry: str) -> None:
    with pytest.raises(BadSetting, match="cannot be allowed"):
        Allowed([entry])


async def test_a_name_is_refused_by_the_address_behind_it() -> None:
    async with guarded_client(Allowed([]), stall_seconds=5, at_once=1) as client:
        where = r"localhost \((127\.0\.0\.1|::1)\), port 9, is a private"
        with pytest.raises(Refused, match=rf"{where} .*FAIRLANE_ARCHIVE_ALLOW=localhost:9"):
            await client.get("http://localhost:9/")


@pytest.mark.parametrize("port", [65_536 + 9, 99_999])
async def test_a_port_that_there_cannot_be_is_no_address_of_the_web(port: int) -> None:
    allowed = Allowed(["127.0.0.1"])
    async with guarded_client(allowed, stall_seconds=5, at_once=1) as client:
        with pytest.raises(httpx.UnsupportedProtocol, match="there is no port"):
            await client.get(f"http://127.0.0.1:{port}/")


class Hello(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "5")
        self.end_headers()
        self.wfile.write(b"hello")

    def log_message(self, format: str, *args: object) -> None:
        pass


async def test_certificates_are_checked_against_the_name_and_not_the_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
         "-nodes", "-keyout", key, "-out", certificate, "-days", "2", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=DNS:localhost"],
        check=True, capture_output=True,
    )  # fmt: skip
    served = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    served.load_cert_chain(certificate, key)
    trusted = ssl.create_default_context(cafile=str(certificate))
    monkeypatch.setattr(network, "_certificates", lambda: trusted)
    with ThreadingHTTPServer(("127.0.0.1", 0), Hello) as server:
        server.socket = served.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        port = server.server_port
        try:
            allowed = Allowed([f"localhost:{port}", f"127.0.0.1:{port}"])
            async with guarded_client(allowed, stall_seconds=5, at_once=1) as client:
                assert (await client.get(f"https://localhost:{port}/")).text == "hello"
                assert (await client.get(f"https://localhost:{port}/")).text == "hello"
                with pytest.raises(httpx.ConnectError, match="IP address mismatch"):
                    await client.get(f"https://127.0.0.1:{port}/")
        finally:
            server.shutdown()
            thread.join()
