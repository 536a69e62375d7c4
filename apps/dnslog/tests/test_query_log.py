"""Storing and searching the query log, on both dialects."""

import random
from collections import Counter
from typing import Any

import pytest

from apps.dnslog.tests.query_entries import NOON, NS, blocked, entry
from apps.dnslog.tests.test_database import together
from fairlane_dnslog import query_search
from fairlane_dnslog.database import Database
from fairlane_dnslog.entries import QueryEntry
from fairlane_dnslog.query_log import (
    BadCursor,
    Filter,
    LoggedQuery,
    Page,
    export,
    search,
    store_page,
)


def store(database: Database, *entries: QueryEntry, server: str = "home") -> int:
    with database.transaction() as tx:
        return store_page(tx, server, entries)


def find(database: Database, cursor: str | None = None, limit: int = 100, **wanted: Any) -> Page:
    with database.reading() as tx:
        return search(tx, Filter(**wanted), cursor, limit)


def domains(database: Database, **wanted: Any) -> list[str]:
    return [row.domain for row in find(database, **wanted).rows]


def all_pages(database: Database, limit: int, **wanted: Any) -> list[LoggedQuery]:
    rows: list[LoggedQuery] = []
    cursor: str | None = None
    while True:
        page = find(database, cursor, limit, **wanted)
        rows += page.rows
        cursor = page.next
        if cursor is None:
            return rows


def test_a_row_is_read_as_it_was_stored(database: Database) -> None:
    one = blocked(1.000_000_001, rule="||ads^", service="ads", qtype="HTTPS", cached=True)
    assert store(database, one) == 1
    [row] = find(database).rows
    values = {name: getattr(row, name) for name in QueryEntry.__struct_fields__}
    assert QueryEntry(**values) == one
    assert (row.server, row.blocked, row.cached) == ("home", True, True)


def test_a_page_that_is_stored_again_adds_only_its_new_rows(database: Database) -> None:
    assert store(database, entry(1), entry(2), entry(2)) == 2
    assert store(database, entry(3), entry(2), entry(1)) == 1
    assert store(database, entry(3), entry(2), entry(1)) == 0
    assert store(database) == 0
    assert store(database, entry(1), server="office") == 1
    assert [row.at_ns for row in find(database).rows] == [
        (NOON + second) * NS for second in (3, 2, 1, 1)
    ]


def test_overlapping_pages_of_several_writers_are_stored_once(database: Database) -> None:
    entries = [entry(n / 7, f"d{n % 13}.example") for n in range(300)]

    def write(index: int) -> None:
        shuffled = random.Random(index)
        for _ in range(3):
            with database.transaction() as tx:
                for _ in range(2):
                    first = shuffled.randrange(250)
                    store_page(tx, "home", shuffled.sample(entries[first : first + 50], 50))
        store(database, *entries)

    together(write, 4)
    assert len(find(database, limit=1_000).rows) == 300
    with database.reading() as tx:
        assert {row["name"]: row["queries"] for row in tx.rows("SELECT * FROM domain")} == Counter(
            one.domain for one in entries
        )
        assert tx.row("SELECT queries FROM rollup WHERE grain = 'month' AND kind = 'total'") == {
            "queries": 300
        }


@pytest.mark.parametrize(
    "domain",
    [
        "<script>alert(1)</script>",
        "nul\x00.example",
        "lone\ud800.example",
        "%_!'\";--",
        "xn--bcher-kva.example",
        "a" * 63 + "." + "b" * 189,
        "🦊" * 1_024,
        "\x07\x1b[31m",
    ],
)
def test_a_hostile_domain_is_stored_once_and_found(database: Database, domain: str) -> None:
    for _ in range(2):
        store(database, entry(1, domain, client=domain, upstream=domain))
    [row] = find(database).rows
    assert find(database, domain=domain[:20]).rows == (row,)
    assert find(database, domain=row.domain[:300], match="part").rows == (row,)


