"""The times of searches and charts on millions of rows, and the cost of storing new ones.

    python -m apps.dnslog.tests.volume [--rows 5000000] [--database sqlite|postgres]

A year of a household's queries is written by bulk SQL to both databases in a temporary folder. Each
query of the page then runs a few times; the slowest run is compared with its target.
"""

import argparse
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from itertools import accumulate
from pathlib import Path
from statistics import median
from typing import Any, Final

import apsw
import psycopg

from fairlane_dnslog.charts import read_charts
from fairlane_dnslog.database import Database, open_database
from fairlane_dnslog.entries import QueryEntry
from fairlane_dnslog.query_log import Filter, search, store_page
from fairlane_dnslog.retention import log_size
from tests.support.postgres import Server, running_postgres

DOMAINS: Final = 20_000
CLIENTS: Final = 40
YEAR_SECONDS: Final = 365 * 86_400
NOW: Final = int(datetime(2026, 11, 18, 12, 30, tzinfo=UTC).timestamp())
TARGET_MS: Final = {"postgres": 300, "sqlite": 500}
TARGET_SHARE: Final = 0.20
RUNS: Final = 5
PULLS: Final = 30
PULL_SECONDS: Final = 10
NEW_ROWS_PER_MINUTE: Final = 5_000
PAGE_ROWS: Final = 500
BATCH_ROWS: Final = 50_000

COLUMNS: Final = (
    "server, time, at_ns, qh, ip, client, client_name, qtype, status, reason, blocked, rule, "
    "service, upstream, elapsed_us, cached"
)
RARE_DOMAIN: Final = "printer-17.lan"
UPSTREAMS: Final = (
    "tls://dns.quad9.net:853",
    "https://dns.cloudflare.com/dns-query",
    "192.168.1.1",
)


class Traffic:
    """A household's queries: few domains get most of them, in waves over the day."""

    def __init__(self, seed: int = 17) -> None:
        self._random = random.Random(seed)
        words = ("cdn", "api", "www", "mail", "ads", "img", "static", "metrics", "push", "login")
        brands = ("example", "google", "apple", "netflix", "shop", "weather", "news", "school")
        endings = ("com", "net", "org")
        self.domains = [
            f"{words[n % 10]}{n // 80 or ''}.{brands[n // 10 % 8]}{n % 97 or ''}.{endings[n % 3]}"
            for n in range(DOMAINS)
        ]
        self._domain_weights = list(accumulate(1 / (n + 2) ** 1.05 for n in range(DOMAINS)))
        self.clients = [f"192.168.1.{n + 10}" for n in range(CLIENTS)]
        self._client_weights = list(accumulate(1 / (n + 3) for n in range(CLIENTS)))

    def entries(self, number: int, *, since_ns: int, until_ns: int) -> list[QueryEntry]:
        """Return queries of a time, in its order."""
        pick = self._random.choices
        domains = pick(range(DOMAINS), cum_weights=self._domain_weights, k=number)
        clients = pick(range(CLIENTS), cum_weights=self._client_weights, k=number)
        step = (until_ns - since_ns) / number
        return [
            self._entry(since_ns + int((n + self._random.random()) * step), domain, client)
            for n, (domain, client) in enumerate(zip(domains, clients, strict=True))
        ]

    def _entry(self, at_ns: int, domain: int, client: int) -> QueryEntry:
        chance = self._random.random()
        blocked = domain % 10 == 4
        cached = not blocked and chance < 0.4
        second, rest = divmod(at_ns, 1_000_000_000)
        name = self.domains[domain] if chance < 0.999_99 else RARE_DOMAIN
        return QueryEntry(
            time=f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(second))}.{rest:09d}Z",
            at_ns=at_ns,
            domain=name,
            qtype=("A", "AAAA", "HTTPS", "A", "PTR" if chance < 0.05 else "AAAA")[domain % 5],
            client=self.clients[client],
            client_name=f"device-{client}",
            status="NOERROR",
            reason="FilteredBlackList" if blocked else "NotFilteredNotFound",
            blocked=blocked,
            rule=f"||{name}^" if blocked else "",
            service="",
            upstream="" if blocked or cached else UPSTREAMS[domain % 3],
            elapsed_us=int(chance * 40_000),
            cached=cached,
        )


