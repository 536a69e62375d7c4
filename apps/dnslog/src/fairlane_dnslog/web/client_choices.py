"""The clients of the log that forms offer."""

from collections.abc import Collection
from typing import Final

from msgspec import Struct

from fairlane_dnslog.database import Row, Transaction
from fairlane_dnslog.rules.client_names import checked_client
from fairlane_dnslog.rules.errors import InvalidRule
from fairlane_dnslog.web.visible_text import plain

MOST_CHOICES: Final = 200
MOST_OFFERED: Final = 12
_CLIENTS: Final = "SELECT name, label, queries FROM client ORDER BY last_at_ns DESC LIMIT :most"


class OfferedClient(Struct, frozen=True, kw_only=True):
    """A client for a rule: by its name in AdGuard Home, otherwise by its address."""

    value: str
    addresses: tuple[str, ...]


def read_client_choices(tx: Transaction) -> list[Row]:
    """Return names and labels, those seen last first. A name that a person could not type or see
    is left out."""
    rows = tx.rows(_CLIENTS, most=MOST_CHOICES)
    return [row for row in rows if plain(row["name"]) == row["name"]]


def offered_clients(choices: list[Row], names: Collection[str]) -> list[OfferedClient]:
    """Return the clients with the most queries by name: an order that the next query keeps.

    Labels other than these names were found in the network; AdGuard Home matches no rule by them.
    """
    addresses: dict[str, list[str]] = {}
    queries: dict[str, int] = {}
    for row in choices:
        value = _rule_client(row["name"], row["label"] if row["label"] in names else "")
        addresses.setdefault(value, []).append(row["name"])
        queries[value] = queries.get(value, 0) + row["queries"]
    most = sorted(queries, key=lambda value: (-queries[value], value))[:MOST_OFFERED]
    return [
        OfferedClient(value=value, addresses=tuple(sorted(addresses[value])))
        for value in sorted(most, key=lambda value: (value.casefold(), value))
    ]


def _rule_client(address: str, label: str) -> str:
    if not label or plain(label) != label:
        return address
    try:
        return checked_client(label)
    except InvalidRule:
        return address
