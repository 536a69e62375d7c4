"""The filter of the log page. All of it is in the address of the page."""

from datetime import datetime
from typing import Any, Final, get_args
from urllib.parse import urlencode

from flask import request
from msgspec import Struct, structs

from fairlane_dnslog.query_log import DomainMatch, Filter
from fairlane_dnslog.web.refused import Refused
from fairlane_dnslog.web.time_ranges import RANGES
from fairlane_dnslog.web.visitor import program

LONGEST_TEXT: Final = 300
FARTHEST_SECONDS: Final = 9_000_000_000.0  # nanoseconds of it fit into 64 bits
_MATCHES: Final = get_args(DomainMatch)
BETWEEN: Final = "between"  # a range by `since` and `until`
_BLOCKED: Final = {"yes": True, "no": False}


class LogFilter(Struct, frozen=True, kw_only=True):
    """Texts as the form has them; `since` and `until` are local times of the page."""

    domain: str = ""
    match: str = ""
    client: str = ""
    type: str = ""
    blocked: str = ""
    server: str = ""
    range: str = ""
    since: str = ""
    until: str = ""
    live: str = ""
    cursor: str = ""

    @classmethod
    def of_request(cls) -> "LogFilter":
        """Return the filter in the address of this request."""
        given = {name: request.args.get(name, "").strip() for name in cls.__struct_fields__}
        for name, value in given.items():
            if len(value) > LONGEST_TEXT:
                raise Refused(400, "error.filter", field=name, value=value[:40])
        return cls(**given)

    def condition(self, now: float) -> Filter:
        """Return the conditions of the search."""
        since, until = self._instant("since"), self._instant("until")
        if self.range in RANGES:  # the fields of a hidden choice do not count
            since, until = now - RANGES[self.range], None
        elif self.range not in ("", BETWEEN):
            raise Refused(400, "error.filter", field="range", value=self.range)
        if self.match and self.match not in _MATCHES:
            raise Refused(400, "error.filter", field="match", value=self.match)
        if self.blocked and self.blocked not in _BLOCKED:
            raise Refused(400, "error.filter", field="blocked", value=self.blocked)
        match: Any = self.match or "part"
        return Filter(
            domain=self.domain,
            match=match,
            client=self.client,
            qtype=self.type.upper(),
            blocked=_BLOCKED.get(self.blocked),
            server=self.server,
            since=since,
            until=until,
        )

    def query(self, **changes: str | None) -> str:
        """Return the query of the address with some values changed; the first page of it."""
        values = structs.asdict(self) | {"cursor": ""} | changes
        return urlencode({name: value for name, value in values.items() if value})

    @property
    def is_between(self) -> bool:
        """Whether the time range is that of `since` and `until`."""
        return self.range == BETWEEN or (not self.range and bool(self.since or self.until))

    @property
    def is_empty(self) -> bool:
        return not self.query(live=None)

    def _instant(self, field: str) -> float | None:
        value: str = getattr(self, field)
        if not value:
            return None
        try:
            local = datetime.fromisoformat(value)
            if local.tzinfo is None:
                local = local.replace(tzinfo=program().settings.zone)
            return min(max(local.timestamp(), -FARTHEST_SECONDS), FARTHEST_SECONDS)
        except (ValueError, OverflowError):
            raise Refused(400, "error.filter", field=field, value=value[:40]) from None
