"""The schema enforces the rules of the core, and each hot statement has its index.

The tests explain the plans that are used in production: for the leader the cached generic plan,
for readers the plan for the given values.
"""

# ruff: noqa: S608  the names that are put into SQL here are constants.

from collections.abc import AsyncIterator
from typing import TypeAlias

import asyncpg
import pytest

from fairlane.core.decisions import Changes
from fairlane.core.lifecycle import FINAL, LIVE
from fairlane.core.live_job import LiveJob
from fairlane.store.columns import DETAIL, ENDED, JOB, TYPES, Names
from fairlane.store.commit_rows import pieces
from fairlane.store.expiry import Expiry
from fairlane.store.postgres import PostgresStore, statements
from fairlane.store.postgres.commit import (
    COLUMNS,
    FIXED,
    OWN_START,
    SHARED_START,
    STATEMENTS,
    calls_of,
    commit,
    postgres_rows,
)
from fairlane.store.postgres.leader_lock import SETTINGS
from fairlane.store.postgres.migrate import migrations
from fairlane.store.reads import history_numbers
from fairlane.store.views import Query
from tests.support.stores import NOW, PostgresPlace, a_job, admitted, ended, events

Session: TypeAlias = "asyncpg.Connection[asyncpg.Record]"

ROWS = 100_000

# The rows of a queue with a long history and a long backlog.
FILLING = f"""
INSERT INTO fairlane.job
SELECT 'j' || n, 'noop', 'q' || n % 5, 'lane' || n, 'start', n % 3, 'p' || lpad(n::text, 12, '0'),
    'queued', '{{}}', 'd' || n, n % 2 = 0, NULL,
    NULL, 0, 0, 0, 0, false, NULL, NULL, NULL, NULL, n, NULL
FROM generate_series(1, {ROWS}) n;
INSERT INTO fairlane.running
SELECT 'j' || n, 'q' || n % 5, 'lane' || n, 1, 'p', 1, 0, 0, 1, true FROM generate_series(1, 100) n;
INSERT INTO fairlane.ended (id, state, task, queue, kind, priority, attempt, failures, crashes,
fence,
    created_at, ended_at)
SELECT 'e' || n, CASE WHEN n % 100 = 0 THEN 'failed' ELSE 'completed' END, 'noop', 'q' || n % 5,
    'start', 1, 1, 0, 0, 1, n, n
FROM generate_series(1, {ROWS}) n;
INSERT INTO fairlane.detail (id, terms, params, meta, options)
SELECT kind || n, '{{}}', '{{}}', '{{}}', '{{}}'
FROM generate_series(1, {ROWS}) n, unnest(ARRAY['j', 'e']) kind;
INSERT INTO fairlane.report SELECT 'j' || n, '{{}}', 1 FROM generate_series(1, {ROWS}) n;
INSERT INTO fairlane.stored_value SELECT 'j' || n, 'k', '1' FROM generate_series(1, {ROWS}) n;
INSERT INTO fairlane.log (job, at, level, message)
SELECT 'j' || n % 1000, n, 'info', 'x' FROM generate_series(1, {ROWS}) n;
INSERT INTO fairlane.event SELECT n, n, '[]' FROM generate_series(1, {ROWS}) n;
INSERT INTO fairlane.rate_start (key, at, job) SELECT 'k', n, 'j' FROM generate_series(1, {ROWS}) n;
INSERT INTO fairlane.stage_grant SELECT 'j' || n, 't', '[]' FROM generate_series(1, {ROWS}) n;
INSERT INTO fairlane.dependency SELECT 'j' || n, 'j' FROM generate_series(1, {ROWS}) n;
INSERT INTO fairlane.lane (queue, lane) SELECT 'q', 'l' || n FROM generate_series(1, {ROWS}) n;
INSERT INTO fairlane.firing (schedule, fire_at, count)
SELECT 's' || n % 10, n, 1 FROM generate_series(1, {ROWS}) n;
INSERT INTO fairlane.inbox (key, body, at)
SELECT 'i' || n, '{{}}', n FROM generate_series(1, {ROWS}) n;
INSERT INTO fairlane.answer SELECT 'a' || n, '{{}}', n FROM generate_series(1, {ROWS}) n;
INSERT INTO fairlane.message
SELECT 'w' || n % 10, n, '{{}}' FROM generate_series(1, {ROWS}) n;
ANALYZE;
"""
SMALL = ("pg_database", "running", "leadership", "record", "lease", "committed")
IDS = ["j1", "j2", "e3"]

