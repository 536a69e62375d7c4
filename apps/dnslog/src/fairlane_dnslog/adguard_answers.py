"""Answers of AdGuard Home, as far as this program uses them; further fields are ignored."""

from typing import Annotated

from msgspec import Meta, Struct

from fairlane_dnslog.entries import QueryEntry


class LogAnswer(Struct, frozen=True):
    """A page of the query log, newest entry first."""

    entries: tuple[QueryEntry, ...]
    oldest: str  # the `older_than` of the next page; empty after the last one
    refused: tuple[str, ...] = ()  # the reason of each row that cannot be stored

    @property
    def size(self) -> int:
        return len(self.entries) + len(self.refused)


class FilteringAnswer(Struct, frozen=True):
    """`GET /control/filtering/status`."""

    enabled: bool
    user_rules: Annotated[list[str], Meta(max_length=1_000_000)] | None = None


class StatusAnswer(Struct, frozen=True):
    """`GET /control/status`."""

    protection_enabled: bool
    version: str = ""
    running: bool = True
    protection_disabled_duration: int | float = 0  # milliseconds until it is enabled again


class Service(Struct, frozen=True):
    """A service that AdGuard Home can block, with the filter rules that do so."""

    id: str
    name: str
    rules: list[str]
    group_id: str = ""


class ServicesAnswer(Struct, frozen=True):
    """`GET /control/blocked_services/all`."""

    blocked_services: Annotated[list[Service], Meta(max_length=10_000)]


class KnownClient(Struct, frozen=True):
    """A client that the administrator gave a name; an id is an address, a network, a MAC or a
    ClientID."""

    name: str
    ids: list[str] | None = None


class SeenClient(Struct, frozen=True):
    """A client that AdGuard Home found by itself."""

    ip: str
    name: str = ""


class ClientsAnswer(Struct, frozen=True):
    """`GET /control/clients`."""

    clients: Annotated[list[KnownClient], Meta(max_length=100_000)] | None = None
    auto_clients: Annotated[list[SeenClient], Meta(max_length=100_000)] | None = None
