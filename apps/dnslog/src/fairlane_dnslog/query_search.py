"""Search in the query log: pages of rows, newest first, without ever reading the whole log.

A search first looks its names up in the catalogues of domains and clients, which are small and know
how many rows each name has. Then it is answered in one of two ways:

- by names: for each name, the newest rows by the index (name, time), merged. This is chosen when
  the names have few rows, or when nothing else is filtered and few names remain. If nothing else is
  filtered, the newest N rows can only be rows of the N names that were seen last (and of those seen
  at the same instant); further ones need not be read. Below a cursor, that holds for the names
  whose last row is older than the cursor.
- by scan: rows in order of time, by the index of one column that must be equal (or of the time), in
  chunks; the other conditions are tested row by row. A rare combination could be a scan of
  everything, so it ends after `SCAN_ROWS` or `SCAN_SECONDS`: the page is then short, and its cursor
  continues.

Both read (time, id) first, and the rows of the page last.
"""

import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterator
from heapq import nlargest
from typing import Any, Final, Literal

from msgspec import Struct, convert

from fairlane_dnslog.database import Database, Row, Transaction
from fairlane_dnslog.database.text import storable

DomainMatch = Literal["part", "exact", "subdomains"]
Position = tuple[int, int]  # at_ns, id

LARGEST_PAGE: Final = 1_000
EXPORT_ROWS: Final = 1_000_000
FEW_NAMES: Final = 500
FEW_ROWS: Final = 20_000
CHUNK_ROWS: Final = 5_000
SCAN_ROWS: Final = 40_000
SCAN_SECONDS: Final = 0.15  # rows that are not in memory take longer
LONGEST_TEXT: Final = 300
_NS: Final = 1_000_000_000
_FIRST: Final = -(2**63)
_LAST: Final = 2**63 - 1

_COLUMNS: Final = (
    "id, server, time, at_ns, qh AS domain, client, client_name, qtype, status, reason, blocked, "
    "rule, service, upstream, elapsed_us, cached"
)
_ROWS_SQLITE: Final = (
    f"SELECT {_COLUMNS} FROM query_log WHERE id IN (SELECT value FROM json_each(:ids))"  # noqa: S608
)
_ROWS_POSTGRES: Final = f"SELECT {_COLUMNS} FROM query_log WHERE id = ANY (CAST(:ids AS bigint[]))"  # noqa: S608
_IN_RANGE: Final = "at_ns >= :since_ns AND (at_ns, id) < (:before_ns, :before_id)"
_NEWEST: Final = "ORDER BY at_ns DESC, id DESC"


class BadCursor(ValueError):
    def __init__(self, got: str) -> None:
        super().__init__(
            f'got the cursor "{got[:40]}"; expected one that a page of this log gave: start again '
            "from the first page"
        )
        self.got = got


class Filter(Struct, frozen=True, kw_only=True):
    """The conditions of a search; those that are empty do not restrict it.

    `domain` is a part of the name, the whole name, or a name with its subdomains, according to
    `match`. `client` is an address or a label; if no client has exactly that, a part of one.
    `since` (included) and `until` (excluded) are epoch seconds.
    """

    domain: str = ""
    match: DomainMatch = "part"
    client: str = ""
    qtype: str = ""
    blocked: bool | None = None
    server: str = ""
    since: float | None = None
    until: float | None = None


class LoggedQuery(Struct, frozen=True, kw_only=True):
    id: int
    server: str
    time: str
    at_ns: int
    domain: str
    client: str
    client_name: str
    qtype: str
    status: str
    reason: str
    blocked: bool
    rule: str
    service: str
    upstream: str
    elapsed_us: int
    cached: bool


class Page(Struct, frozen=True, kw_only=True):
    """Rows, newest first. A page with a `next` may have fewer rows than its limit, or none: then
    the search has reached `searched_to_ns` and continues at its cursor."""

    rows: tuple[LoggedQuery, ...] = ()
    next: str | None = None
    searched_to_ns: int | None = None


class _Names(Struct, frozen=True, kw_only=True):
    """The names of a catalogue that match, and the condition that a row has one of them."""

    column: Literal["qh", "client"]
    names: list[str]  # those seen last, at most FEW_NAMES and a page more unless rows are few
    last_at_ns: list[int]
    is_complete: bool
    rows: int
    condition: str
    values: dict[str, object]


class _Search(Struct, kw_only=True):
    """A search whose names are known."""

    limit: int
    since_ns: int
    before: Position
    names: list[_Names]
    equal: dict[str, object]

    @property
    def range(self) -> dict[str, object]:
        return {
            "since_ns": self.since_ns,
            "before_ns": self.before[0],
            "before_id": self.before[1],
        }