def year_of_rows(number: int, traffic: Traffic) -> Iterator[list[tuple[object, ...]]]:
    """Yield the rows of a year in batches; random bytes replace the digests."""
    first_ns, done = (NOW - YEAR_SECONDS) * 1_000_000_000, 0
    step = YEAR_SECONDS * 1_000_000_000 // number
    while done < number:
        size = min(BATCH_ROWS, number - done)
        entries = traffic.entries(
            size, since_ns=first_ns + done * step, until_ns=first_ns + (done + size) * step
        )
        yield [
            ("home", e.time, e.at_ns, e.domain, random.randbytes(16), e.client, e.client_name,
             e.qtype, e.status, e.reason, e.blocked, e.rule, e.service, e.upstream, e.elapsed_us,
             e.cached)
            for e in entries
        ]  # fmt: skip
        done += size


# filling

_MONTH: Final = {
    "sqlite": "unixepoch(strftime('%Y-%m-01', at_ns / 1000000000, 'unixepoch'))",
    "postgres": "CAST(extract(epoch FROM date_trunc('month', "
    "to_timestamp(at_ns / 1000000000) AT TIME ZONE 'UTC')) AS bigint)",
}
_KINDS: Final = {"total": "''", "domain": "qh", "client": "client", "upstream": "upstream"}


def summary_statements(dialect: str) -> Iterator[str]:
    """Yield statements that compute catalogues and roll-ups from the rows."""
    yield "INSERT INTO domain SELECT qh, max(at_ns), count(*) FROM query_log GROUP BY qh"
    yield (
        "INSERT INTO client SELECT client, max(client_name), max(at_ns), count(*) "
        "FROM query_log GROUP BY client"
    )
    flag = "blocked" if dialect == "sqlite" else "CAST(blocked AS int)"
    cached = "cached = 0" if dialect == "sqlite" else "NOT cached"
    answered = f"upstream <> '' AND {flag} = 0 AND {cached}"
    for grain, seconds in (("minute", 60), ("hour", 3_600), ("day", 86_400), ("month", 0)):
        ns = seconds * 1_000_000_000
        start = f"at_ns / {ns} * {seconds}" if seconds else _MONTH[dialect]
        for kind, key in _KINDS.items():
            if grain == "minute" and kind != "total":
                continue
            yield (
                "INSERT INTO rollup (grain, start, server, kind, key, queries, blocked, "  # noqa: S608
                f"elapsed_us, answered) SELECT '{grain}', {start}, server, '{kind}', {key}, "
                f"count(*), sum({flag}), sum(CASE WHEN {answered} THEN elapsed_us ELSE 0 END), "
                f"sum(CASE WHEN {answered} THEN 1 ELSE 0 END) FROM query_log "
                f"{'WHERE upstream <> ' + chr(39) * 2 if kind == 'upstream' else ''} "
                "GROUP BY 2, 3, 5 ORDER BY 2"
            )


def fill_sqlite(path: Path, batches: Iterator[list[tuple[object, ...]]]) -> None:
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA synchronous = OFF; PRAGMA cache_size = -500000").fetchall()
    indexes = connection.execute(
        "SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'query_log'"
    ).fetchall()
    for name, _ in indexes:
        connection.execute(f"DROP INDEX {name}")
    marks = ", ".join("?" * 16)
    for batch in batches:
        with connection:
            connection.executemany(
                f"INSERT INTO query_log ({COLUMNS}) VALUES ({marks})",  # noqa: S608
                batch,
            )
    with connection:
        for _, sql in indexes:
            connection.execute(str(sql))
        for statement in summary_statements("sqlite"):
            connection.execute(statement)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    connection.close()


