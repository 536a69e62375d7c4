"""A whole transaction as one call.

A commit is one call of a function in the database, with one argument for each kind of change, each
a JSON array. The call is a transaction by itself. The name of the function contains a digest of its
text, so that processes of different versions each call their own function.

The statements run in the order of `STATEMENTS`. Unique indexes are checked row by row, so rows that
leave an indexed state are written before rows that enter one. No argument depends on a later one,
so a commit that is too large for one call is cut between rows and sent as several calls inside one
ordinary transaction.

Why not a statement for each kind: a round trip costs more than the rows of a small commit. Arrays
of composite values were as fast in the server, and took twice the time in Python, under its lock.
"""

# ruff: noqa: S608  the names that are put into SQL here are constants; values are bound.

from hashlib import blake2b
from typing import Any, Final, TypeAlias

from fairlane.core.decisions import Changes
from fairlane.core.lifecycle import State
from fairlane.core.live_job import LiveJob
from fairlane.store.columns import (
    COPIED,
    DETAIL,
    ENDED,
    JOB,
    MUTABLE,
    OWN,
    SENT,
    SHARED,
    TYPES,
    Names,
    common,
    halves_maker,
    new_columns,
    without,
)
from fairlane.store.commit_rows import grouped, live_jobs, rows_of
from fairlane.store.expiry import Expiry
from fairlane.store.postgres.address import Address
from fairlane.store.postgres.connection import Connection
from fairlane.store.postgres.errors import NOT_LEADING
from fairlane.store.postgres.event_pages import pages
from fairlane.store.postgres.nul_escape import escaped

PIECE_BYTES: Final = 64 * 1024 * 1024  # jsonb accepts 256 MB; a commit needs a few times this
KEEP_COMMITTED: Final = 1000

# The columns whose values jobs that change together mostly share, and the other ones.
SHARED_CHANGE: Final = without(MUTABLE, "position")
OWN_CHANGE: Final = ("position",)
SHARED_START: Final = ("queue", *without(SHARED_CHANGE, "state"))
OWN_START: Final = ("position", "lane")

_TYPES: Final = {
    **{name: of.postgres for name, of in TYPES.items()},
    **dict.fromkeys(("count",), "integer"),
    **dict.fromkeys(("first", "last", "number"), "bigint"),
    **dict.fromkeys(("at", "fire_at"), "double precision"),
}


def _cast(value: str, name: str) -> str:
    type = _TYPES.get(name, "text")
    return value if type == "text" else f"({value})::{type}"


def _values(fields: tuple[str, ...]) -> str:
    return ", ".join(_cast(f"e.value ->> {index}", name) for index, name in enumerate(fields))


def _named(fields: tuple[str, ...]) -> str:
    named = (f"{_cast(f'value ->> {index}', name)} AS {name}" for index, name in enumerate(fields))
    return ", ".join(named)


def _given(column: str, fields: tuple[str, ...]) -> str:
    """Return the SQL that reads rows, each as `e` with its fields by name."""
    return f"(SELECT {_named(fields)} FROM jsonb_array_elements(:{column})) e"


def _texts(column: str) -> str:
    return f"jsonb_array_elements_text(:{column}) e (value)"


def _groups(column: str, shared: tuple[str, ...]) -> str:
    """Return the SQL that reads groups: the shared values as `g.…`, each row as `e.value`.

    The OFFSET prevents PostgreSQL from decoding the shared values again for each row.
    """
    values = ", ".join(
        f"{_cast(f'value -> 0 ->> {index}', name)} AS {name}" for index, name in enumerate(shared)
    )
    return (
        f"(SELECT {values}, value -> 1 AS members FROM jsonb_array_elements(:{column}) OFFSET 0) g "
        "CROSS JOIN jsonb_array_elements(g.members) e"
    )


def _insert(table: str, column: str, fields: tuple[str, ...]) -> str:
    return (
        f"INSERT INTO fairlane.{table} ({', '.join(fields)}) "
        f"SELECT {_values(fields)} FROM jsonb_array_elements(:{column}) e"
    )


def _replace(table: str, column: str, fields: tuple[str, ...], *, key: int) -> str:
    return (
        f"{_insert(table, column, fields)} ON CONFLICT ({', '.join(fields[:key])}) "
        f"DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in fields[key:])}"
    )


def _found(table: str, condition: str) -> str:
    """Return the SQL that finds the row of each `e` by its key, as `found.place`.

    If the planner assumes that a table is nearly empty, it prefers to scan all of it, with all the
    dead rows that an open transaction of another session keeps there. The OFFSET prevents that.
    """
    return (
        f"CROSS JOIN LATERAL (SELECT ctid AS place FROM fairlane.{table} WHERE {condition} "
        "OFFSET 0) found"
    )


