"""A whole transaction as one statement.

A commit is one INSERT into a temporary view, with one column for each kind of change, each a JSON
array; an INSTEAD OF trigger on the view writes the rows inside SQLite. Outside of BEGIN and COMMIT
such a statement is a transaction by itself.

The statements of the trigger run in the order of `STATEMENTS`. Unique indexes are checked row by
row, so rows that leave an indexed state are written before rows that enter one. No column depends
on a later one, so a commit that is too large for one statement is cut between rows and sent as
several statements inside one ordinary transaction.

Why not a statement for each row: the driver releases Python's lock for each step of a statement and
acquires it again afterwards. Next to a thread that computes, that takes up to 5 ms, and a commit of
256 jobs with a statement per row took 3.6 ms for each job. As one statement it takes 0.06 ms a job.
"""

# ruff: noqa: S608  the names that are put into SQL here are constants; values are bound.

from typing import Any, Final

import apsw

from fairlane.core.decisions import Changes
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
    new_columns,
    without,
)
from fairlane.store.commit_rows import changed_rows, event_groups, live_jobs, rows_of
from fairlane.store.expiry import Expiry

PIECE_BYTES: Final = (
    64 * 1024 * 1024
)  # SQLite accepts 1e9; a commit needs a few times this in memory


def _groups(column: str, shared: tuple[str, ...]) -> str:
    """Return the SQL that reads groups: the shared values as `g.…`, each row as `e.value`.

    The LIMIT prevents SQLite from decoding the shared values again for each row.
    """
    values = ", ".join(f"value ->> '$[0][{index}]' AS {name}" for index, name in enumerate(shared))
    return (
        f"(SELECT {values}, jsonb_extract(value, '$[1]') AS members "
        f"FROM jsonb_each(NEW.{column}) LIMIT -1) g CROSS JOIN jsonb_each(g.members) e"
    )


def _insert(table: str, column: str, fields: tuple[str, ...], *, verb: str = "INSERT") -> str:
    values = ", ".join(f"e.value ->> {index}" for index in range(len(fields)))
    return (
        f"{verb} INTO {table} ({', '.join(fields)}) SELECT {values} FROM jsonb_each(NEW.{column}) e"
    )


def _update(column: str) -> str:
    values = ", ".join(f"{name} = e.value ->> {index}" for index, name in enumerate(MUTABLE, 1))
    return f"UPDATE job SET {values} FROM jsonb_each(NEW.{column}) e WHERE job.id = e.value ->> 0"


def _delete(table: str, key: str, column: str) -> str:
    return f"DELETE FROM {table} WHERE {key} IN (SELECT value FROM json_each(NEW.{column}))"


def _delete_if_any(table: str, key: str, column: str) -> str:
    """Return a deletion that first checks, in one step, whether the table has any row."""
    return f"{_delete(table, key, column)} AND EXISTS (SELECT 1 FROM {table})"


def _ended_values(fields: Names) -> str:
    """Return the SQL of the values of rows that start with the id; an old report is copied."""
    report = "coalesce({}, (SELECT body FROM report WHERE job = e.value ->> 0))"
    values = ((name, f"e.value ->> {index}") for index, name in enumerate(fields))
    return ", ".join(report.format(value) if name == "report" else value for name, value in values)


# A start counts for as long as the window of its rate, and a window may be longer than a day.
_LONGEST_WINDOW: Final = (
    "SELECT coalesce(max(max(coalesce(body ->> '$.code.per_seconds', 0), "
    "coalesce(body ->> '$.operator.per_seconds', 0))), 0) FROM record WHERE kind = 'rate'"
)


def _new_rows(table: str, fields: Names) -> str:
    """Return the SQL that inserts the rows of new jobs, which come in groups."""
    shared, own, empty = new_columns(fields)
    values = (
        *(f"g.{name}" for name in shared),
        *(f"e.value ->> {OWN.index(name)}" for name in own),
        *(TYPES[name].sqlite_empty for name in empty),
    )
    return (
        f"INSERT INTO {table} ({', '.join((*shared, *own, *empty))}) "
        f"SELECT {', '.join(values)} FROM {_groups('new', SHARED)}"
    )


