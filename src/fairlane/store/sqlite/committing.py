"""A whole transaction as one statement.

The driver lets go of Python's lock for each step of a statement and must win it back after each.
Beside a thread that computes, winning it back takes up to 5 ms, and a commit of 256 jobs with a
statement per row took 3.6 ms for *each* job. So a commit is one INSERT into a temporary view, with
one column per kind of change, each a JSON array; an INSTEAD OF trigger on the view does the rest
inside SQLite. Outside of BEGIN and COMMIT such a statement is its own transaction: one step, with
Python free to run until the disk has it. The same commit then took 0.06 ms a job.

The trigger's statements run in the order they are written in. Unique indexes are checked row by
row, so what leaves an indexed state comes before what enters one. What a column holds does not
depend on a later column having been written, which is why a commit too large for one statement may
be cut between any two rows and sent as several inside one ordinary transaction.
"""

# ruff: noqa: S608  every name that is put into SQL here is one of our own; values are bound.

from collections.abc import Iterable, Iterator
from typing import Any, Final

import apsw
import msgspec
from msgspec import UNSET

from fairlane.core.decisions import Changes, Ended, Event, LaneChange
from fairlane.core.inputs import Submission
from fairlane.core.job import Job, Reason, terms_to_text
from fairlane.core.lifecycle import State

PIECE_BYTES: Final = 64 * 1024 * 1024  # SQLite takes 1e9; a commit needs a few times this in memory

JOB: Final = Job.__struct_fields__
MUTABLE: Final = (
    "band", "position", "state", "attempt", "failures", "crashes", "fence", "holds_lane", "worker",
    "due_at", "reason", "stopping", "started_at",
)  # fmt: skip
DETAIL: Final = (
    "id", "terms", "dedupe", "digest", "bucket", "params", "meta", "options", "schedule",
)  # fmt: skip
ENDED: Final = (
    "id", "state", "task", "queue", "lane", "kind", "band", "attempt", "failures", "crashes",
    "fence", "worker", "started_at", "created_at", "ended_at", "result", "error", "reason",
    "report",
)  # fmt: skip


# A value deep in a JSON array costs a walk through those before it, so the frequent rows are short:
# what many have in common stands once before the rows of its group, and what the database has
# already is taken from there.
SHARED_JOB: Final = (
    "task", "queue", "kind", "band", "state", "terms", "exclusive", "due_at", "reason", "created_at"
)  # fmt: skip
SHARED_DETAIL: Final = ("terms", "meta", "options", "schedule")
OWN_JOB: Final = ("id", "position", "lane", "bucket", "dedupe", "digest")
OWN_DETAIL: Final = ("id", "bucket", "dedupe", "digest", "params")
SHARED: Final = tuple(dict.fromkeys((*SHARED_JOB, *SHARED_DETAIL)))
OWN: Final = tuple(dict.fromkeys((*OWN_JOB, *OWN_DETAIL)))
UNCHANGED: Final = (
    "id", "task", "queue", "lane", "kind", "band", "attempt", "failures", "crashes", "fence",
    "worker", "started_at", "created_at",
)  # fmt: skip


def _groups(column: str, shared: tuple[str, ...]) -> str:
    """Return the SQL that unfolds groups: what they share as `g.…`, each row as `e.value`.

    The LIMIT keeps SQLite from taking the shared values out of the JSON again for each row.
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
    """Most jobs have no such rows, and often nobody has: that is known at a glance."""
    return f"{_delete(table, key, column)} AND EXISTS (SELECT 1 FROM {table})"


_REPORT: Final = (
    "coalesce(e.value ->> {index}, (SELECT body FROM report WHERE job = e.value ->> 0))"
)

# A start counts for as long as the window of its rate, and a window may be longer than a day.
_LONGEST_WINDOW: Final = (
    "SELECT coalesce(max(max(coalesce(body ->> '$.code.per_seconds', 0), "
    "coalesce(body ->> '$.operator.per_seconds', 0))), 0) FROM record WHERE kind = 'rate'"
)
_NEW_JOBS: Final = f"""
INSERT INTO job ({", ".join((*SHARED_JOB, *OWN_JOB))},
    attempt, failures, crashes, fence, holds_lane)
SELECT {", ".join(f"g.{name}" for name in SHARED_JOB)},
    {", ".join(f"e.value ->> {OWN.index(name)}" for name in OWN_JOB)},
    0, 0, 0, 0, 0
