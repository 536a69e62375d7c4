"""An HTTP client that refuses private addresses.

This machine fetches the links of an account, and may reach hosts that the owner of the account
cannot: a router, a database, the metadata service of a cloud. So a name is resolved here, when the
connection is made, and the connection goes to the checked address. A later change of the DNS answer
has no effect. All connections are made this way, including those of redirects.
"""

import asyncio
import importlib.util
import re
import ssl
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from http.cookiejar import CookieJar, DefaultCookiePolicy
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)
from typing import Any, Final

import httpcore
import httpx

from fairlane import BadSetting, Permanent

USER_AGENT: Final = "fairlane-archiver/0.1"
CONNECT_SECONDS: Final = 15.0
_PLACE: Final = re.compile(
    r"(\[(?P<host>[0-9A-Fa-f:.]+)\]|(?P<name>[\w.-]+))(:(?P<port>[0-9]{1,5}))?"
)
_TRANSLATED: Final = IPv6Network("64:ff9b::/96")  # IPv4 addresses embedded in IPv6 (NAT64)

# httpcore imports sniffio in every step of a request. Where it is not installed, each import
# searches every folder of sys.path, which took a third of the time.
if importlib.util.find_spec("sniffio") is None:
    sys.modules.setdefault("sniffio", None)  # type: ignore[arg-type]

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network


class Refused(Permanent):
    """The address is private, and not allowed."""

    def __init__(self, host: str, port: int, address: Address) -> None:
        where = host if host == str(address) else f"{host} ({address})"
        place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        super().__init__(
            f"{where}, port {port}, is a private address, which an account may not lead to; "
            f"FAIRLANE_ARCHIVE_ALLOW={place}, where it is served, allows it",
            code="private_address",
            host=host,
            port=port,
        )


class Allowed:
    """The private addresses that are allowed: `nas.local`, `127.0.0.1:8080`, `10.1.0.0/16`."""

    def __init__(self, entries: Iterable[str]) -> None:
        self._hosts: set[tuple[str, int | None]] = set()
        self._networks: list[Network] = []
        for entry in entries:
            self._add(entry)

    def _add(self, entry: str) -> None:
        if "/" in entry:
            try:
                self._networks.append(ip_network(entry))
            except ValueError as error:
                raise BadSetting(f'"{entry}" cannot be allowed: {error}') from None
            return
        found = _PLACE.fullmatch(entry)
        if found is None:
            raise BadSetting(
                f'"{entry}" cannot be allowed; give a host, host:port or network, as in '
                "127.0.0.1:8080 or 10.1.0.0/16"
            )
        host = (found["host"] or found["name"]).lower()
        self._hosts.add((host, int(found["port"]) if found["port"] else None))

    def permits(self, host: str, port: int, address: Address) -> bool:
        if (host, port) in self._hosts or (host, None) in self._hosts:
            return True
        return any(address in network for network in self._networks)


def is_private(address: Address) -> bool:
    """Return whether an address is not one of the public internet."""
    if isinstance(address, IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if inner is None and address in _TRANSLATED:
            inner = IPv4Address(address.packed[-4:])
        if inner is not None:
            return is_private(inner)
        # Deprecated ranges that some networks still use internally.
        if address.is_reserved or address.is_site_local:
            return True
    return not address.is_global or address.is_multicast


class GuardedBackend(httpcore.AsyncNetworkBackend):
    """Open the connections of a client after a check of their addresses."""

    def __init__(self, allowed: Allowed) -> None:
        self._allowed = allowed
        self._inner = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Any = None,
    ) -> httpcore.AsyncNetworkStream:
        if not 0 < port < 1 << 16:  # some event loops would take the port modulo 65536
            raise httpcore.UnsupportedProtocol(f"there is no port {port}")
        trouble: Exception = httpcore.ConnectError(f"{host} has no address")
        for address in self._checked(host, port, await _resolve(host, port)):
            try:
                return await self._inner.connect_tcp(
                    str(address), port, timeout, local_address, socket_options
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                trouble = error
        raise trouble

    def _checked(self, host: str, port: int, addresses: Sequence[Address]) -> list[Address]:
        """Return the allowed addresses; refuse if there are only private ones."""
        permitted = [
            address
            for address in addresses
            if not is_private(address) or self._allowed.permits(host, port, address)
        ]
        if addresses and not permitted:
            raise Refused(host, port, addresses[0])
        return permitted

    async def connect_unix_socket(self, path: str, *_: Any, **__: Any) -> Any:
        raise httpcore.ConnectError(f"{path} is no place of the web")

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


async def _resolve(host: str, port: int) -> list[Address]:
    try:
        return [ip_address(host.strip("[]"))]
    except ValueError:
        pass  # it is a name
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            found = await asyncio.get_running_loop().getaddrinfo(host, port, type=1)
    except (OSError, UnicodeError, TimeoutError) as error:
        raise httpcore.ConnectError(f"{host} cannot be found: {error}") from None
    return [ip_address(str(info[4][0]).partition("%")[0]) for info in found]


@cache
def _certificates() -> ssl.SSLContext:
    return httpx.create_ssl_context()  # slow, and shared by all clients


def guarded_client(allowed: Allowed, *, stall_seconds: float, at_once: int) -> httpx.AsyncClient:
    """Return a client that ignores proxies of the environment, which would connect on its
    behalf."""
    transport = httpx.AsyncHTTPTransport(verify=_certificates(), trust_env=False)
    # httpx has no argument for the network backend; its pool has.
    transport._pool = httpcore.AsyncConnectionPool(
        ssl_context=_certificates(),
        max_connections=at_once + 1,
        max_keepalive_connections=at_once + 1,
        keepalive_expiry=15.0,
        network_backend=GuardedBackend(allowed),
    )
    # Public files need no cookies, and a server could add more with every response.
    no_cookies = CookieJar(policy=DefaultCookiePolicy(allowed_domains=[]))
    return httpx.AsyncClient(
        transport=transport,
        cookies=no_cookies,
        timeout=httpx.Timeout(stall_seconds, connect=CONNECT_SECONDS, pool=None),
        headers={"User-Agent": USER_AGENT, "Accept-Encoding": "gzip, deflate"},
        trust_env=False,
        follow_redirects=False,
    )