def search(tx: Transaction, wanted: Filter, cursor: str | None = None, limit: int = 100) -> Page:
    """Return a page of the rows that match, beginning at the cursor of the page before it."""
    limit = min(max(limit, 1), LARGEST_PAGE)
    begun = _begun(tx, wanted, cursor, limit)
    if begun is None:
        return Page()
    by_names = _names_to_read(begun)
    if by_names is not None:
        found, scanned_to = _found_by_names(tx, begun, by_names), None
    else:
        found, scanned_to = _found_by_scan(tx, begun)
    return _page(tx, found, scanned_to, limit)


def export(
    database: Database, wanted: Filter, *, limit: int = EXPORT_ROWS
) -> Iterator[LoggedQuery]:
    """Yield the rows that match, newest first; each page is a separate read, so that a slow reader
    does not hold up the database."""
    cursor: str | None = None
    while limit > 0:
        with database.reading() as tx:
            page = search(tx, wanted, cursor, min(limit, LARGEST_PAGE))
        yield from page.rows
        limit -= len(page.rows)
        cursor = page.next
        if cursor is None:
            return


# names


def _begun(tx: Transaction, wanted: Filter, cursor: str | None, limit: int) -> _Search | None:
    """Return the search, or None if a name is unknown."""
    begun = _Search(
        limit=limit,
        since_ns=_FIRST if wanted.since is None else int(wanted.since * _NS),
        before=(_LAST if wanted.until is None else int(wanted.until * _NS), 0),
        names=[],
        equal={
            column: value
            for column, value in (
                ("qtype", wanted.qtype.upper()),
                ("blocked", wanted.blocked),
                ("server", wanted.server),
            )
            if value not in ("", None)
        },
    )
    if cursor:
        begun.before = min(begun.before, _position(cursor))
    if wanted.domain.strip():
        begun.names.append(_domains(tx, wanted, begun))
    if wanted.client.strip():
        begun.names.append(_clients(tx, wanted, begun))
    return begun if all(one.names for one in begun.names) else None


def _domains(tx: Transaction, wanted: Filter, begun: _Search) -> _Names:
    text = _text(wanted.domain)
    like = "lower({name}) LIKE :domain_like ESCAPE '!'"
    same = "lower({name}) = :domain"
    match wanted.match:
        case "part":
            return _read_names(tx, "domain", "qh", like, begun, domain_like=f"%{_escaped(text)}%")
        case "subdomains":
            either = f"({same} OR {like})"
            text = text.strip(".")
            return _read_names(
                tx, "domain", "qh", either, begun, domain=text, domain_like=f"%.{_escaped(text)}"
            )
        case "exact":
            # As typed or in lower case, because only these two can be found by the primary key.
            typed = storable(wanted.domain.strip()[:LONGEST_TEXT])
            either = "{name} IN (:domain, :typed)"
            return _read_names(tx, "domain", "qh", either, begun, domain=text, typed=typed)


def _clients(tx: Transaction, wanted: Filter, begun: _Search) -> _Names:
    text = _text(wanted.client)
    exact = "(lower({name}) = :client OR lower({label}) = :client)"
    found = _read_names(tx, "client", "client", exact, begun, client=text)
    if found.names:
        return found
    like = "LIKE :client_like ESCAPE '!'"
    part = f"(lower({{name}}) {like} OR lower({{label}}) {like})"
    return _read_names(tx, "client", "client", part, begun, client_like=f"%{_escaped(text)}%")


def _read_names(
    tx: Transaction,
    table: Literal["domain", "client"],
    column: Literal["qh", "client"],
    condition: str,
    begun: _Search,
    **values: object,
) -> _Names:
    matches = f"{condition.format(name='name', label='label')} AND last_at_ns >= :since_ns"
    counted = tx.row(
        "SELECT count(*) AS names, CAST(coalesce(sum(queries), 0) AS bigint) AS queries "  # noqa: S608
        f"FROM {table} WHERE {matches}",
        since_ns=begun.since_ns,
        **values,
    )
    assert counted is not None
    bound = FEW_ROWS if counted["queries"] <= FEW_ROWS else FEW_NAMES + begun.limit + 1
    rows = tx.rows(
        f"SELECT name, last_at_ns FROM {table} WHERE {matches} "  # noqa: S608 - our own columns
        "ORDER BY last_at_ns DESC, name LIMIT :bound",
        since_ns=begun.since_ns,
        bound=bound,
        **values,
    )
    names = [row["name"] for row in rows]
    is_complete = len(names) == counted["names"]
    if table == "client" and is_complete:  # rows may have older labels than the catalogue
        condition = "client IN (SELECT value FROM json_each(:clients))"
        if tx.dialect == "postgres":
            condition = "client = ANY (CAST(:clients AS text[]))"
        values = {"clients": names}
    return _Names(
        column=column,
        names=names,
        last_at_ns=[row["last_at_ns"] for row in rows],
        is_complete=is_complete,
        rows=counted["queries"],
        condition=condition.format(name=column, label="client_name"),
        values=values,
    )


