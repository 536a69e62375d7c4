"""A client of the web that cannot be sent to places inside.

Whatever an account links to is fetched by this machine, which may reach what the account's owner
cannot: a router, a database, the metadata of a cloud. So a name is resolved here, at the moment of
connecting, and the connection goes to the very address that was looked at; who changes the answer
of the name afterwards gains nothing. Every connection is made this way, those of redirects as well.
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
_TRANSLATED: Final = IPv6Network("64:ff9b::/96")  # an IPv4 address in the clothes of IPv6

# httpcore imports it anew for every step of a request. Where it is not installed, each of these
# searches every folder that Python knows, which took a third of all time.
if importlib.util.find_spec("sniffio") is None:
    sys.modules.setdefault("sniffio", None)  # type: ignore[arg-type]

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network


class Refused(Permanent):
    """The address is one that the archiver does not visit."""

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
    """The private places that may be visited: `nas.local`, `127.0.0.1:8080`, `10.1.0.0/16`."""

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
    """Tell whether an address is anything but one of the public internet."""
    if isinstance(address, IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if inner is None and address in _TRANSLATED:
            inner = IPv4Address(address.packed[-4:])
        if inner is not None:
            return is_private(inner)
        # Addresses of old, which some networks still take for their own.
        if address.is_reserved or address.is_site_local:
            return True
    return not address.is_global or address.is_multicast


class GuardedBackend(httpcore.AsyncNetworkBackend):
    """Makes the connections of a client, after a look at where they lead."""

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
        if not 0 < port < 1 << 16:  # some event loops would take what is left of it by 65536
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
        """Return the addresses that may be visited; refuse when there are others alone."""
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
    return httpx.create_ssl_context()  # takes long, and is the same for everybody


def guarded_client(allowed: Allowed, *, stall_seconds: float, at_once: int) -> httpx.AsyncClient:
    """Return a client; proxies of the environment are left aside: they would connect for us."""
    transport = httpx.AsyncHTTPTransport(verify=_certificates(), trust_env=False)
    # httpx has no argument for it: the pool is where connections are made.
    transport._pool = httpcore.AsyncConnectionPool(
        ssl_context=_certificates(),
        max_connections=at_once + 1,
        max_keepalive_connections=at_once + 1,
        keepalive_expiry=15.0,
        network_backend=GuardedBackend(allowed),
    )
    # Nothing that is public needs them, and a server could hand out more with every answer.
    no_cookies = CookieJar(policy=DefaultCookiePolicy(allowed_domains=[]))
    return httpx.AsyncClient(
        transport=transport,
        cookies=no_cookies,
        timeout=httpx.Timeout(stall_seconds, connect=CONNECT_SECONDS, pool=None),
        headers={"User-Agent": USER_AGENT, "Accept-Encoding": "gzip, deflate"},
        trust_env=False,
        follow_redirects=False,
    )