def _update(column: str) -> str:
    values = ", ".join(f"{name} = given.{name}" for name in (*SHARED_CHANGE, *OWN_CHANGE))
    return (
        f"UPDATE fairlane.job SET {values} FROM ("
        f"SELECT g.*, e.value ->> 1 AS position, found.place "
        f"FROM {_groups(column, SHARED_CHANGE)} {_found('job', 'job.id = e.value ->> 0')}"
        ") given WHERE job.ctid = given.place"
    )


def _delete(table: str, key: str, column: str, cast: str = "text") -> str:
    values = f"SELECT e.value::{cast} FROM {_texts(column)}"
    return f"DELETE FROM fairlane.{table} WHERE {table}.{key} = ANY (ARRAY({values}))"


def _delete_rows(table: str, keys: tuple[str, ...], column: str) -> str:
    condition = " AND ".join(f"{table}.{key} = e.{key}" for key in keys)
    return (
        f"DELETE FROM fairlane.{table} WHERE {table}.ctid = ANY (ARRAY("
        f"SELECT found.place FROM {_given(column, keys)} {_found(table, condition)}))"
    )


def _ended_values(row: str, fields: Names) -> str:
    """Return the SQL of the values of rows; without a new report, the stored one is copied."""
    stored = f"(SELECT body FROM fairlane.report WHERE report.job = {row}.id)"
    values = ((name, f"{row}.{name}") for name in fields)
    return ", ".join(
        f"coalesce({value}, {stored})" if name == "report" else value for name, value in values
    )


# A start counts for as long as the window of its rate, and a window may be longer than a day.
_LONGEST_WINDOW: Final = (
    "SELECT coalesce(max(greatest((body::jsonb #>> '{code,per_seconds}')::double precision, "
    "(body::jsonb #>> '{operator,per_seconds}')::double precision)), 0) "
    "FROM fairlane.record WHERE kind = 'rate'"
)


def _new_rows(table: str, fields: Names) -> str:
    """Return the SQL that inserts the rows of new jobs, which come in groups."""
    shared, own, empty = new_columns(fields)
    values = (
        *(f"g.{name}" for name in shared),
        *(_cast(f"e.value ->> {OWN.index(name)}", name) for name in own),
        *(TYPES[name].postgres_empty for name in empty),
    )
    return (
        f"INSERT INTO fairlane.{table} ({', '.join((*shared, *own, *empty))}) "
        f"SELECT {', '.join(values)} FROM {_groups('new', SHARED)}"
    )


_STARTS: Final = f"""
INSERT INTO fairlane.running ({", ".join(("job", *OWN_START, *SHARED_START))})
SELECT e.value ->> 0, e.value ->> 1, e.value ->> 2, {", ".join(f"g.{n}" for n in SHARED_START)}
FROM {_groups("running", SHARED_START)}
ON CONFLICT (job) DO UPDATE SET
    {", ".join(f"{name} = excluded.{name}" for name in (*OWN_START, *SHARED_START))}
"""


_OF_START: Final = common(COPIED, MUTABLE)


def _at_end(name: str) -> str:
    value = f"coalesce(given.{name}, job.{name})" if name in _OF_START else f"job.{name}"
    return f"{value} AS {name}"


_COMPLETED: Final = f"""
WITH gone AS (
    DELETE FROM fairlane.job USING (
        SELECT {", ".join(f"e.{name}" for name in SENT)}, found.place, start.*
        FROM {_given("completed", ("id", *SENT))}
        {_found("job", "job.id = e.id")}
        LEFT JOIN LATERAL (
            SELECT {", ".join(f"running.{name}" for name in _OF_START)}
            FROM fairlane.running WHERE running.job = e.id OFFSET 0
        ) start ON true
    ) given WHERE job.ctid = given.place
    RETURNING {", ".join(map(_at_end, COPIED))}, {", ".join(f"given.{name}" for name in SENT)}
)
INSERT INTO fairlane.ended ({", ".join((*COPIED, "state", *SENT))})
SELECT {", ".join(f"gone.{name}" for name in COPIED)}, 'completed', {_ended_values("gone", SENT)}
FROM gone
"""
_ENDED: Final = f"""
INSERT INTO fairlane.ended ({", ".join(ENDED)}) SELECT {_ended_values("e", ENDED)}
FROM {_given("ended", ENDED)}
"""
# The checkpoint of a lane is copied from the report of the job that has just ended in it.
_LANES: Final = """
INSERT INTO fairlane.lane (queue, lane, status, last_job, checkpoint, params)
SELECT e.value ->> 0, e.value ->> 1,
    CASE WHEN (e.value ->> 2)::boolean THEN e.value ->> 3 ELSE old.status END,
    CASE WHEN (e.value ->> 4)::boolean THEN e.value ->> 5 ELSE old.last_job END,
    coalesce(
        fairlane.checkpoint_in(ended.report),
        CASE WHEN ended.kind = 'start' THEN NULL ELSE old.checkpoint END
    ),
    CASE WHEN (e.value ->> 7)::boolean THEN e.value ->> 8 ELSE old.params END
FROM jsonb_array_elements(:lanes) e
LEFT JOIN LATERAL (
    SELECT * FROM fairlane.lane
    WHERE lane.queue = e.value ->> 0 AND lane.lane = e.value ->> 1 OFFSET 0
) old ON true
LEFT JOIN LATERAL (
    SELECT report, kind FROM fairlane.ended WHERE ended.id = e.value ->> 6 OFFSET 0
) ended ON true
ON CONFLICT (queue, lane) DO UPDATE SET status = excluded.status, last_job = excluded.last_job,
    checkpoint = excluded.checkpoint, params = excluded.params
"""

