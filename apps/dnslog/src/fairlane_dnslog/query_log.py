"""The query log: storing pages of entries. `query_search` reads them."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from fairlane_dnslog.database import BulkInsert, Transaction
from fairlane_dnslog.database.text import storable
from fairlane_dnslog.entries import QueryEntry
from fairlane_dnslog.query_search import (
    BadCursor,
    DomainMatch,
    Filter,
    LoggedQuery,
    Page,
    export,
    search,
)
from fairlane_dnslog.rollups import add_to_rollups

__all__ = [
    "BadCursor",
    "DomainMatch",
    "Filter",
    "LoggedQuery",
    "Page",
    "export",
    "forget_rows",
    "lock_log",
    "search",
    "store_page",
]

# PostgreSQL refuses index entries of more than 2,704 bytes; the key of a roll-up also has a server.
LONGEST_KEY_BYTES: Final = 1_200
LOG_LOCK: Final = 0x646E736C6F68  # next to the lock of the migrations

_NEVER: Final = -(2**63)
_AMONG_SQLITE: Final = "name IN (SELECT value FROM json_each(:names))"
_AMONG_POSTGRES: Final = "name = ANY (CAST(:names AS text[]))"

_INSERT_ROWS: Final = BulkInsert(
    "query_log",
    {
        "server": "text", "time": "text", "at_ns": "bigint", "qh": "text", "ip": "bytea",
        "client": "text", "client_name": "text", "qtype": "text", "status": "text",
        "reason": "text", "blocked": "boolean", "rule": "text", "service": "text",
        "upstream": "text", "elapsed_us": "bigint", "cached": "boolean",
    },
    "ON CONFLICT (ip) DO NOTHING RETURNING ip",
)  # fmt: skip
_ADD_DOMAINS: Final = BulkInsert(
    "domain",
    {"name": "text", "last_at_ns": "bigint", "queries": "bigint"},
    """
    ON CONFLICT (name) DO UPDATE SET
        queries = domain.queries + excluded.queries,
        last_at_ns = CASE WHEN excluded.last_at_ns > domain.last_at_ns
            THEN excluded.last_at_ns ELSE domain.last_at_ns END
    """,
)
_ADD_CLIENTS: Final = BulkInsert(
    "client",
    {"name": "text", "label": "text", "last_at_ns": "bigint", "queries": "bigint"},
    """
    ON CONFLICT (name) DO UPDATE SET
        queries = client.queries + excluded.queries,
        label = CASE WHEN excluded.label <> '' AND excluded.last_at_ns >= client.last_at_ns
            THEN excluded.label ELSE client.label END,
        last_at_ns = CASE WHEN excluded.last_at_ns > client.last_at_ns
            THEN excluded.last_at_ns ELSE client.last_at_ns END
    """,
)


def store_page(tx: Transaction, server: str, entries: Sequence[QueryEntry]) -> int:
    """Store the entries that are not stored yet, with catalogues and roll-ups; return their number.

    The digest of an entry is that of the entry as it was received, before it is made storable.
    """
    if not entries:
        return 0
    lock_log(tx)
    received = {entry.digest(server): _storable_entry(entry) for entry in entries}
    in_order = sorted(received.items(), key=lambda one: (one[1].at_ns, one[0]))
    inserted = _INSERT_ROWS.run(tx, [_row(server, digest, entry) for digest, entry in in_order])
    stored = [received[bytes(row["ip"])] for row in inserted]
    _ADD_DOMAINS.run(tx, _domains(stored))
    _ADD_CLIENTS.run(tx, _clients(stored))
    add_to_rollups(tx, server, stored)
    return len(stored)


def lock_log(tx: Transaction) -> None:
    """Wait until no other transaction writes rows, catalogues or roll-ups.

    The order of the rows alone prevents a deadlock of two pages, but not of two transactions with
    several pages each. A page takes milliseconds, so this costs nothing.
    """
    if tx.dialect == "postgres":
        tx.rows("SELECT pg_advisory_xact_lock(:lock)", lock=LOG_LOCK)


def forget_rows(tx: Transaction, rows: Iterable[tuple[str, str]]) -> None:
    """Subtract deleted rows, each a domain and a client, from the catalogues."""
    deleted = list(rows)
    domains = Counter(domain for domain, _ in deleted)
    clients = Counter(client for _, client in deleted)
    _ADD_DOMAINS.run(tx, [(name, _NEVER, -number) for name, number in sorted(domains.items())])
    _ADD_CLIENTS.run(tx, [(name, "", _NEVER, -number) for name, number in sorted(clients.items())])
    for table, names in (("domain", domains), ("client", clients)):
        among = _AMONG_POSTGRES if tx.dialect == "postgres" else _AMONG_SQLITE
        tx.run(f"DELETE FROM {table} WHERE queries <= 0 AND {among}", names=sorted(names))  # noqa: S608


def _row(server: str, digest: bytes, entry: QueryEntry) -> tuple[object, ...]:
    return (
        server, entry.time, entry.at_ns, entry.domain, digest, entry.client, entry.client_name,
        entry.qtype, entry.status, entry.reason, entry.blocked, entry.rule, entry.service,
        entry.upstream, entry.elapsed_us, entry.cached,
    )  # fmt: skip


def _domains(entries: Iterable[QueryEntry]) -> list[tuple[object, ...]]:
    found: dict[str, tuple[int, int]] = {}
    for entry in entries:
        last_at_ns, queries = found.get(entry.domain, (entry.at_ns, 0))
        found[entry.domain] = (max(last_at_ns, entry.at_ns), queries + 1)
    return [(name, *counted) for name, counted in sorted(found.items())]


def _clients(entries: Iterable[QueryEntry]) -> list[tuple[object, ...]]:
    found: dict[str, tuple[str, int, int]] = {}
    for entry in entries:  # oldest first, so the last name is the newest
        label, last_at_ns, queries = found.get(entry.client, ("", entry.at_ns, 0))
        found[entry.client] = (
            entry.client_name or label, max(last_at_ns, entry.at_ns), queries + 1,
        )  # fmt: skip
    return [(name, *counted) for name, counted in sorted(found.items())]


def _storable_entry(entry: QueryEntry) -> QueryEntry:
    keys = {name: _key(getattr(entry, name)) for name in ("domain", "client", "upstream", "qtype")}
    if all(getattr(entry, name) == key for name, key in keys.items()):
        return entry  # the transaction cleans the other texts, which are no keys
    return msgspec.structs.replace(entry, **keys)


def _key(text: str) -> str:
    """Return a text that can be in an index."""
    text = storable(text)
    if len(text) * 4 <= LONGEST_KEY_BYTES:
        return text
    return text.encode()[:LONGEST_KEY_BYTES].decode(errors="ignore")
