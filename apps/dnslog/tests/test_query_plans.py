"""Plans of the page's statements: none reads the whole log, on both dialects."""

import random
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from apps.dnslog.tests.databases import DIALECTS, new_address
from apps.dnslog.tests.query_entries import NOON, NS, entry
from fairlane_dnslog import query_search, retention
from fairlane_dnslog.charts import read_charts
from fairlane_dnslog.database import Database, Row, Transaction, open_database
from fairlane_dnslog.query_log import Filter, search, store_page

ROWS = 3_000


class Explaining(Transaction):
    """A transaction that stores the plan of every statement before it runs it."""

    def __init__(self, inner: Transaction) -> None:
        self._inner = inner
        self.plans: list[str] = []

    @property
    def dialect(self) -> str:  # type: ignore[override]
        return self._inner.dialect

    def rows(self, sql: str, /, **values: object) -> list[Row]:
        verb = "EXPLAIN QUERY PLAN" if self.dialect == "sqlite" else "EXPLAIN"
        plan = self._inner.rows(f"{verb} {sql}", **values)
        self.plans.append("\n".join(str(row.get("detail", row.get("QUERY PLAN"))) for row in plan))
        return self._inner.rows(sql, **values)

    def rows_of_many(self, sql: str, values: object, /) -> list[Row]:
        raise NotImplementedError

    def run(self, sql: str, /, **values: object) -> int:
        raise NotImplementedError


@pytest.fixture(scope="module", params=DIALECTS)
def filled(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Database]:
    """A filled log, which the tests only read."""
    address = new_address(request.param, tmp_path_factory.mktemp("plans"))
    with closing(open_database(address)) as database:
        database.migrate()
        fill(database)
        yield database


def fill(database: Database) -> None:
    chance = random.Random(5)
    with database.transaction() as tx:
        store_page(
            tx,
            "home",
            [
                entry(
                    -n * 100,
                    f"d{chance.randrange(300)}.{chance.choice(['com', 'net'])}",
                    client=f"10.0.0.{chance.randrange(20)}",
                    qtype=chance.choice(["A", "AAAA", "PTR"]),
                    blocked=chance.random() < 0.2,
                )
                for n in range(ROWS)
            ],
        )
    with database.transaction() as tx:
        tx.run("ANALYZE")


@contextmanager
def explained(database: Database) -> Iterator[Explaining]:
    """Yield a transaction whose statements must all use an index of the log.

    The tables of a test are so small that PostgreSQL prefers to read them whole; with that made
    expensive, a plan shows a full scan only if no index fits.
    """
    with database.reading() as tx:
        if database.dialect == "postgres":
            tx.run("SET LOCAL enable_seqscan = off")
        explaining = Explaining(tx)
        yield explaining
    assert explaining.plans
    for plan in explaining.plans:
        for line in plan.splitlines():
            is_scan = line.startswith("SCAN") or "Seq Scan on" in line
            is_large = "query_log" in line or "rollup" in line
            is_by_index = "USING INDEX" in line or "USING COVERING INDEX" in line
            assert not (is_scan and is_large and not is_by_index), plan


FILTERS = {
    "everything": Filter(),
    "time": Filter(since=NOON - 90_000, until=NOON - 60_000),
    "part": Filter(domain="d1"),
    "exact": Filter(domain="d1.com", match="exact"),
    "subdomains": Filter(domain="d1.com", match="subdomains"),
    "client": Filter(client="10.0.0.3"),
    "clients": Filter(client="10.0"),
    "type": Filter(qtype="PTR"),
    "blocked": Filter(blocked=True),
    "server": Filter(server="home"),
    "all": Filter(
        domain="com",
        client="10.0.0.1",
        qtype="A",
        blocked=False,
        server="home",
        since=1,
        until=NOON,
    ),
}


@pytest.mark.parametrize("few_rows", [20_000, 0], ids=["by names", "by scan"])
@pytest.mark.parametrize("wanted", FILTERS.values(), ids=FILTERS)
def test_a_search_uses_an_index(
    filled: Database, monkeypatch: pytest.MonkeyPatch, wanted: Filter, few_rows: int
) -> None:
    monkeypatch.setattr(query_search, "FEW_ROWS", few_rows)
    monkeypatch.setattr(query_search, "FEW_NAMES", few_rows)
    with explained(filled) as tx:
        page = search(tx, wanted, limit=10)
        assert page.rows
        if page.next:
            search(tx, wanted, page.next, limit=10)


@pytest.mark.parametrize(
    ("wanted", "index"),
    [
        (Filter(), "query_log_time"),
        (Filter(domain="d1.com", match="exact"), "query_log_domain"),
        (Filter(client="10.0.0.3"), "query_log_client"),
        (Filter(qtype="PTR"), "query_log_qtype"),
        (Filter(blocked=True), "query_log_blocked"),
        (Filter(server="home"), "query_log_server"),
    ],
)
def test_each_filter_has_an_index_that_is_already_sorted(
    filled: Database, wanted: Filter, index: str
) -> None:
    with explained(filled) as tx:
        search(tx, wanted, limit=10)
    [plan] = [one for one in tx.plans if index in one]
    if filled.dialect == "sqlite":
        assert "TEMP B-TREE" not in plan


@pytest.mark.parametrize("days", [1, 7, 30, 365])
def test_charts_read_only_their_buckets(filled: Database, days: int) -> None:
    with explained(filled) as tx:
        charts = read_charts(tx, since=NOON - days * 86_400, until=NOON + 60, server="home")
    assert charts.series.queries
    assert not any("query_log" in plan for plan in tx.plans)


def test_retention_reads_only_its_rows(filled: Database) -> None:
    with explained(filled) as tx:
        assert tx.rows(retention._DELETE_BATCH.partition("(")[2].partition(")")[0],
                       before_ns=NOON * NS, batch=10)  # fmt: skip
        assert tx.rows(retention._SAMPLE, sample=10)
        assert tx.rows(retention._OLDEST_ROLLUP, grain="hour", kind="domain", before=NOON)
