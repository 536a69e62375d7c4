"""Clients as the `$client` modifier of AdGuard Home expects them.

AdGuard Home knows a client by its address, its network, or the name that the administrator gave it.
A name is quoted; quotes, commas and pipes in it are escaped with a backslash. A backslash itself
cannot be escaped, a dollar sign would start the modifiers again, and some characters after a number
sign turn the line into a cosmetic rule: names with these are refused.
"""

import re
from collections.abc import Iterable
from ipaddress import ip_address, ip_network
from typing import Final

from fairlane_dnslog.rules.errors import InvalidRule
from fairlane_dnslog.rules.texts import checked_text

LONGEST_CLIENT: Final = 100
_ESCAPED: Final = re.compile(r"[',|]")
_COSMETIC: Final = re.compile(r"#[@$?%]*#")


def checked_client(text: str) -> str:
    """Return the address, network or name of a client; refuse one that no filter line can hold."""
    client = checked_text("clients", text, longest=LONGEST_CLIENT)
    if "\\" in client or "$" in client or _COSMETIC.search(client):
        raise InvalidRule(
            "clients",
            f"got {client!r}, expected a name without a backslash, $ and ##, which AdGuard Home "
            "cannot match; use the address of the client, or rename it in AdGuard Home",
        )
    return client


def client_modifier(clients: Iterable[str]) -> str:
    """Return `client=…` for these clients, which need not be sorted."""
    return "client=" + "|".join(_quoted(client) for client in sorted(set(clients)))


def is_damaged_by_adguard(client: str) -> bool:
    """Return whether AdGuard Home reads the name wrongly: it splits the modifiers by characters
    and stores the first byte of each."""
    return not client.isascii()


def _quoted(client: str) -> str:
    if _is_address(client):
        return client
    return "'" + _ESCAPED.sub(r"\\\g<0>", client) + "'"


def _is_address(client: str) -> bool:
    try:
        ip_network(client, strict=False) if "/" in client else ip_address(client)
    except ValueError:
        return False
    return "%" not in client  # the zone of an address is text