def _names_to_read(begun: _Search) -> tuple[_Names, list[str]] | None:
    """Return the names by which the rows are read, or None if a scan is cheaper."""
    few = [one for one in begun.names if one.rows <= FEW_ROWS and one.is_complete]
    if few:
        fewest = min(few, key=lambda one: one.rows)
        return fewest, fewest.names
    if len(begun.names) != 1 or begun.equal:
        return None
    only = begun.names[0]
    newer = sum(last >= begun.before[0] for last in only.last_at_ns)
    needed = newer + begun.limit + 1
    # Of rows at the same instant the one with the highest id is first, whatever its name is.
    while needed < len(only.names) and only.last_at_ns[needed] == only.last_at_ns[needed - 1]:
        needed += 1
    if needed >= len(only.names) and not only.is_complete:
        return None
    names = only.names[:needed]
    return (only, names) if len(names) <= FEW_NAMES + begun.limit + 1 else None


# by names


def _found_by_names(
    tx: Transaction, begun: _Search, by_names: tuple[_Names, list[str]]
) -> list[Position]:
    chosen, names = by_names
    others = [one for one in begun.names if one is not chosen]
    conditions, values = _conditions(others, begun.equal)
    values |= begun.range | {"limit": begun.limit + 1}
    if tx.dialect == "postgres":
        rows = tx.rows(by_names_postgres(chosen.column, conditions), names=names, **values)
        return _positions(rows)
    if len(names) > FEW_NAMES + begun.limit + 1:
        return _positions(
            tx.rows(by_names_sqlite(chosen.column, conditions), names=names, **values)
        )
    statement = by_name_sqlite(chosen.column, conditions)
    found = [
        position
        for name in names
        for position in _positions(tx.rows(statement, name=name, **values))
    ]
    return nlargest(begun.limit + 1, found)


def by_names_postgres(column: str, conditions: str) -> str:
    return f"""
        SELECT found.at_ns, found.id FROM unnest(CAST(:names AS text[])) AS wanted (name)
        CROSS JOIN LATERAL (
            SELECT at_ns, id FROM query_log
            WHERE {column} = wanted.name AND {_IN_RANGE} {conditions} {_NEWEST} LIMIT :limit
        ) AS found {_NEWEST} LIMIT :limit
    """  # noqa: S608 - our own columns


def by_name_sqlite(column: str, conditions: str) -> str:
    return f"""
        SELECT at_ns, id FROM query_log INDEXED BY {_INDEX[column]}
        WHERE {column} = :name AND {_IN_RANGE} {conditions} {_NEWEST} LIMIT :limit
    """  # noqa: S608 - our own columns


def by_names_sqlite(column: str, conditions: str) -> str:
    """Return the statement for thousands of names that have few rows in all."""
    return f"""
        SELECT at_ns, id FROM query_log INDEXED BY {_INDEX[column]}
        WHERE {column} IN (SELECT value FROM json_each(:names)) AND {_IN_RANGE} {conditions}
        {_NEWEST} LIMIT :limit
    """  # noqa: S608 - our own columns


# by scan

_INDEX: Final = {
    "": "query_log_time",
    "qh": "query_log_domain",
    "client": "query_log_client",
    "qtype": "query_log_qtype",
    "blocked": "query_log_blocked",
    "server": "query_log_server",
}


