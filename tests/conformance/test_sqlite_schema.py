"""The migrations create the reviewed schema, and each hot statement has its index."""

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import apsw
import pytest

from fairlane.core.decisions import Changes
from fairlane.core.lifecycle import FINAL, LIVE
from fairlane.core.live_job import LiveJob
from fairlane.store.columns import DETAIL, ENDED, JOB, TYPES, Names
from fairlane.store.commit_rows import pieces
from fairlane.store.expiry import Expiry
from fairlane.store.reads import history_numbers, live_ids
from fairlane.store.sqlite import statements
from fairlane.store.sqlite.commit import COLUMNS, STATEMENTS, Commits, sqlite_rows
from fairlane.store.sqlite.migrate import APPLICATION_ID, migrate, migrations
from fairlane.store.views import Query
from tests.support.stores import NOW, a_job, admitted, ended, events

HERE = Path(__file__).parent


@pytest.fixture
def connection() -> Iterator[apsw.Connection]:
    connection = apsw.Connection(":memory:")
    migrate(connection, Path("memory"))
    yield connection
    connection.close()


def schema_of(connection: apsw.Connection) -> str:
    """Return every table and index, one definition to a line."""
    rows = connection.execute("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name")
    return "".join(" ".join(sql.split()) + "\n" for (sql,) in rows)


def test_the_migrations_create_the_reviewed_schema(connection: apsw.Connection) -> None:
    assert schema_of(connection) == (HERE / "schema.txt").read_text()
    assert connection.pragma("user_version") == len(migrations())
    assert connection.pragma("application_id") == APPLICATION_ID


def test_a_second_migration_leaves_the_schema_unchanged(connection: apsw.Connection) -> None:
    before = schema_of(connection)
    migrate(connection, Path("memory"))
    assert schema_of(connection) == before


def test_the_table_of_live_jobs_has_the_fields_of_a_live_job_in_order(
    connection: apsw.Connection,
) -> None:
    columns = [row[1] for row in connection.execute("PRAGMA table_info(job)")]
    assert tuple(columns) == LiveJob.__struct_fields__


@pytest.mark.parametrize(("table", "names"), [("job", JOB), ("detail", DETAIL), ("ended", ENDED)])
def test_the_columns_of_a_table_match_their_declaration(
    connection: apsw.Connection, table: str, names: Names
) -> None:
    rows = connection.execute(f"PRAGMA table_info({table})").fetchall()
    stored = {
        name: (type, is_required or is_key)
        for _, name, type, is_required, _, is_key in rows
        if name != "number"
    }
    assert stored == {name: (TYPES[name].sqlite, not TYPES[name].is_optional) for name in names}


def test_the_check_constraints_have_the_states_of_the_core(connection: apsw.Connection) -> None:
    def named(table: str) -> set[str]:
        sql = connection.execute("SELECT sql FROM sqlite_schema WHERE name = ?", (table,)).get
        found = re.search(r"state IN \(([^)]*)\)", sql)
        assert found
        return set(re.findall(r"'(\w+)'", found[1]))

    assert named("job") == {state.value for state in LIVE}
    assert named("ended") == {state.value for state in FINAL}


def plan_of(connection: apsw.Connection, sql: str) -> list[str]:
    names = {int(name) for name in re.findall(r"\?(\d+)", sql)}
    values = (None,) * (max(names) if names else sql.count("?"))
    return [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}", values)]


BIG = ("job", "detail", "ended", "report", "kept", "log", "event", "take", "answer", "runs")


def scans(plan: list[str]) -> list[str]:
    """Return the steps that scan a big table."""
    return [step for step in plan if step.startswith("SCAN") and step.split()[1] in BIG]


@pytest.mark.parametrize(("column", "sql"), STATEMENTS, ids=lambda value: value[:20])
def test_no_statement_of_a_commit_scans_a_table(
    connection: apsw.Connection, column: str, sql: str
) -> None:
    plain = sql.replace(f"NEW.{column}", "?").replace("RAISE(ABORT, 'not leading')", "1")
    plain = plain.split("AND EXISTS (SELECT 1")[0]  # the rest reads at most one row
    assert scans(plan_of(connection, plain)) == []


@pytest.mark.parametrize(
    "name",
    ["LIVE_JOBS", "ENDED_JOBS", "LOG", "READ_INBOX", "ANSWERS", "ENDED_AS_JOBS", "PAYLOADS",
     "EVENT_RANGE", "EVENTS", "LAST_SEQ", "DELETE_FROM_INBOX", "FIRINGS", "RECORDS_OF_KIND",
     "LANES_OF_QUEUE"],
)  # fmt: skip
def test_no_hot_query_scans_a_table(connection: apsw.Connection, name: str) -> None:
    assert scans(plan_of(connection, getattr(statements, name))) == []


