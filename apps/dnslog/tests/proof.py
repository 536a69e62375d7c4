"""`python -m apps.dnslog.tests.proof`: four gunicorn workers under faults, against the journal.

The stand-in makes queries all the time and writes each into its journal. Meanwhile the leading
worker is killed again and again, PostgreSQL is restarted twice, AdGuard once, and for a while
AdGuard does not answer. At the end the stored log is compared with the journal.
"""

import argparse
import os
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Final

from apps.dnslog.tests.gunicorn_program import Household, Kind, Workers, eventually, server_of
from fairlane import Fairlane
from fairlane_dnslog.database import Database, DatabaseError, open_database
from fairlane_dnslog.queue_app import pull_schedule
from fairlane_dnslog.rules.process_rows import read_processes
from fairlane_dnslog.settings import Settings
from fairlane_dnslog.stand_in import JournalContents, LoggedQuery, read_journal
from tests.support.postgres import Server

_ROWS: Final = "SELECT at_ns, qh, qtype, client FROM query_log"


@dataclass
class Verdict:
    """The counts of one run; a run is clean without a problem."""

    counts: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The faults, as seconds after the start."""

    seconds: float = 300.0
    rate: float = 200.0
    kill_every: float = 10.0
    database_restarts: tuple[float, ...] = (75.0, 200.0)
    server_restart: float = 120.0
    offline_from: float = 230.0
    offline_seconds: float = 60.0

    @classmethod
    def short(cls) -> "Plan":
        return cls(
            seconds=7.0, rate=100.0, kill_every=2.0, database_restarts=(3.0,), server_restart=2.5,
            offline_from=4.5, offline_seconds=1.0,
        )  # fmt: skip


def run(plan: Plan, kind: Kind, report: Callable[[str], None] = lambda _: None) -> Verdict:
    """Run the faults of a plan and compare the stored log with the journal."""
    verdict = Verdict()
    with tempfile.TemporaryDirectory(prefix="dnslog-proof-") as name, server_of(kind) as server:
        folder = Path(name)
        address = f"sqlite:///{folder}/dnslog.db" if server is None else server.new_database()
        household = Household(folder, plan.rate)
        household.start()
        workers = Workers(folder, address, household)
        workers.start()
        database = open_database(address)
        try:
            eventually(lambda: stored_rows(database) > 0, "the first rows are stored")
            report("the first rows are stored; the faults begin")
            inject(plan, household, workers, server, verdict, report)
            household.set_offline(False)
            household.pause_traffic()
            report("the faults have ended; the last pulls follow")
            journal = read_journal(household.journal)
            wanted = len({key(query) for query in journal.queries})
            try:
                eventually(lambda: stored_rows(database) >= wanted, "all rows are stored")
            except TimeoutError as error:
                verdict.problems.append(str(error))
            compare(database, journal, verdict)
            if not workers.is_alive:
                verdict.problems.append("gunicorn has ended")
            workers.stop()
            check_end(database, verdict)
            check_firings(address, verdict)
        except BaseException:
            report((folder / "output.log").read_text()[-4000:])
            raise
        finally:
            workers.stop()
            household.stop()
            database.close()
    return verdict


def inject(
    plan: Plan, household: Household, workers: Workers, server: Server | None, verdict: Verdict,
    report: Callable[[str], None],
) -> None:  # fmt: skip
    """Inject each fault at its time."""

    def kill() -> None:
        leader = leading_pid(workers)
        if leader is not None:
            os.kill(leader, signal.SIGKILL)
            verdict.counts["leaders killed"] += 1

    def restart_database() -> None:
        if server is not None:
            server.restart(immediate=True)
            verdict.counts["restarts of PostgreSQL"] += 1

    def restart_server() -> None:
        household.stop()
        household.start()
        verdict.counts["restarts of AdGuard"] += 1

    steps = [(at, kill) for at in every(plan.kill_every, plan.seconds)]
    steps += [(at, restart_database) for at in plan.database_restarts]
    steps.append((plan.server_restart, restart_server))
    steps.append((plan.offline_from, lambda: household.set_offline(True)))
    steps.append((plan.offline_from + plan.offline_seconds, lambda: household.set_offline(False)))
    began = time.monotonic()
    for at, step in sorted(steps, key=lambda one: one[0]):
        time.sleep(max(0.0, began + at - time.monotonic()))
        step()
        report(f"{time.monotonic() - began:6.1f} s  {dict(verdict.counts)}")
    time.sleep(max(0.0, began + plan.seconds - time.monotonic()))


def every(seconds: float, until: float) -> list[float]:
    return [seconds * number for number in range(1, int(until / seconds))]


def compare(database: Database, journal: JournalContents, verdict: Verdict) -> None:
    """Compare the stored rows with the journal, and check pulls and firings."""
    with database.reading() as tx:
        rows = [tuple(row.values()) for row in tx.rows(_ROWS)]
        gaps = tx.rows("SELECT from_ns, to_ns FROM gap")
        pulls = tx.rows("SELECT server, started_at, seconds FROM pull ORDER BY started_at")
        total = tx.row("SELECT sum(queries) AS n FROM rollup WHERE grain='hour' AND kind='total'")
    stored = Counter(rows)
    queries = {key(query): query for query in journal.queries}
    missing = [query for found, query in queries.items() if found not in stored]
    dropped = journal.first_in_log
    lost = [
        query for query in missing
        if query.number >= dropped
        or not any(gap["from_ns"] <= query.at_ns <= gap["to_ns"] for gap in gaps)
    ]  # fmt: skip
    overlaps = sum(
        earlier["started_at"] + earlier["seconds"] > later["started_at"] + 0.001
        for earlier, later in pairwise(pulls)
    )
    verdict.counts.update({
        "queries in the journal": len(queries),
        "rows stored": len(rows),
        "rows missing": len(lost),
        "rows twice": len(rows) - len(stored),
        "rows invented": sum(found not in queries for found in stored),
        "pulls": len(pulls),
        "pulls that overlap": overlaps,
        "gaps": len(gaps),
    })  # fmt: skip
    for name in ("rows missing", "rows twice", "rows invented", "pulls that overlap"):
        if verdict.counts[name]:
            verdict.problems.append(f"{name}: {verdict.counts[name]}")
    rolled = int((total or {}).get("n") or 0)
    if rolled != len(rows):
        verdict.problems.append(f"the roll-ups count {rolled} queries, the log {len(rows)}")


def check_end(database: Database, verdict: Verdict) -> None:
    """Check that the last workers have left in order, and that the dead ones were removed."""
    with database.reading() as tx:
        left = [row.process for row in read_processes(tx)]
    if left:
        verdict.problems.append(f"processes that did not leave: {', '.join(left)}")


def check_firings(address: str, verdict: Verdict) -> None:
    """Check that each firing of the pulls has one job, and no job two firings."""
    queue = Settings(folder=Path(), database=address).queue_database
    with Fairlane(queue, work=False) as app:
        firings = app.sync.schedules.firings(pull_schedule("home"), limit=1000)
    jobs = [firing.job for firing in firings if firing.job is not None]
    twice = len(firings) - len({firing.fire_at for firing in firings}) + len(jobs) - len(set(jobs))
    verdict.counts.update({
        "firings": len(firings),
        "firings with a job": len(jobs),
        "firings twice": twice,
    })  # fmt: skip
    if twice or not jobs:
        verdict.problems.append(f"firings: {len(firings)}, with a job: {len(jobs)}, twice: {twice}")


def key(query: LoggedQuery) -> tuple[int, str, str, str]:
    return (query.at_ns, query.domain, query.qtype, query.client)


def stored_rows(database: Database) -> int:
    try:
        with database.reading() as tx:
            row = tx.row("SELECT count(*) AS n FROM query_log")
    except DatabaseError:
        return 0  # the tables are not created yet, or the server restarts
    return int(row["n"]) if row else 0


def leading_pid(workers: Workers) -> int | None:
    """Return the worker that leads, as the database of the queue names it."""
    ours = workers.pids()
    names: Mapping[int, str] = leader_names(workers.database)
    return next((pid for pid in ours if pid in names), None)


def leader_names(address: str) -> dict[int, str]:
    if address.startswith("sqlite:///"):
        lock = Path(address.removeprefix("sqlite:///")).with_name("queue.db.lock")
        text = lock.read_text() if lock.exists() else ""
    else:
        try:
            with closing(open_database(address)) as database, database.reading() as tx:
                row = tx.row("SELECT leader FROM fairlane.leadership")
        except DatabaseError:
            return {}
        text = str((row or {}).get("leader") or "")
    numbers = "".join(letter if letter.isdigit() else " " for letter in text).split()
    return {int(number): text for number in numbers}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database", choices=["postgres", "sqlite"], default="postgres")
    parser.add_argument("--short", action="store_true", help="7 seconds, as in `make test`")
    arguments = parser.parse_args()
    plan = Plan.short() if arguments.short else Plan()
    verdict = run(plan, arguments.database, lambda text: print(text, flush=True))  # noqa: T201
    for name, count in verdict.counts.items():
        print(f"{name:28} {count:10,}")  # noqa: T201
    print(*(verdict.problems or ["no problem was found"]), sep="\n")  # noqa: T201
    raise SystemExit(1 if verdict.problems else 0)


if __name__ == "__main__":
    main()