def test_names_that_differ_only_in_what_cannot_be_stored_share_their_counts(
    database: Database,
) -> None:
    assert store(database, entry(1, "a\x00"), entry(1, "a\ud800"), entry(1, "a\ufffd")) == 3
    with database.reading() as tx:
        assert tx.rows("SELECT name, queries FROM domain") == [{"name": "a\ufffd", "queries": 3}]


def test_the_catalogue_of_clients_has_their_newest_label(database: Database) -> None:
    store(database, entry(5, client_name="new"), entry(1, client_name="old"))
    store(database, entry(2, client_name="older"))
    store(database, entry(9, client_name=""))
    with database.reading() as tx:
        assert tx.rows("SELECT label, queries, last_at_ns FROM client") == [
            {"label": "new", "queries": 4, "last_at_ns": (NOON + 9) * NS}
        ]


def test_domains_are_found_by_a_part_exactly_or_with_subdomains(database: Database) -> None:
    names = ["example.com", "www.example.com", "notexample.com", "Example.com.evil.org"]
    store(database, *(entry(-n, name) for n, name in enumerate(names)))
    assert domains(database, domain="EXAMPLE.com") == names
    assert domains(database, domain="example.com", match="exact") == ["example.com"]
    assert domains(database, domain="Example.com.evil.org", match="exact") == names[3:]
    assert domains(database, domain="example.com", match="subdomains") == names[:2]
    assert domains(database, domain="nothing") == []


def test_wildcards_in_a_search_are_plain_characters(database: Database) -> None:
    store(database, entry(1, "a_b.example"), entry(2, "axb.example"), entry(3, "100%.example"))
    assert domains(database, domain="a_b") == ["a_b.example"]
    assert domains(database, domain="%") == ["100%.example"]
    assert domains(database, domain="!") == []
    assert domains(database, client="%") == []


def test_clients_are_found_by_address_by_label_or_by_a_part(database: Database) -> None:
    store(
        database,
        entry(3, "a", client="192.168.1.1", client_name="Router"),
        entry(2, "b", client="192.168.1.10", client_name="Tablet of Ann"),
        entry(1, "c", client="192.168.1.11", client_name="Tablet of Bob"),
    )
    assert domains(database, client="192.168.1.1") == ["a"]
    assert domains(database, client="tablet of ann") == ["b"]
    assert domains(database, client="Tablet") == ["b", "c"]
    assert domains(database, client="168.1.1") == ["a", "b", "c"]
    assert domains(database, client="laptop") == []


def test_filters_are_combined(database: Database) -> None:
    store(database, blocked(4, "x.ads"), entry(3, "y.ads"), blocked(2, "z.ads", qtype="AAAA"))
    store(database, blocked(1, "w.ads"), server="office")
    assert domains(database, blocked=True) == ["x.ads", "z.ads", "w.ads"]
    assert domains(database, blocked=False) == ["y.ads"]
    assert domains(database, blocked=True, qtype="aaaa") == ["z.ads"]
    assert domains(database, server="office") == ["w.ads"]
    assert domains(database, domain="ads", blocked=True, server="home") == ["x.ads", "z.ads"]
    assert domains(database, domain="ads", client="tablet", since=NOON + 2, until=NOON + 4) == [
        "y.ads",
        "z.ads",
    ]


FEW = {"FEW_ROWS": 3, "FEW_NAMES": 4, "CHUNK_ROWS": 7, "SCAN_ROWS": 21, "SCAN_SECONDS": 60}


