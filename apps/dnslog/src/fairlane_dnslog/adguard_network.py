"""The HTTP connections to an AdGuard Home server, with a bound on the total time of a request.

The time-outs of httpx limit one read each, so a server that sends one byte every few seconds could
hold a request for hours, in its head as well as in its body. The streams of this backend give every
read and write at most the rest of the total time.
"""

import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any, Final

import httpcore
import httpx

from fairlane import BadSetting
from fairlane_dnslog.settings import ServerSettings

USER_AGENT: Final = "fairlane-dnslog/0.1"


class Deadline(threading.local):
    """The end of the request that this thread makes."""

    ends_at: float | None = None

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        self.ends_at = time.monotonic() + seconds
        try:
            yield
        finally:
            self.ends_at = None

    def rest_seconds(self, timeout: float | None) -> float | None:
        """Return the shorter of a time-out and the rest of the total time."""
        if self.ends_at is None:
            return timeout
        rest = max(self.ends_at - time.monotonic(), 0.001)  # 0 would mean "do not block"
        return rest if timeout is None else min(rest, timeout)

    @property
    def passed(self) -> bool:
        return self.ends_at is not None and time.monotonic() >= self.ends_at


class BoundedStream(httpcore.NetworkStream):
    def __init__(self, inner: httpcore.NetworkStream, deadline: Deadline) -> None:
        self._inner = inner
        self._deadline = deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        if self._deadline.passed:
            raise httpcore.ReadTimeout("the total time has passed")
        return self._inner.read(max_bytes, self._deadline.rest_seconds(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        if self._deadline.passed:
            raise httpcore.WriteTimeout("the total time has passed")
        self._inner.write(buffer, self._deadline.rest_seconds(timeout))

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        rest = self._deadline.rest_seconds(timeout)
        inner = self._inner.start_tls(ssl_context, server_hostname, rest)
        return BoundedStream(inner, self._deadline)

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


class BoundedBackend(httpcore.NetworkBackend):
    """Open connections whose reads and writes end at the deadline.

    The name server of this machine has time-outs of its own, which no program can shorten.
    """

    def __init__(self, deadline: Deadline) -> None:
        self._deadline = deadline
        self._inner = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Any = None,
    ) -> httpcore.NetworkStream:
        rest = self._deadline.rest_seconds(timeout)
        inner = self._inner.connect_tcp(host, port, rest, local_address, socket_options)
        return BoundedStream(inner, self._deadline)


def make_http_client(
    server: ServerSettings, deadline: Deadline, *, stall_seconds: float
) -> httpx.Client:
    """Return a client that follows no redirects, stores no cookies and ignores proxies."""
    context = _ssl_context(server)
    transport = httpx.HTTPTransport(verify=context, trust_env=False)
    # httpx has no argument for the network backend; its pool has.
    transport._pool = httpcore.ConnectionPool(
        ssl_context=context,
        max_connections=4,
        max_keepalive_connections=1,
        keepalive_expiry=5.0,
        network_backend=BoundedBackend(deadline),
    )
    login = httpx.BasicAuth(server.username, server.password) if server.username else None
    return httpx.Client(
        transport=transport,
        auth=login,
        base_url=server.url,
        cookies=CookieJar(policy=DefaultCookiePolicy(allowed_domains=[])),
        timeout=httpx.Timeout(stall_seconds),
        # A compressed answer could expand to gigabytes; AdGuard Home is near, so none is needed.
        headers={"User-Agent": USER_AGENT, "Accept-Encoding": "identity"},
        trust_env=False,
        follow_redirects=False,
    )


def _ssl_context(server: ServerSettings) -> ssl.SSLContext:
    if not server.url.startswith("https:"):
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # unused; the default would read all roots
    try:
        context = ssl.create_default_context(cafile=server.ca_file or None)
    except OSError as error:
        raise BadSetting(
            f'the ca_file of server "{server.name}" ({server.ca_file}) cannot be read: {error}'
        ) from None
    if not server.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
