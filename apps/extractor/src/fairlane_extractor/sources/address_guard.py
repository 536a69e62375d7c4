"""Sockets that refuse private addresses.

A link comes from a stranger, and this machine may reach hosts that the stranger cannot: a router, a
database, the metadata service of a cloud. The check is made when a connection is opened, on its
address, so redirects, pieces of playlists, subtitles and names that resolve to another address at
the second query are covered. Only this process is guarded: it must start no program that connects.
"""

import re
import socket
from collections.abc import Callable, Iterable
from functools import cache
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)
from typing import Any, Final

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_PLACE: Final = re.compile(
    r"(\[(?P<address>[0-9A-Fa-f:.]+)\]|(?P<name>[\w.-]+))(:(?P<port>[0-9]{1,5}))?"
)
_TRANSLATED: Final = IPv6Network("64:ff9b::/96")  # IPv4 addresses inside IPv6 ones (NAT64)


class PrivateAddress(OSError):
    """A connection to a private address was refused."""

    def __init__(self, host: str, port: int) -> None:
        place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        super().__init__(
            f"{host}, port {port}, is a private address, which a link may not lead to; "
            f"FAIRLANE_EXTRACT_ALLOW={place}, where the extractor runs, allows it"
        )


class AllowedAddresses:
    """The private addresses that are allowed: `nas.local`, `127.0.0.1:8080`, `10.1.0.0/16`.

    Another entry raises ValueError.
    """

    def __init__(self, entries: Iterable[str]) -> None:
        self._places: list[tuple[str, int | None]] = []
        self._networks: list[Network] = []
        for entry in entries:
            self._add(entry)

    def _add(self, entry: str) -> None:
        if "/" in entry:
            try:
                self._networks.append(ip_network(entry))
            except ValueError as error:
                raise ValueError(f'"{entry}" cannot be allowed: {error}') from None
            return
        found = _PLACE.fullmatch(entry)
        if found is None:
            raise ValueError(
                f'"{entry}" cannot be allowed; it must be a host, host:port or network, such as '
                "127.0.0.1:8080 or 10.1.0.0/16"
            )
        host = (found["address"] or found["name"]).lower()
        self._places.append((host, int(found["port"]) if found["port"] else None))

    def permits(self, address: Address, port: int) -> bool:
        if any(address in network for network in self._networks):
            return True
        hosts = [host for host, its_port in self._places if its_port in (None, port)]
        return any(address in _addresses_of(host) for host in hosts)


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


def guard_sockets(
    allowed: AllowedAddresses, on_refusal: Callable[[PrivateAddress], object]
) -> None:
    """Make every later connection of this process raise `PrivateAddress` unless it is public or
    allowed."""

    def check(sock: socket.socket, target: Any) -> Any:
        if sock.family not in (socket.AF_INET, socket.AF_INET6):
            raise refuse(str(target), 0)
        host, port = str(target[0]), int(target[1])
        try:
            address = ip_address(host.partition("%")[0])
        except ValueError:
            # The resolved address is used for the connection: a second query may answer another.
            target = socket.getaddrinfo(host, port, sock.family, sock.type)[0][4]
            address = ip_address(str(target[0]).partition("%")[0])
        if is_private(address) and not allowed.permits(address, port):
            raise refuse(str(address), port)
        return target

    def refuse(host: str, port: int) -> PrivateAddress:
        refusal = PrivateAddress(host, port)
        on_refusal(refusal)
        return refusal

    connect, connect_ex = socket.socket.connect, socket.socket.connect_ex
    guarded: Any = socket.socket  # its methods cannot be assigned to, by their types
    guarded.connect = lambda sock, target: connect(sock, check(sock, target))
    guarded.connect_ex = lambda sock, target: connect_ex(sock, check(sock, target))


@cache
def _addresses_of(host: str) -> frozenset[Address]:
    try:
        return frozenset({ip_address(host)})
    except ValueError:
        pass  # it is a name
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return frozenset()
    return frozenset(ip_address(str(info[4][0]).partition("%")[0]) for info in found)