@pytest.mark.parametrize("bounds", [{}, FEW, FEW | {"FEW_NAMES": 0}], ids=["usual", "few", "scan"])
def test_every_way_of_searching_finds_the_same_rows(
    database: Database, monkeypatch: pytest.MonkeyPatch, bounds: dict[str, int]
) -> None:
    """With the small bounds, each of the plans and its limits is used."""
    for name, value in bounds.items():
        monkeypatch.setattr(query_search, name, value)
    chance = random.Random(3)
    entries = {
        one.digest("home"): one
        for one in (
            entry(
                chance.randrange(60),  # many at the same instant
                f"{chance.choice('abc')}{chance.randrange(8)}.{chance.choice(['com', 'net'])}",
                client=f"10.0.0.{chance.randrange(5)}",
                client_name="",
                qtype=chance.choice(["A", "AAAA"]),
                blocked=chance.random() < 0.3,
            )
            for _ in range(300)
        )
    }.values()
    store(database, *entries)
    for wanted, expected in (
        ({}, lambda one: True),
        ({"domain": "com"}, lambda one: "com" in one.domain),
        ({"domain": "a1"}, lambda one: "a1" in one.domain),
        ({"domain": "a1.com", "match": "exact"}, lambda one: one.domain == "a1.com"),
        ({"client": "10.0.0.2"}, lambda one: one.client == "10.0.0.2"),
        ({"client": "10.0"}, lambda one: True),
        (
            {"client": "10.0", "domain": "b", "qtype": "A", "blocked": True},
            lambda one: "b" in one.domain and one.qtype == "A" and one.blocked,
        ),
        (
            {"client": "10.0.0.3", "domain": ".net", "since": NOON + 10, "until": NOON + 50},
            lambda one: (
                one.client == "10.0.0.3"
                and one.domain.endswith(".net")
                and NOON + 10 <= one.at_ns / NS < NOON + 50
            ),
        ),
    ):
        for limit in (1, 7, 1_000):
            rows = all_pages(database, limit, **wanted)
            positions = [(row.at_ns, row.id) for row in rows]
            assert positions == sorted(set(positions), reverse=True)
            assert Counter((row.at_ns, row.domain, row.qtype, row.client) for row in rows) == (
                Counter(
                    (one.at_ns, one.domain, one.qtype, one.client)
                    for one in entries
                    if expected(one)
                )
            ), (wanted, limit)


def test_a_scan_that_finds_nothing_for_long_continues_at_its_cursor(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(query_search, "FEW_ROWS", 0)
    monkeypatch.setattr(query_search, "CHUNK_ROWS", 10)
    monkeypatch.setattr(query_search, "SCAN_ROWS", 20)
    monkeypatch.setattr(query_search, "SCAN_SECONDS", 60)
    store(database, entry(-1, "needle.example", qtype="PTR"), *(entry(n) for n in range(50)))
    page = find(database, blocked=False, server="home", qtype="A", client="192.168.1.10")
    assert len(page.rows) == 20
    page = find(database, domain="e", client="192.168.1.10", blocked=True)
    assert (page.rows, page.searched_to_ns) == ((), (NOON + 30) * NS)
    assert page.next
    monkeypatch.setattr(query_search, "SCAN_SECONDS", 0)  # a slow disk: one chunk
    page = find(database, domain="e", client="192.168.1.10", blocked=True)
    assert (page.rows, page.searched_to_ns) == ((), (NOON + 40) * NS)


def test_rows_that_arrive_between_two_pages_do_not_shift_them(database: Database) -> None:
    store(database, *(entry(n, f"d{n}") for n in range(6)))
    first = find(database, limit=3)
    store(database, *(entry(n, f"d{n}") for n in range(6, 9)))
    second = find(database, first.next, 3)
    assert [row.domain for row in first.rows + second.rows] == ["d5", "d4", "d3", "d2", "d1", "d0"]
    assert second.next is None


@pytest.mark.parametrize("cursor", ["x", "!!", "MQ", "MS4yLjM", "é", "A" * 500])
def test_a_cursor_from_another_place_is_refused(database: Database, cursor: str) -> None:
    with pytest.raises(BadCursor, match="start again from the first page"):
        find(database, cursor)


def test_an_export_yields_all_rows_of_a_filter(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(query_search, "LARGEST_PAGE", 4)
    store(database, *(entry(n, f"d{n % 2}") for n in range(20)))
    assert len(list(export(database, Filter()))) == 20
    assert [row.domain for row in export(database, Filter(domain="d1"))] == ["d1"] * 10
    assert len(list(export(database, Filter(), limit=7))) == 7