def _found_by_scan(tx: Transaction, begun: _Search) -> tuple[list[Position], Position | None]:
    """Return the rows found, and the position at which the scan gave up."""
    column, value, names, equal = _scanned_column(begun)
    conditions, values = _conditions(names, equal)
    if column:
        values["scanned"] = value
    _start_at_last_seen(begun)
    if not conditions:
        statement = f"{_chunk(tx, column, 'at_ns, id')} LIMIT :limit"
        rows = tx.rows(statement, **values, **begun.range, limit=begun.limit + 1)
        return _positions(rows), None
    found: list[Position] = []
    ends_at = time.monotonic() + SCAN_SECONDS
    for _ in range(SCAN_ROWS // CHUNK_ROWS):
        found += _positions(
            tx.rows(
                scan_statement(tx, column, conditions),
                **values, **begun.range, chunk=CHUNK_ROWS, limit=begun.limit + 1 - len(found),
            )
        )  # fmt: skip
        if len(found) > begun.limit:
            return found, None
        last = tx.row(
            f"{_chunk(tx, column, 'at_ns, id')} LIMIT 1 OFFSET :skipped",
            **({"scanned": value} if column else {}), **begun.range, skipped=CHUNK_ROWS - 1,
        )  # fmt: skip
        if last is None:
            return found, None
        begun.before = (last["at_ns"], last["id"])
        if time.monotonic() > ends_at:
            break
    return found, begun.before


def _scanned_column(
    begun: _Search,
) -> tuple[str, object, list[_Names], dict[str, object]]:
    """Return the column whose index is read, its value, and the conditions that remain."""
    single = [one for one in begun.names if one.is_complete and len(one.names) == 1]
    if single:
        chosen = min(single, key=lambda one: one.rows)
        others = [one for one in begun.names if one is not chosen]
        return chosen.column, chosen.names[0], others, begun.equal
    for column in ("qtype", "blocked", "server"):
        if column in begun.equal:
            rest = {name: value for name, value in begun.equal.items() if name != column}
            return column, begun.equal[column], begun.names, rest
    return "", None, begun.names, {}


def _start_at_last_seen(begun: _Search) -> None:
    """Skip the rows that are newer than the last row of all names."""
    for one in begun.names:
        begun.before = min(begun.before, (one.last_at_ns[0] + 1, 0))


def scan_statement(tx: Transaction, column: str, conditions: str) -> str:
    columns = "at_ns, id, qh, client, client_name, qtype, blocked, server"
    return f"""
        SELECT at_ns, id FROM ({_chunk(tx, column, columns)} LIMIT :chunk) AS scanned
        WHERE true {conditions} {_NEWEST} LIMIT :limit
    """  # noqa: S608 - our own columns


def _chunk(tx: Transaction, column: str, columns: str) -> str:
    index = f"INDEXED BY {_INDEX[column]}" if tx.dialect == "sqlite" else ""
    # The index of the time has this condition on PostgreSQL, see the schema.
    equal = f"{column} = :scanned" if column else "id > 0"
    return f"SELECT {columns} FROM query_log {index} WHERE {equal} AND {_IN_RANGE} {_NEWEST}"  # noqa: S608


# both


def _conditions(names: list[_Names], equal: dict[str, object]) -> tuple[str, dict[str, object]]:
    texts = [one.condition for one in names] + [f"{column} = :{column}" for column in equal]
    values = dict(equal)
    for one in names:
        values |= one.values
    return "".join(f" AND {text}" for text in texts), values


def _page(tx: Transaction, found: list[Position], scanned_to: Position | None, limit: int) -> Page:
    rows = _rows(tx, found[:limit])
    if len(found) > limit:
        return Page(rows=rows, next=_cursor(found[limit - 1]))
    if scanned_to is not None:
        return Page(rows=rows, next=_cursor(scanned_to), searched_to_ns=scanned_to[0])
    return Page(rows=rows)


def _rows(tx: Transaction, found: list[Position]) -> tuple[LoggedQuery, ...]:
    if not found:
        return ()
    statement = _ROWS_POSTGRES if tx.dialect == "postgres" else _ROWS_SQLITE
    rows = {row["id"]: row for row in tx.rows(statement, ids=[one[1] for one in found])}
    return tuple(_logged(rows[one[1]]) for one in found)


def _logged(row: dict[str, Any]) -> LoggedQuery:
    row["blocked"], row["cached"] = bool(row["blocked"]), bool(row["cached"])
    return convert(row, LoggedQuery)


def _positions(rows: list[Row]) -> list[Position]:
    return [(row["at_ns"], row["id"]) for row in rows]


def _text(text: str) -> str:
    return storable(text.strip()[:LONGEST_TEXT].lower())


def _escaped(text: str) -> str:
    """Return a text that LIKE matches literally."""
    for character in "!%_":
        text = text.replace(character, f"!{character}")
    return text


def _cursor(position: Position) -> str:
    return urlsafe_b64encode(f"{position[0]}.{position[1]}".encode()).decode().rstrip("=")


def _position(cursor: str) -> Position:
    try:
        text = urlsafe_b64decode(cursor[:80] + "=" * (-len(cursor[:80]) % 4)).decode("ascii")
        at_ns, row = text.split(".")
        position = int(at_ns), int(row)
    except ValueError:
        raise BadCursor(cursor) from None
    if not all(_FIRST <= number <= _LAST for number in position):
        raise BadCursor(cursor)
    return position