def fill_postgres(dsn: str, batches: Iterator[list[tuple[object, ...]]]) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("SET search_path = dnslog; SET maintenance_work_mem = '512MB'")
        connection.execute("SET work_mem = '256MB'")
        indexes = connection.execute(
            "SELECT indexname, indexdef FROM pg_indexes "
            "WHERE tablename = 'query_log' AND indexname LIKE 'query_log_%' "
            "AND indexname <> 'query_log_pkey'"
        ).fetchall()
        for name, _ in indexes:
            connection.execute(f"DROP INDEX {name}")
        for batch in batches:
            with connection.cursor().copy(f"COPY query_log ({COLUMNS}) FROM STDIN") as copy:
                for row in batch:
                    copy.write_row(row)
        for _, definition in indexes:
            connection.execute(definition)
        for statement in summary_statements("postgres"):
            connection.execute(statement)
        connection.execute("VACUUM ANALYZE")


# measuring


def measured(work: Callable[[], Any]) -> tuple[float, float]:
    """Return the median and the slowest of a few runs, in milliseconds."""
    times = []
    for _ in range(RUNS):
        begun_at = time.perf_counter()
        work()
        times.append((time.perf_counter() - begun_at) * 1_000)
    return median(times), max(times)


def measure_queries(database: Database, traffic: Traffic, report: Callable[[str], None]) -> bool:
    target, is_met = TARGET_MS[database.dialect], True

    def page(wanted: Filter, *, number: int = 1) -> Callable[[], None]:
        def run() -> None:
            cursor: str | None = None
            for _ in range(number):
                with database.reading() as tx:
                    cursor = search(tx, wanted, cursor).next

        return run

    def second(wanted: Filter) -> Callable[[], None]:
        with database.reading() as tx:
            cursor = search(tx, wanted).next

        def run() -> None:
            with database.reading() as tx:
                search(tx, wanted, cursor)

        return run

    def charts(days: float) -> Callable[[], None]:
        def run() -> None:
            with database.reading() as tx:
                read_charts(tx, since=NOW - days * 86_400, until=NOW, timezone="Asia/Shanghai")

        return run

    client, popular = traffic.clients[20], traffic.domains[3]
    works: list[tuple[str, Callable[[], None]]] = [
        ("first page", page(Filter())),
        ("second page", second(Filter())),
        ('domain has "com"', page(Filter(domain="com"))),
        ('domain has "com", second page', second(Filter(domain="com"))),
        ('domain has "google"', page(Filter(domain="google"))),
        ('domain has "weather7"', page(Filter(domain="weather7"))),
        ('domain has "weather7", second page', second(Filter(domain="weather7"))),
        ("domain is rare", page(Filter(domain="printer-17"))),
        ("domain is unknown", page(Filter(domain="no-such-name"))),
        ("domain is exactly", page(Filter(domain=popular, match="exact"))),
        ("domain with subdomains", page(Filter(domain="google7.com", match="subdomains"))),
        ("client", page(Filter(client=client))),
        ("client, second page", second(Filter(client=client))),
        ("client and domain part", page(Filter(client=client, domain="weather7"))),
        ("client, type PTR, blocked", page(Filter(client=client, qtype="PTR", blocked=True))),
        ("type PTR", page(Filter(qtype="PTR"))),
        ("blocked in a week", page(Filter(blocked=True, since=NOW - 7e6, until=NOW - 6.4e6))),
        ("charts of a day", charts(1)),
        ("charts of a week", charts(7)),
        ("charts of a month", charts(30)),
        ("charts of a year", charts(365)),
    ]
    for name, work in works:
        middle, slowest = measured(work)
        is_met = is_met and slowest <= target
        mark = "" if slowest <= target else f"  ABOVE {target} ms"
        report(f"  {name:36} {middle:8.1f} ms   slowest {slowest:8.1f} ms{mark}")
    return is_met