_EVENTS: Final = f"""
INSERT INTO event (seq, job, at, type, queue, data)
SELECT e.value ->> 0, e.value ->> 1, g.at, g.type, g.queue, g.data
FROM {_groups("events", ("at", "type", "queue", "data"))}
"""
_COMPLETED: Final = f"""
INSERT INTO ended ({", ".join((*without(COPIED, "id"), "state", "id", *SENT))})
SELECT {", ".join(f"job.{name}" for name in without(COPIED, "id"))}, 'completed',
    {_ended_values(("id", *SENT))}
FROM jsonb_each(NEW.completed) e CROSS JOIN job ON job.id = e.value ->> 0
"""


# Each column of the view with the statements that read it, in the order they run.
STATEMENTS: Final[tuple[tuple[str, str], ...]] = (
    (
        "epoch",
        "SELECT RAISE(ABORT, 'not leading') "
        "WHERE NEW.epoch <> (SELECT value FROM meta WHERE name = 'epoch')",
    ),
    ("reports", _insert("report", "reports", ("job", "body", "at"), verb="INSERT OR REPLACE")),
    ("completed", _COMPLETED),
    ("gone", _delete("job", "id", "gone")),
    ("waiting", _update("waiting")),
    ("running", _update("running")),
    ("new", _new_rows("job", JOB)),
    ("new", _new_rows("detail", DETAIL)),
    ("entered", _insert("job", "entered", JOB)),
    ("submitted", _insert("detail", "submitted", DETAIL)),
    (
        "revived",
        "INSERT OR REPLACE INTO report (job, body, at) SELECT id, report, ended_at FROM ended "
        "WHERE id IN (SELECT value FROM json_each(NEW.revived)) AND report IS NOT NULL",
    ),
    ("revived", _delete("ended", "id", "revived")),
    (  # a job that was pruned meanwhile makes the commit fail: a body cannot be NULL
        "revived",
        "INSERT INTO report (job, body, at) SELECT value, NULL, 0 FROM json_each(NEW.revived) "
        "WHERE (SELECT id FROM detail WHERE detail.id = value) IS NULL",
    ),
    (
        "removed_values",
        "DELETE FROM stored_value WHERE (job, name) IN "
        "(SELECT value ->> 0, value ->> 1 FROM jsonb_each(NEW.removed_values))",
    ),
    (
        "stored_values",
        _insert("stored_value", "stored_values", ("job", "name", "body"), verb="INSERT OR REPLACE"),
    ),
    (
        "ended",
        f"INSERT INTO ended ({', '.join(ENDED)}) "
        f"SELECT {_ended_values(ENDED)} FROM jsonb_each(NEW.ended) e",
    ),
    ("finished", _delete_if_any("report", "job", "finished")),
    ("without_values", _delete_if_any("stored_value", "job", "without_values")),
    ("dependencies", _insert("dependency", "dependencies", ("job", "on_job"))),
    ("settled", _delete("dependency", "job", "settled")),
    (
        "met",
        "DELETE FROM dependency WHERE (job, on_job) IN "
        "(SELECT e.value ->> 0, e.value ->> 1 FROM jsonb_each(NEW.met) e)",
    ),
    ("logs", _insert("log", "logs", ("job", "at", "level", "message"))),
    (  # before "rate_starts": a start at the same instant is another one
        "returned_starts",
        "DELETE FROM rate_start WHERE number IN (SELECT s.number "
        "FROM jsonb_each(NEW.returned_starts) e JOIN rate_start s ON s.at = e.value ->> 1 "
        "WHERE s.key = e.value ->> 0 AND s.job = e.value ->> 2)",
    ),
    ("rate_starts", _insert("rate_start", "rate_starts", ("key", "at", "job"))),
    (
        "grants",
        _insert("stage_grant", "grants", ("job", "token", "uses"), verb="INSERT OR REPLACE"),
    ),
    (
        "releases",
        "DELETE FROM stage_grant WHERE (job, token) IN "
        "(SELECT value ->> 0, value ->> 1 FROM jsonb_each(NEW.releases))",
    ),
    ("stopped", _delete_if_any("stage_grant", "job", "stopped")),
    (
        # The checkpoint of a lane is copied from the report of the job that has just ended in it.
        "lanes",
        "INSERT OR REPLACE INTO lane (queue, lane, status, last_job, checkpoint, params) "
        "SELECT e.value ->> 0, e.value ->> 1, "
        "iif(e.value ->> 2, e.value ->> 3, old.status), "
        "iif(e.value ->> 4, e.value ->> 5, old.last_job), "
        "iif(json_valid(ended.report), "
        "coalesce(ended.report ->> '$.checkpoint', '{}'), "
        "iif(ended.kind = 'start', NULL, old.checkpoint)), "
        "iif(e.value ->> 7, e.value ->> 8, old.params) "
        "FROM jsonb_each(NEW.lanes) e "
        "LEFT JOIN lane old ON old.queue = e.value ->> 0 AND old.lane = e.value ->> 1 "
        "LEFT JOIN ended ON ended.id = e.value ->> 6",
    ),
    (
        "erased",
        "DELETE FROM record WHERE (kind, name) IN "
        "(SELECT value ->> 0, value ->> 1 FROM jsonb_each(NEW.erased))",
    ),
    ("records", _insert("record", "records", ("kind", "name", "body"), verb="INSERT OR REPLACE")),
    ("firings", _insert("firing", "firings", ("schedule", "fire_at", "job", "count", "reason"))),
    ("events", _EVENTS),
    ("answers", _insert("answer", "answers", ("key", "body", "at"), verb="INSERT OR REPLACE")),
    ("consumed", _delete("inbox", "id", "consumed")),
    ("dead_letters", _insert("dead_letter", "dead_letters", ("input", "error", "at"))),
    ("old_events", "DELETE FROM event WHERE seq < NEW.old_events"),
    ("old_answers", "DELETE FROM answer WHERE at < NEW.old_answers"),
    ("old_starts", f"DELETE FROM rate_start WHERE at < NEW.old_starts - ({_LONGEST_WINDOW})"),
)

