"""A query in the log of the stand-in, and its row in AdGuard Home's API."""

from typing import Any

import msgspec
from msgspec import Struct

from fairlane_dnslog.entries import AdGuardRow, QueryEntry, make_entry
from fairlane_dnslog.timestamps import format_time_ns


class LoggedQuery(Struct, frozen=True, gc=False, tag_field="event", tag="query"):
    """One query; `at_ns` is its start and `logged_ns` the instant at which the log received it."""

    number: int  # from 1, in the order of the log
    at_ns: int
    logged_ns: int
    domain: str
    qtype: str
    client: str
    client_name: str
    status: str
    reason: str
    rule: str
    list_id: int
    service: str
    upstream: str
    elapsed_us: int
    cached: bool

    def to_row(self, *, offset_minutes: int = 0) -> dict[str, Any]:
        """Return the row of this query as AdGuard Home's API sends it."""
        row: dict[str, Any] = {
            "answer_dnssec": False,
            "cached": self.cached,
            "client": self.client,
            "client_info": {
                "name": self.client_name,
                "disallowed": False,
                "disallowed_rule": "",
                "whois": {},
            },
            "client_proto": "",
            "elapsedMs": f"{self.elapsed_us / 1000:.3f}".rstrip("0").rstrip("."),
            "question": {"class": "IN", "name": self.domain, "type": self.qtype},
            "reason": self.reason,
            "rules": [],
            "status": self.status,
            "time": format_time_ns(self.at_ns, offset_minutes=offset_minutes),
            "upstream": self.upstream,
        }
        if self.rule:
            row["rules"] = [{"filter_list_id": self.list_id, "text": self.rule}]
            row["rule"] = self.rule
            row["filterId"] = self.list_id
        if self.service:
            row["service_name"] = self.service
        if self.status == "NOERROR" and self.qtype == "A":
            value = "0.0.0.0" if self.reason.startswith("Filtered") else "203.0.113.7"  # noqa: S104 - an answer, not an address to listen on
            row["answer"] = [{"type": "A", "value": value, "ttl": 10}]
        return row

    def to_entry(self, *, offset_minutes: int = 0) -> QueryEntry:
        """Return the entry that a complete pull stores for this query."""
        return make_entry(msgspec.convert(self.to_row(offset_minutes=offset_minutes), AdGuardRow))