FROM {_groups("new", SHARED)}
"""
_NEW_DETAILS: Final = f"""
INSERT INTO detail ({", ".join((*SHARED_DETAIL, *OWN_DETAIL))})
SELECT {", ".join(f"g.{name}" for name in SHARED_DETAIL)},
    {", ".join(f"e.value ->> {OWN.index(name)}" for name in OWN_DETAIL)}
FROM {_groups("new", SHARED)}
"""
_EVENTS: Final = f"""
INSERT INTO event (seq, job, at, type, queue, data)
SELECT e.value ->> 0, e.value ->> 1, g.at, g.type, g.queue, g.data
FROM {_groups("events", ("at", "type", "queue", "data"))}
"""
_COMPLETED: Final = f"""
INSERT INTO ended ({", ".join(UNCHANGED)}, state, ended_at, result, report)
SELECT {", ".join(f"job.{name}" for name in UNCHANGED)}, 'completed', e.value ->> 1, e.value ->> 2,
    {_REPORT.format(index=3)}
FROM jsonb_each(NEW.completed) e CROSS JOIN job ON job.id = e.value ->> 0
"""


# Each column of the view with the statements that read it, in the order they run.
STATEMENTS: Final[tuple[tuple[str, str], ...]] = (
    (
        "epoch",
        "SELECT RAISE(ABORT, 'not leading') "
        "WHERE NEW.epoch <> (SELECT value FROM meta WHERE name = 'epoch')",
    ),
    ("reports", _insert("report", "reports", ("job", "body"), verb="INSERT OR REPLACE")),
    ("completed", _COMPLETED),
    ("gone", _delete("job", "id", "gone")),
    ("waiting", _update("waiting")),
    ("running", _update("running")),
    ("new", _NEW_JOBS),
    ("new", _NEW_DETAILS),
    ("entered", _insert("job", "entered", JOB)),
    ("submitted", _insert("detail", "submitted", DETAIL)),
    (
        "revived",
        "INSERT OR REPLACE INTO report (job, body) SELECT id, report FROM ended "
        "WHERE id IN (SELECT value FROM json_each(NEW.revived)) AND report IS NOT NULL",
    ),
    ("revived", _delete("ended", "id", "revived")),
    (
        "forgotten",
        "DELETE FROM kept WHERE (job, name) IN "
        "(SELECT value ->> 0, value ->> 1 FROM jsonb_each(NEW.forgotten))",
    ),
    ("kept", _insert("kept", "kept", ("job", "name", "body"), verb="INSERT OR REPLACE")),
    (
        "ended",
        _insert("ended", "ended", ENDED).replace(
            f"e.value ->> {len(ENDED) - 1}", _REPORT.format(index=len(ENDED) - 1)
        ),
    ),
    ("finished", _delete_if_any("report", "job", "finished")),
    ("whole", _delete_if_any("kept", "job", "whole")),
    ("dependencies", _insert("dependency", "dependencies", ("job", "on_job"))),
    ("settled", _delete("dependency", "job", "settled")),
    (
        "met",
        "DELETE FROM dependency WHERE (job, on_job) IN "
        "(SELECT e.value ->> 0, e.value ->> 1 FROM jsonb_each(NEW.met) e)",
    ),
    ("logs", _insert("log", "logs", ("job", "at", "level", "message"))),
    (  # before "takes": one taken again at the same instant is another
        "untakes",
        "DELETE FROM take WHERE number IN (SELECT take.number FROM jsonb_each(NEW.untakes) e "
        "JOIN take ON take.at = e.value ->> 1 "
        "WHERE take.key = e.value ->> 0 AND take.job = e.value ->> 2)",
    ),
    ("takes", _insert("take", "takes", ("key", "at", "job"))),
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
        # The checkpoint of a lane is taken from the report of the job that has just ended in it.
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
    ("set_aside", _insert("set_aside", "set_aside", ("input", "error", "at"))),
    ("old_events", "DELETE FROM event WHERE seq < NEW.old_events"),
    ("old_answers", "DELETE FROM answer WHERE at < NEW.old_answers"),
    ("old_takes", f"DELETE FROM take WHERE at < NEW.old_takes - ({_LONGEST_WINDOW})"),
)

COLUMNS: Final = tuple(dict.fromkeys(column for column, _ in STATEMENTS))

MOST_SHAPES: Final = 64


class Expiry(msgspec.Struct, frozen=True):
    """What is old enough to be deleted along the way: events below a seq, rows before a time."""

    events: int | None = None
    answers: float | None = None
    takes: float | None = None


class Group(msgspec.Struct, array_like=True, gc=False):
    """Rows that have something in common: that once, then of each row what is its own."""

    shared: tuple[Any, ...]
    members: list[tuple[Any, ...]]

    def halves(self) -> "list[Group]":
        half = len(self.members) // 2
        parts = (self.members[:half], self.members[half:])
        return [Group(self.shared, part) for part in parts if part]


class Commits:
    """The commits of one connection.

    Every statement in a trigger costs a few microseconds even when its column is empty, which a
    commit of one job would feel. So there is a view for each set of columns that occurs together,
    made when it is first needed; beyond a bound, one with all of them.
    """

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._inserts: dict[tuple[str, ...], str] = {}

    def commit(
        self,
        changes: Changes,
        *,
        at: float,
        epoch: int,
        expiry: Expiry,
        piece_bytes: int = PIECE_BYTES,
    ) -> None:
        pieces = list(_pieces(rows_of(changes, at), piece_bytes))
        fixed: dict[str, Any] = {"epoch": epoch}
        fixed |= {
            name: value
            for name, value in (
                ("old_events", expiry.events),
                ("old_answers", expiry.answers),
                ("old_takes", expiry.takes),
            )
            if value is not None
        }
        together = dict(pieces)
        if len(together) == len(pieces):
            self._insert(fixed | together)
            return
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            self._insert(fixed)
            for column, piece in pieces:
                self._insert({column: piece})
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    def _insert(self, columns: dict[str, Any]) -> None:
        shape = tuple(name for name in COLUMNS if name in columns)
        if shape not in self._inserts and len(self._inserts) >= MOST_SHAPES:
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


def _pieces(rows: dict[str, list[Any]], limit: int) -> Iterator[tuple[str, str]]:
    for column, items in rows.items():
        if items:
            for piece in _cut(items, limit):
                yield column, piece


def _cut(items: list[Any], limit: int) -> Iterator[str]:
    """Encode a list, in halves where it is too large; a group that is alone is cut in itself."""
    encoded = msgspec.json.encode(items)
    if len(encoded) > limit:
        if len(items) == 1 and isinstance(items[0], Group):
            items = items[0].halves()
        if len(items) > 1:
            half = len(items) // 2
            yield from _cut(items[:half], limit)
            yield from _cut(items[half:], limit)
            return
    yield encoded.decode()


def rows_of(changes: Changes, at: float) -> dict[str, list[Any]]:
    """Return the rows of each column, in the order of the columns."""
    left = set(changes.left)
    live = [job for id, job in changes.changed.items() if id not in left]
    waiting = [job for job in live if job.state is not State.RUNNING]
    kept = {(job, name): body for job, name, body in changes.kept}
    entered = {id: job for id, job in changes.entered.items() if id not in left}
    new = [
        (job, item)
        for item in changes.submitted
        if (job := entered.get(item.id)) is not None and job.fence == 0
    ]
    whole = {item.id for _, item in new}
    # A job that completes was started by an earlier commit, and nothing but its end came since.
    completed = {
        id: ended
        for id, ended in changes.ended.items()
        if ended.job.state is State.COMPLETED and id in left and id not in changes.entered
    }
    return {
        "reports": list(changes.reports.items()),
        "completed": [
            (id, ended.ended_at, ended.result, ended.report) for id, ended in completed.items()
        ],
        "gone": changes.left,
        "waiting": [_changed(job) for job in waiting],
        "running": [_changed(job) for job in live if job.state is State.RUNNING],
        "new": _grouped(((_shared(job, item), _own(job, item)) for job, item in new)),
        "entered": [_entered(job) for id, job in entered.items() if id not in whole],
        "submitted": [_submitted(item) for item in changes.submitted if item.id not in whole],
        "revived": changes.revived,
        "forgotten": [key for key, body in kept.items() if body is None],
        "kept": [(*key, body) for key, body in kept.items() if body is not None],
        "ended": [_ended(ended) for id, ended in changes.ended.items() if id not in completed],
        "finished": list(changes.ended),
        "whole": [id for id, ended in changes.ended.items() if ended.forget or id in completed],
        "dependencies": changes.dependencies,
        "settled": changes.settled,
        "met": changes.met,
        "logs": changes.logs,
        "untakes": changes.untakes,
        "takes": changes.takes,
        "grants": changes.grants,
        "releases": changes.releases,
        "stopped": [*changes.left, *(job.id for job in waiting)],
        "lanes": [_lane(*key, change) for key, change in changes.lanes.items()],
        "erased": [key for key, body in changes.records.items() if body is None],
        "records": [(*key, body) for key, body in changes.records.items() if body is not None],
        "firings": [
            (item.schedule, item.fire_at, item.job, item.count, item.reason)
            for item in changes.firings
        ],
        "events": _event_groups(changes.events),
        "answers": [(key, body, at) for key, body in changes.answers.items()],
        "consumed": changes.consumed,
        "set_aside": changes.set_aside,
    }


_encoder = msgspec.json.Encoder()


def _text(value: Any) -> str:
    return _encoder.encode(value).decode()


def _reason(reason: Reason | None) -> str | None:
    return None if reason is None else _text(reason)


def _changed(job: Job) -> tuple[Any, ...]:
    return (
        job.id, job.band, job.position, job.state, job.attempt, job.failures, job.crashes,
        job.fence, job.holds_lane, job.worker, job.due_at, _reason(job.reason), job.stopping,
        job.started_at,
    )  # fmt: skip


def _shared(job: Job, item: Submission) -> tuple[Any, ...]:
    return (
        job.task, job.queue, job.kind, job.band, job.state, terms_to_text(job.terms), job.exclusive,
        job.due_at, _reason(job.reason), job.created_at, item.meta, item.options, item.schedule,
    )  # fmt: skip


def _own(job: Job, item: Submission) -> tuple[Any, ...]:
    return job.id, job.position, job.lane, job.bucket, job.dedupe, item.digest, item.params


def _event_groups(events: list[Event]) -> list[Group]:
    texts: dict[int, str] = {}  # by identity: most events share what they say with others
    for event in events:
        if id(event.data) not in texts:
            texts[id(event.data)] = _text(event.data)
    return _grouped(
        ((event.at, event.type, event.queue, texts[id(event.data)]), (event.seq, event.job))
        for event in events
    )


def _grouped(rows: Iterable[tuple[tuple[Any, ...], tuple[Any, ...]]]) -> list[Group]:
    """Put rows, each given as what it may share and what is its own, into groups."""
    groups: dict[tuple[Any, ...], list[tuple[Any, ...]]] = {}
    for shared, own in rows:
        members = groups.get(shared)
        if members is None:
            members = groups[shared] = []
        members.append(own)
    return [Group(shared, members) for shared, members in groups.items()]


def _entered(job: Job) -> tuple[Any, ...]:
    return (
        job.id, job.task, job.queue, job.lane, job.kind, job.band, job.position, job.state,
        terms_to_text(job.terms), job.dedupe, job.exclusive, job.digest, job.bucket, job.attempt,
        job.failures, job.crashes, job.fence, job.holds_lane, job.worker, job.due_at,
        _reason(job.reason), job.stopping, job.created_at, job.started_at,
    )  # fmt: skip


def _submitted(item: Submission) -> tuple[Any, ...]:
    return (
        item.id, terms_to_text(item.terms), item.dedupe, item.digest, item.bucket, item.params,
        item.meta, item.options, item.schedule,
    )  # fmt: skip


def _ended(ended: Ended) -> tuple[Any, ...]:
    job = ended.job
    return (
        job.id, job.state, job.task, job.queue, job.lane, job.kind, job.band, job.attempt,
        job.failures, job.crashes, job.fence, job.worker, job.started_at, job.created_at,
        ended.ended_at, ended.result, None if ended.error is None else _text(ended.error),
        _reason(job.reason), ended.report,
    )  # fmt: skip


def _lane(queue: str, lane: str, change: LaneChange) -> tuple[Any, ...]:
    """Return the values of a lane, each that may stay as it was behind a flag that says so."""
    return (
        queue,
        lane,
        *_flagged(change.status),
        *_flagged(change.job),
        None if change.adopt is UNSET else change.adopt,
        *_flagged(change.params),
    )


def _flagged(value: Any) -> tuple[bool, Any]:
    return (False, None) if value is UNSET else (True, value)