LEADERS = {
    "READ_INBOX": ("bigint", "bigint"),
    "DELETE_FROM_INBOX": ("bigint[]",),
    "ENDED_AS_JOBS": ("text[]",),
    "PAYLOADS": ("text[]", "text[]", "text[]"),
}
READERS: dict[str, tuple[object, ...]] = {
    "LIVE_JOBS": (IDS,),
    "ENDED_JOBS": (IDS,),
    "PAYLOADS": (IDS, ["q"] * 3, ["l1", None, "l3"]),
    "ANSWERS": (["a1", "a2"],),
    "MESSAGES": ("w1", ROWS - 20),
    "DELETE_MESSAGES": ("w1", 5, 50),
    "EVENTS": (ROWS - 50, 100),
    "LAST_SEQ": (),
    "OLDEST_EVENT": (),
    "VERSION": (),
    "LOG": ("j1", 100),
    "FIRINGS": ("s1", 50),
    "SUBMISSION": ("e1",),
    "DURATIONS": (2000,),
    "WAITING_JOBS": ("q1", 200),
    "JOBS_BEHIND": ("q1", 1, "8", 200),
    "RUNNING_JOBS": (),
    "RENEW_LEASE": (1, "w1"),
    "APPEND": (["k"], ["{}"], [1.0]),
    "SEND_REPORT": (["k"], ["{}"], [1.0]),
}
PAGES = {
    "ended_pkey": Query(cursor="500", task="noop"),
    "ended_otherwise": Query(states=("failed", "cancelled"), cursor="5000"),
}


@pytest.fixture
async def reader(postgres_place: PostgresPlace) -> AsyncIterator[Session]:
    connection = await asyncpg.connect(postgres_place.dsn)
    yield connection
    await connection.close()


def _scans(steps: list[str]) -> list[str]:
    """Return the steps that scan a large table."""
    return [
        step
        for step in steps
        if "Seq Scan on" in step and not any(f"Seq Scan on {name}" in step for name in SMALL)
    ]


def _sorts(steps: list[str]) -> list[str]:
    return [step for step in steps if "Sort  (" in step]


# One test, because filling the tables takes longer than all the plans.
async def test_no_hot_query_scans_a_large_table(postgres_dsn: str) -> None:
    store = PostgresStore(postgres_dsn)
    await store.open()
    await store.close()
    reader, leader = await asyncpg.connect(postgres_dsn), await asyncpg.connect(postgres_dsn)
    await reader.execute(FILLING)
    await leader.execute(SETTINGS)

    async def kept_plan(sql: str, *types: str) -> list[str]:
        await leader.execute(f"PREPARE kept ({', '.join(types)}) AS {sql}")
        nothing = ", ".join("NULL" for _ in types)
        rows = await leader.fetch(f"EXPLAIN EXECUTE kept ({nothing})")
        await leader.execute("DEALLOCATE kept")
        return [row[0] for row in rows]

    async def plan(sql: str, *values: object) -> list[str]:
        return [row[0] for row in await reader.fetch(f"EXPLAIN {sql}", *values)]

    slow: dict[str, list[str]] = {}
    for column, sql in STATEMENTS:
        steps = await kept_plan(sql.replace(f":{column}", "$1"), FIXED.get(column, "jsonb"))
        joins = [step for step in steps if "Hash Join" in step or "Merge Join" in step]
        slow[sql] = _scans(steps) + joins
    for name, types in LEADERS.items():
        steps = await kept_plan(getattr(statements, name), *types)
        slow[f"leader {name}"] = _scans(steps) + _sorts(steps)
    for name, values in READERS.items():
        slow[name] = _scans(await plan(getattr(statements, name), *values))
    for index, query in PAGES.items():
        numbers, found = history_numbers(statements, query)
        steps = await plan(statements.HISTORY.format(numbers=numbers), *found)
        slow[index] = _scans(steps)
        assert any(index in step for step in steps)
    assert {name: steps for name, steps in slow.items() if steps} == {}

    waiting = await plan(statements.WAITING_JOBS, *READERS["WAITING_JOBS"])
    assert any("job_waiting" in step for step in waiting)
    assert len(_sorts(waiting)) == 2  # of the page and of a page for each priority, no whole queue
    line = await plan(statements.JOBS_BEHIND, *READERS["JOBS_BEHIND"])
    assert any("job_waiting" in step for step in line)
    assert len(_sorts(line)) == 2
    await reader.close()
    await leader.close()