@pytest.mark.parametrize("name", ["WAITING_JOBS", "JOBS_BEHIND"])
def test_the_waiting_jobs_of_a_queue_are_read_in_order_from_their_index(
    connection: apsw.Connection, name: str
) -> None:
    plan = plan_of(connection, getattr(statements, name))
    assert scans(plan) == []
    index = "SEARCH job USING COVERING INDEX job_waiting (queue=? AND priority=? AND position>?)"
    assert plan.count(index) == 3  # a step for each priority
    sorted_rows = [row for row, step in pairwise(plan) if step == "USE TEMP B-TREE FOR ORDER BY"]
    assert all(row.startswith("SCAN (subquery") for row in sorted_rows)  # a page, not the queue


@pytest.mark.parametrize("name", ["COUNTS", "ACTIVE", "ACTIVE_OF_QUEUE"])
def test_counts_and_lanes_are_read_from_the_indexes_alone(
    connection: apsw.Connection, name: str
) -> None:
    plan = plan_of(connection, getattr(statements, name))
    assert [step for step in scans(plan) if "COVERING INDEX" not in step] == []


def test_running_jobs_are_read_from_their_index(connection: apsw.Connection) -> None:
    plan = plan_of(connection, statements.RUNNING_JOBS)
    assert [step for step in scans(plan) if "job_running" not in step] == []


def test_failures_are_read_from_their_index(connection: apsw.Connection) -> None:
    numbers, _ = history_numbers(statements, Query(states=("failed", "cancelled"), cursor="5"))
    plan = plan_of(connection, statements.HISTORY.format(numbers=numbers))
    assert scans(plan) == []
    assert sum("ended_otherwise (state=?" in step for step in plan) == 2


def test_a_page_of_history_is_read_in_the_order_of_ending(connection: apsw.Connection) -> None:
    numbers, _ = history_numbers(statements, Query(cursor="5", task="noop"))
    plan = plan_of(connection, statements.HISTORY.format(numbers=numbers))
    assert scans(plan) == []


@pytest.mark.parametrize(
    ("query", "index"),
    [
        (Query(cursor="5"), "PRIMARY KEY (id<?)"),
        (Query(cursor="5", states=("queued", "blocked"), task="noop"), "PRIMARY KEY (id<?)"),
        (Query(states=("running",)), "job_running"),
    ],
)
def test_a_page_of_live_jobs_is_read_from_an_index(
    connection: apsw.Connection, query: Query, index: str
) -> None:
    ids, _ = live_ids(statements, query)
    plan = plan_of(connection, statements.LISTED.format(ids=ids))
    assert any(index in step for step in plan), plan


def test_the_rows_of_a_commit_are_in_the_order_of_the_statements() -> None:
    columns = [name for name in COLUMNS if name in sqlite_rows(Changes(), NOW)]
    assert list(sqlite_rows(Changes(), NOW)) == columns
    fixed = {"epoch", "old_events", "old_answers", "old_starts"}
    assert set(COLUMNS) - set(columns) == fixed


def test_a_commit_in_several_statements_is_one_transaction(connection: apsw.Connection) -> None:
    commits = Commits(connection)
    jobs = [a_job(f"{n:03}", n, lane="x") for n in range(100)]
    changes = admitted(*jobs)
    changes.events = events(*range(1, 101))
    over = ended(*jobs[50:])
    changes.left, changes.ended = over.left, over.ended

    def send() -> None:
        parts = list(pieces(sqlite_rows(changes, NOW), 2000))
        commits.commit(parts, epoch=0, expiry=Expiry())

    send()
    assert connection.execute("SELECT count(*) FROM job").get == 50
    assert connection.execute("SELECT count(*) FROM ended").get == 50
    assert connection.execute("SELECT group_concat(seq) FROM event").get == ",".join(
        str(seq) for seq in range(1, 101)
    )
    changes = admitted(*(a_job(f"new{n:03}", n) for n in range(100)))
    changes.events = events(101, 50)  # the last row of the last piece fails
    with pytest.raises(apsw.ConstraintError):
        send()
    assert not connection.in_transaction
    assert connection.execute("SELECT count(*) FROM job").get == 50
    assert connection.execute("SELECT max(seq) FROM event").get == 100