COLUMNS: Final = tuple(dict.fromkeys(column for column, _ in STATEMENTS))


def sqlite_rows(changes: Changes, at: float) -> dict[str, list[Any]]:
    """Return the rows of each column, in the order of the columns."""
    waiting, running = live_jobs(changes)
    rows = rows_of(changes, waiting, at)
    rows["waiting"] = changed_rows(waiting)
    rows["running"] = changed_rows(running)
    rows["events"] = event_groups(changes.events)
    return {column: rows[column] for column in COLUMNS if column in rows}


MAX_SHAPES: Final = 64


class Commits:
    """The commits of one connection.

    Every statement in a trigger costs a few microseconds even when its column is empty, which
    matters for a commit of one job. So there is a view for each set of columns that occurs
    together, created at its first use; beyond `MAX_SHAPES`, one view with all columns.
    """

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._inserts: dict[tuple[str, ...], str] = {}

    def commit(self, parts: list[tuple[str, str]], *, epoch: int, expiry: Expiry) -> None:
        """Write a commit in one transaction: one statement, unless the commit is very large."""
        fixed: dict[str, Any] = {"epoch": epoch}
        fixed |= {
            name: value
            for name, value in (
                ("old_events", expiry.events),
                ("old_answers", expiry.answers),
                ("old_starts", expiry.rate_starts),
            )
            if value is not None
        }
        together = dict(parts)
        if len(together) == len(parts):
            self._insert(fixed | together)
            return
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            self._insert(fixed)
            for column, piece in parts:
                self._insert({column: piece})
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    def _insert(self, columns: dict[str, Any]) -> None:
        shape = tuple(name for name in COLUMNS if name in columns)
        if shape not in self._inserts and len(self._inserts) >= MAX_SHAPES:
            shape = COLUMNS
        insert = self._inserts.get(shape)
        if insert is None:
            insert = self._inserts[shape] = self._make_view(shape)
        self._connection.execute(insert, [columns.get(name) for name in shape])

    def _make_view(self, shape: tuple[str, ...]) -> str:
        name = f"commit_{len(self._inserts)}"
        steps = "; ".join(sql for column, sql in STATEMENTS if column in shape)
        self._connection.execute(f"""
            CREATE TEMP VIEW {name} AS SELECT {", ".join(f"NULL AS {column}" for column in shape)};
            CREATE TEMP TRIGGER {name}_at_once INSTEAD OF INSERT ON {name} BEGIN {steps}; END;
        """)
        return f"INSERT INTO {name} VALUES ({', '.join('?' * len(shape))})"