async def test_no_commit_scans_a_table_that_statistics_show_as_empty(postgres_dsn: str) -> None:
    """Statistics do not count dead rows, so a plan is cached for a table that seems empty."""
    store = PostgresStore(postgres_dsn)
    await store.open()
    await store.close()
    leader = await asyncpg.connect(postgres_dsn)
    await leader.execute("VACUUM ANALYZE")
    await leader.execute(SETTINGS)
    wading: dict[str, list[str]] = {}
    for column, sql in STATEMENTS:
        type = FIXED.get(column, "jsonb")
        await leader.execute(f"PREPARE kept ({type}) AS {sql.replace(f':{column}', '$1')}")
        steps = [row[0] for row in await leader.fetch("EXPLAIN EXECUTE kept (NULL)")]
        await leader.execute("DEALLOCATE kept")
        wading[sql] = _scans(steps) + [
            step
            for step, condition in zip(steps, [*steps[1:], ""], strict=True)
            if "Index" in step and " Scan " in step and "Index Cond" not in condition
            and not any(f"on {name}" in step for name in SMALL)
        ]  # fmt: skip
    assert {sql: steps for sql, steps in wading.items() if steps} == {}
    await leader.close()


# the schema


async def test_the_table_of_live_jobs_has_the_fields_of_a_live_job_in_order(
    reader: Session,
) -> None:
    rows = await reader.fetch(
        "SELECT attname FROM pg_attribute "
        "WHERE attrelid = 'fairlane.job'::regclass AND attnum > 0 ORDER BY attnum"
    )
    assert tuple(row[0] for row in rows) == LiveJob.__struct_fields__


@pytest.mark.parametrize(
    ("table", "names"),
    [
        ("job", JOB),
        ("detail", DETAIL),
        ("ended", ENDED),
        ("running", (*OWN_START, *SHARED_START)),
        ("live", JOB),
    ],
)
async def test_the_columns_of_a_table_match_their_declaration(
    reader: Session, table: str, names: Names
) -> None:
    rows = await reader.fetch(
        "SELECT column_name, data_type FROM information_schema.columns "
        "WHERE table_schema = 'fairlane' AND table_name = $1 "
        "AND column_name NOT IN ('number', 'job')",
        table,
    )
    assert {row[0]: row[1] for row in rows} == {name: TYPES[name].postgres for name in names}


@pytest.mark.parametrize(("table", "states"), [("job", LIVE), ("ended", FINAL)])
async def test_the_check_constraints_have_the_states_of_the_core(
    reader: Session, table: str, states: frozenset[str]
) -> None:
    text = await reader.fetchval(
        "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = $1",
        f"{table}_state_check",
    )
    assert set(text.split("'")[1::2]) == {str(state) for state in states}


async def test_every_text_column_of_an_index_has_the_collation_c(reader: Session) -> None:
    odd = await reader.fetch(
        "SELECT indexrelid::regclass FROM pg_index CROSS JOIN unnest(indcollation) used "
        "WHERE used NOT IN (0, '\"C\"'::regcollation) "
        "AND indrelid IN (SELECT oid FROM pg_class WHERE relnamespace = 'fairlane'::regnamespace)"
    )
    assert odd == []


async def test_the_version_is_the_number_of_migrations(reader: Session) -> None:
    assert await reader.fetchval("SELECT max(version) FROM fairlane.migration") == len(migrations())


# commits


def test_the_rows_of_a_commit_are_in_the_order_of_the_statements() -> None:
    rows = list(postgres_rows(Changes(), NOW))
    assert rows == [name for name in COLUMNS if name not in FIXED]


async def test_a_commit_in_several_calls_is_one_transaction(postgres_place: PostgresPlace) -> None:
    store = postgres_place.handle()
    await store.open()
    epoch = await store.lead()
    connection = store._leadership._connection
    assert connection is not None
    assert epoch is not None
    jobs = [a_job(f"{n:03}", n, lane="x") for n in range(100)]
    changes = admitted(*jobs)
    changes.events = events(*range(1, 101))
    over = ended(*jobs[50:])
    changes.left, changes.ended = over.left, over.ended

    async def send() -> None:
        parts = list(pieces(postgres_rows(changes, NOW), 2000))
        calls = calls_of(parts, epoch=epoch, expiry=Expiry())
        await commit(connection, store._address, calls)

    await send()
    image = await store.load()
    assert (len(image.jobs), image.seq) == (50, 100)
    assert len((await store.history(Query(limit=100))).items) == 50
    changes = admitted(*(a_job(f"new{n:03}", n) for n in range(100)))
    changes.events = events(100)  # the last row of the last piece fails
    with pytest.raises(asyncpg.UniqueViolationError):
        await send()
    image = await store.load()
    assert (len(image.jobs), image.seq) == (50, 100)
    await store.close()
