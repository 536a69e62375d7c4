"""Entries of the query log for tests."""

from datetime import UTC, datetime
from typing import Any, Final

from fairlane_dnslog.entries import QueryEntry

NS: Final = 1_000_000_000
NOON: Final = int(datetime(2026, 3, 15, 12, tzinfo=UTC).timestamp())


def entry(second: float = 0, domain: str = "example.com", **changed: Any) -> QueryEntry:
    """Return an entry; `second` counts from noon of a day in March."""
    at_ns = NOON * NS + round(second * NS)
    values: dict[str, Any] = {
        "time": f"{at_ns}",
        "at_ns": at_ns,
        "domain": domain,
        "qtype": "A",
        "client": "192.168.1.10",
        "client_name": "tablet",
        "status": "NOERROR",
        "reason": "NotFilteredNotFound",
        "blocked": False,
        "rule": "",
        "service": "",
        "upstream": "tls://dns.example",
        "elapsed_us": 1_000,
        "cached": False,
    }
    return QueryEntry(**(values | changed))


def blocked(second: float = 0, domain: str = "ads.example.com", **changed: Any) -> QueryEntry:
    return entry(second, domain, blocked=True, reason="FilteredBlackList", upstream="", **changed)