def measure_storing(
    database: Database,
    traffic: Traffic,
    server_seconds: Callable[[], float],
    report: Callable[[str], None],
) -> bool:
    """Store new rows as the puller does: every 10 s, with an overlap, in pages."""
    number = NEW_ROWS_PER_MINUTE * PULL_SECONDS // 60
    pulls, overlap = [], number // 5
    for n in range(PULLS):
        since_ns = (NOW + n * PULL_SECONDS) * 1_000_000_000
        until_ns = since_ns + PULL_SECONDS * 1_000_000_000
        pulls.append(traffic.entries(number, since_ns=since_ns, until_ns=until_ns))
    begun_at, cpu, server = time.perf_counter(), time.process_time(), server_seconds()
    stored = 0
    for n, entries in enumerate(pulls):
        received = list(reversed((pulls[n - 1][-overlap:] if n else []) + entries))
        for first in range(0, len(received), PAGE_ROWS):
            with database.transaction() as tx:
                stored += store_page(tx, "home", received[first : first + PAGE_ROWS])
    used = time.process_time() - cpu + server_seconds() - server
    share = used / (PULLS * PULL_SECONDS)
    seconds = time.perf_counter() - begun_at
    assert stored == number * PULLS, (stored, number * PULLS)
    report(
        f"  storing {NEW_ROWS_PER_MINUTE} rows a minute: {share:.1%} of a core "
        f"({seconds / PULLS * 1_000:.0f} ms per pull of {number} rows)"
    )
    return share <= TARGET_SHARE


def cpu_seconds_of(server: Server) -> float:
    """Return the processor time of the processes of a PostgreSQL server."""
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # the process has ended
        if int(fields[1]) == server.pid:
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def measure(
    database: Database,
    fill: Callable[[Iterator[list[tuple[object, ...]]]], None],
    rows: int,
    server_seconds: Callable[[], float],
    bytes_used: Callable[[], int],
    report: Callable[[str], None],
) -> bool:
    begun_at = time.perf_counter()
    database.migrate()
    traffic = Traffic()
    fill(year_of_rows(rows, traffic))
    with database.reading() as tx:
        size = log_size(tx)
    report(
        f"{database.dialect}: {rows} rows in {time.perf_counter() - begun_at:.0f} s, "
        f"{bytes_used() / 1e6:.0f} MB (estimated {size.bytes / 1e6:.0f} MB, of which roll-ups "
        f"{size.rollup_bytes / 1e6:.0f} MB)"
    )
    is_fast = measure_queries(database, traffic, report)
    return measure_storing(database, traffic, server_seconds, report) and is_fast


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description="Measure the DNS log on millions of rows.")
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--database", choices=("sqlite", "postgres", "both"), default="both")
    options = parser.parse_args(arguments)

    def report(line: str) -> None:
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()

    results = []
    with ExitStack() as stack:
        if options.database != "postgres":
            path = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "dnslog.db"
            database = stack.enter_context(closing(open_database(f"sqlite:///{path}")))
            results.append(
                measure(
                    database, lambda batches: fill_sqlite(path, batches), options.rows,
                    lambda: 0.0, lambda: path.stat().st_size, report,
                )
            )  # fmt: skip
        if options.database != "sqlite":
            # As after an installation: 128 MB of buffers, and commits that survive a power cut.
            server = stack.enter_context(
                running_postgres(settings={"shared_buffers": "128MB"}, durable=True)
            )
            dsn = server.new_database()
            database = stack.enter_context(closing(open_database(dsn)))
            results.append(
                measure(
                    database, lambda batches: fill_postgres(dsn, batches), options.rows,
                    lambda: cpu_seconds_of(server), lambda: _postgres_bytes(dsn), report,
                )
            )  # fmt: skip
    report("all targets are met" if all(results) else "a target is MISSED")
    return 0 if all(results) else 1


def _postgres_bytes(dsn: str) -> int:
    with psycopg.connect(dsn) as connection:
        row = connection.execute("SELECT pg_database_size(current_database())").fetchone()
    assert row is not None
    return int(row[0])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