# Each argument of the function with the statements that read it, in the order they run.
STATEMENTS: Final[tuple[tuple[str, str], ...]] = (
    ("reports", _replace("report", "reports", ("job", "body", "at"), key=1)),
    ("completed", _COMPLETED),
    ("gone", _delete("job", "id", "gone")),
    ("stopped", _delete("running", "job", "stopped")),
    ("waiting", _update("waiting")),
    ("running", _STARTS),
    ("new", _new_rows("job", JOB)),
    ("new", _new_rows("detail", DETAIL)),
    ("entered", _insert("job", "entered", JOB)),
    ("submitted", _insert("detail", "submitted", DETAIL)),
    (
        "revived",
        "INSERT INTO fairlane.report (job, body, at) "
        "SELECT ended.id, ended.report, ended.ended_at FROM fairlane.ended "
        f"WHERE ended.id = ANY (ARRAY(SELECT e.value FROM {_texts('revived')})) "
        "AND ended.report IS NOT NULL "
        "ON CONFLICT (job) DO UPDATE SET body = excluded.body, at = excluded.at",
    ),
    ("revived", _delete("ended", "id", "revived")),
    (  # a job that was pruned meanwhile makes the commit fail: a body cannot be NULL
        "revived",
        "INSERT INTO fairlane.report (job, body, at) "
        f"SELECT e.value, NULL, 0 FROM {_texts('revived')} "
        "WHERE (SELECT id FROM fairlane.detail WHERE detail.id = e.value) IS NULL",
    ),
    ("removed_values", _delete_rows("stored_value", ("job", "name"), "removed_values")),
    ("stored_values", _replace("stored_value", "stored_values", ("job", "name", "body"), key=2)),
    ("ended", _ENDED),
    ("finished", _delete("report", "job", "finished")),
    ("without_values", _delete("stored_value", "job", "without_values")),
    ("dependencies", _insert("dependency", "dependencies", ("job", "on_job"))),
    ("settled", _delete("dependency", "job", "settled")),
    ("met", _delete_rows("dependency", ("job", "on_job"), "met")),
    ("logs", _insert("log", "logs", ("job", "at", "level", "message"))),
    # before "rate_starts": a start at the same instant is another one
    ("returned_starts", _delete_rows("rate_start", ("key", "at", "job"), "returned_starts")),
    ("rate_starts", _insert("rate_start", "rate_starts", ("key", "at", "job"))),
    ("grants", _replace("stage_grant", "grants", ("job", "token", "uses"), key=2)),
    ("releases", _delete_rows("stage_grant", ("job", "token"), "releases")),
    ("stopped", _delete("stage_grant", "job", "stopped")),
    ("lanes", _LANES),
    ("erased", _delete_rows("record", ("kind", "name"), "erased")),
    ("records", _replace("record", "records", ("kind", "name", "body"), key=2)),
    ("departed", _delete("lease", "worker", "departed")),
    ("departed", _delete("message", "worker", "departed")),
    ("messages", _insert("message", "messages", ("worker", "number", "body"))),
    ("firings", _insert("firing", "firings", ("schedule", "fire_at", "job", "count", "reason"))),
    ("events", _insert("event", "events", ("last", "first", "body"))),
    ("answers", _replace("answer", "answers", ("key", "body", "at"), key=1)),
    ("consumed", _delete("inbox", "id", "consumed", "bigint")),
    ("dead_letters", _insert("dead_letter", "dead_letters", ("input", "error", "at"))),
    (  # from the end of the last deletion: its dead rows may not be vacuumed yet
        "old_events",
        "DELETE FROM fairlane.event "
        "WHERE last >= (SELECT swept FROM fairlane.leadership) AND last < :old_events",
    ),
    ("old_events", "UPDATE fairlane.leadership SET swept = :old_events"),
    ("old_answers", "DELETE FROM fairlane.answer WHERE at < :old_answers"),
    ("old_starts", f"DELETE FROM fairlane.rate_start WHERE at < :old_starts - ({_LONGEST_WINDOW})"),
)

