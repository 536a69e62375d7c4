"""Entries of the query log, and the rows of AdGuard Home from which they are made.

The types of a row are checked by msgspec; missing and null fields are allowed, because AdGuard
omits most of them where they do not apply. Every text has a bound, and no text contains a control
character: PostgreSQL cannot store NUL, and a terminal obeys the others.
"""

import math
import re
from hashlib import blake2b
from typing import Annotated, Any, Final

from msgspec import Meta, Raw, Struct

from fairlane_dnslog.timestamps import parse_time_ns

# A safe search is not in this set: its query is answered, with another address.
BLOCKED_REASONS: Final = frozenset(
    {
        "FilteredBlackList",
        "FilteredBlockedService",
        "FilteredInvalid",
        "FilteredParental",
        "FilteredSafeBrowsing",
    }
)
ROOT_DOMAIN: Final = "."  # AdGuard Home removes the dot at the end of a name, also of this one
LONGEST_DOMAIN: Final = 1024  # 253 bytes, of which each may be written as four characters: \255
LONGEST_TEXT: Final = 255
LONGEST_RULE: Final = 1024
LONGEST_ELAPSED_US: Final = 86_400 * 1_000_000
_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


class BadRow(ValueError):
    """A row of AdGuard has a value that cannot be stored; the message names field and value."""


class QueryEntry(Struct, frozen=True):
    """One DNS query, as it is stored."""

    time: str  # as received, with all nine digits
    at_ns: int
    domain: str
    qtype: str
    client: str
    client_name: str
    status: str
    reason: str
    blocked: bool
    rule: str
    service: str
    upstream: str
    elapsed_us: int
    cached: bool

    def digest(self, server: str) -> bytes:
        """Return the 16 bytes that identify this query among those of all servers.

        The time is that of `at_ns`: one instant has several notations, and a server whose zone
        was changed must not double its log.
        """
        key = "\0".join((server, str(self.at_ns), self.domain, self.qtype, self.client))
        return blake2b(key.encode("utf-8", "surrogatepass"), digest_size=16).digest()


class Question(Struct):
    name: str | None = None
    host: str | None = None  # its name before AdGuard Home 0.107
    type: str | None = None


class ClientInfo(Struct):
    name: str | None = None


class RuleText(Struct):
    text: str | None = None


class AdGuardRow(Struct, rename={"elapsed_ms": "elapsedMs"}):
    """A row of `GET /control/querylog`; further fields are ignored."""

    time: str
    question: Question
    client: str | None = None
    client_id: str | None = None
    client_info: ClientInfo | None = None
    status: str | None = None
    reason: str | None = None
    rule: str | None = None
    rules: Annotated[list[RuleText], Meta(max_length=1000)] | None = None
    service_name: str | None = None
    upstream: str | None = None
    elapsed_ms: str | float | None = None
    cached: bool | None = None


class LogPage(Struct):
    """The answer of `GET /control/querylog`."""

    data: list[AdGuardRow] | None
    oldest: str


class RawLogPage(Struct):
    """The same answer, with rows whose types are not checked yet."""

    data: list[Raw]
    oldest: str


def make_entry(row: AdGuardRow) -> QueryEntry:
    """Return the entry of a row; raise BadTime or BadRow for values that cannot be stored."""
    name = row.question.name if row.question.name is not None else row.question.host
    if name is None:
        raise BadRow("question.name is missing; expected a domain name")
    reason = clean_text(row.reason)
    rule = row.rule or next((found.text for found in row.rules or () if found.text), "")
    return QueryEntry(
        time=row.time,
        at_ns=parse_time_ns(row.time),
        domain=clean_text(name, LONGEST_DOMAIN) or ROOT_DOMAIN,
        qtype=clean_text(row.question.type),
        client=clean_text(row.client),
        client_name=clean_text((row.client_info and row.client_info.name) or row.client_id),
        status=clean_text(row.status),
        reason=reason,
        blocked=reason in BLOCKED_REASONS,
        rule=clean_text(rule, LONGEST_RULE),
        service=clean_text(row.service_name),
        upstream=clean_text(row.upstream),
        elapsed_us=_elapsed_us(row.elapsed_ms),
        cached=bool(row.cached),
    )


def clean_text(text: str | None, longest: int = LONGEST_TEXT) -> str:
    r"""Return a text of at most `longest` characters; control characters become `\DDD`, which is
    their notation in domain names."""
    if not text:
        return ""
    if _CONTROL.search(text[:longest]):
        text = _CONTROL.sub(_escape, text[:longest])
    return text[:longest]


def _escape(found: re.Match[str]) -> str:
    number = ord(found[0])
    return f"\\{number:03d}" if number < 256 else "\ufffd"


def _elapsed_us(elapsed_ms: Any) -> int:
    """Return the duration of a query; AdGuard sends milliseconds as a text: "12.345678"."""
    if elapsed_ms in (None, ""):
        return 0
    try:
        number = float(elapsed_ms)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise BadRow(f"elapsedMs is {elapsed_ms[:60]!r}; expected a number of milliseconds")
    return round(min(max(number * 1000, 0), LONGEST_ELAPSED_US))