COLUMNS: Final = tuple(dict.fromkeys(column for column, _ in STATEMENTS))
FIXED: Final = {
    "old_events": "bigint",
    "old_answers": "double precision",
    "old_starts": "double precision",
}

_ARGUMENTS: Final = ", ".join(f"given_{name} {FIXED.get(name, 'jsonb')}" for name in COLUMNS)
_STEPS: Final = "\n".join(
    f"IF given_{column} IS NOT NULL THEN {sql.replace(':' + column, 'given_' + column)}; END IF;"
    for column, sql in STATEMENTS
)

# The row of the leadership is locked, not only read: a new leader cannot raise the epoch during a
# commit of the old one, and the old one cannot commit afterwards.
_BODY: Final = f"""
DECLARE
    newest bigint;
BEGIN
PERFORM FROM fairlane.leadership WHERE epoch = given_epoch FOR SHARE;
IF NOT FOUND THEN
    RAISE EXCEPTION 'epoch % has passed', given_epoch USING ERRCODE = '{NOT_LEADING}';
END IF;
{_STEPS}
INSERT INTO fairlane.committed DEFAULT VALUES RETURNING number INTO newest;
IF newest % {KEEP_COMMITTED} = 0 THEN
    DELETE FROM fairlane.committed
    WHERE number >= newest - {3 * KEEP_COMMITTED} AND number < newest - {KEEP_COMMITTED};
END IF;
END
"""
FUNCTION_NAME: Final = f"commit_{blake2b(_BODY.encode(), digest_size=6).hexdigest()}"
FUNCTION: Final = f"""
CREATE FUNCTION fairlane.{FUNCTION_NAME} (given_epoch bigint, {_ARGUMENTS})
RETURNS void LANGUAGE plpgsql AS $body${_BODY}$body$
"""
_CALL: Final = (
    f"SELECT fairlane.{FUNCTION_NAME} ("
    f"{', '.join(f'${number}' for number in range(1, len(COLUMNS) + 2))})"
)


Call: TypeAlias = tuple[Any, ...]  # the arguments of one call


def calls_of(parts: list[tuple[str, str]], *, epoch: int, expiry: Expiry) -> list[Call]:
    """Return the calls of a commit: one, unless it is very large."""
    fixed: dict[str, Any] = {
        "old_events": expiry.events,
        "old_answers": expiry.answers,
        "old_starts": expiry.rate_starts,
    }
    together = dict(parts)
    if len(together) == len(parts):
        return [_call(epoch, fixed | together)]
    return [_call(epoch, fixed), *(_call(epoch, {column: piece}) for column, piece in parts)]


def _call(epoch: int, columns: dict[str, Any]) -> Call:
    return (epoch, *(columns.get(name) for name in COLUMNS))


async def commit(connection: Connection, address: Address, calls: list[Call]) -> None:
    """Make the calls in one transaction; a single call is a transaction by itself."""
    sql = address.sql(_CALL)
    if len(calls) == 1:
        await connection.fetchval(sql, *calls[0])
        return
    async with connection.transaction():
        for call in calls:
            await connection.fetchval(sql, *call)


_change_rows: Final = halves_maker(SHARED_CHANGE, ("id", *OWN_CHANGE), {"job": LiveJob})
_start_rows: Final = halves_maker(SHARED_START, ("id", *OWN_START), {"job": LiveJob})


def postgres_rows(changes: Changes, at: float) -> dict[str, list[Any]]:
    """Return the rows of each column, in the order of the columns."""
    waiting, running = live_jobs(changes)
    running += (job for job in changes.entered.values() if job.state is State.RUNNING)
    rows = rows_of(changes, waiting, at)
    completed = {row[0] for row in rows["completed"]}
    workers = {name: body for (kind, name), body in changes.records.items() if kind == "worker"}
    rows |= {
        "gone": [
            id for id in rows["gone"] if id not in completed
        ],  # completed jobs are deleted by their own statement
        "waiting": grouped(_change_rows(waiting)),
        "running": grouped(_start_rows(running)),
        "events": list(pages(changes.events)),
        "grants": [
            (*key, uses) for key, uses in {(g[0], g[1]): g[2] for g in rows["grants"]}.items()
        ],
        "logs": [(*row[:3], escaped(row[3])) for row in rows["logs"]],
        "dead_letters": [
            (escaped(input), escaped(error), at) for input, error, at in rows["dead_letters"]
        ],
        "departed": [name for name, body in workers.items() if body is None],
        "messages": list(changes.messages),
    }
    return {column: rows[column] for column in COLUMNS if column not in FIXED}
