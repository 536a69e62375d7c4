"""The columns of a job, each declared once.

A job has columns in three tables: `job` holds the live jobs, `detail` the parts of a submission
that never change, `ended` the history. PostgreSQL has a fourth one, `running`: the queue, the lane
and the mutable columns of a running job but its state. The statements of both dialects, the rows of
a commit and the rows that are read are derived from this table at import time; a test compares it
with the migrations, which are written by hand.

The fields of `LiveJob`, `Submission` and `Ended` give each column its Python type, and the type
gives its SQL type, its form in JSON and its empty value. To add a column: the field of `LiveJob`, a
line in `COLUMNS`, the column in the first migration of both dialects; and to show it, a field in
`StoredJob`, in `JobView` and in the model of the API.

The functions that make rows and jobs are compiled from one expression each, because a loop over
the columns would take several times as long for each of the rows of a commit.
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from itertools import starmap
from sys import intern
from types import GenericAlias, NoneType
from typing import Any, Final, Literal, get_args, get_type_hints

import msgspec
from msgspec import Struct

from fairlane.core.decisions import Ended
from fairlane.core.inputs import Submission
from fairlane.core.lifecycle import Priority, State
from fairlane.core.live_job import JobId, LiveJob, Reason, Terms, terms_from_text, terms_to_text
from fairlane.errors import FairlaneError

log = logging.getLogger("fairlane.store")

Names = tuple[str, ...]
Dialect = Literal["sqlite", "postgres"]
RowsMaker = Callable[[Iterable[Any]], list[tuple[Any, ...]]]
HalvesMaker = Callable[[Iterable[Any]], Iterable[tuple[tuple[Any, ...], tuple[Any, ...]]]]


class Column(Struct, frozen=True):
    """One column of a job.

    `bulk`: whether new jobs that are inserted together share its value once for their group, or
    each have their own; without it the column of a new job has its empty value.
    `at_completion`: whether a completed job copies its value from the row in `job` to that in
    `ended`, or the commit sends the value.
    `repeats`: equal values of many jobs become one object in memory.
    """

    name: str
    tables: Names
    mutable: bool = False
    bulk: Literal["shared", "own"] | None = None
    at_completion: Literal["copied", "sent"] | None = None
    repeats: bool = False
    postgres_type: str | None = None  # where it is not the usual one of the Python type


_EVERYWHERE: Final = ("job", "detail", "ended")

COLUMNS: Final = (
    Column("id", _EVERYWHERE, bulk="own", at_completion="copied"),
    Column("task", ("job", "ended"), bulk="shared", at_completion="copied", repeats=True),
    Column("queue", ("job", "ended"), bulk="shared", at_completion="copied", repeats=True),
    Column("lane", ("job", "ended"), bulk="own", at_completion="copied", repeats=True),
    Column("kind", ("job", "ended"), bulk="shared", at_completion="copied", repeats=True),
    Column("priority", ("job", "ended"), mutable=True, bulk="shared", at_completion="copied"),
    Column("position", ("job",), mutable=True, bulk="own"),
    Column("state", ("job", "ended"), mutable=True, bulk="shared"),
    Column("terms", ("job", "detail"), bulk="shared"),
    Column("dedupe", ("job", "detail"), bulk="own"),
    Column("exclusive", ("job",), bulk="shared"),
    Column("digest", ("job", "detail"), bulk="own"),
    Column("bucket", ("job", "detail"), bulk="own", repeats=True),
    Column("attempt", ("job", "ended"), mutable=True, at_completion="copied"),
    Column("failures", ("job", "ended"), mutable=True, at_completion="copied"),
    Column("crashes", ("job", "ended"), mutable=True, at_completion="copied"),
    Column("fence", ("job", "ended"), mutable=True, at_completion="copied", postgres_type="bigint"),
    Column("holds_lane", ("job",), mutable=True),
    Column("worker", ("job", "ended"), mutable=True, at_completion="copied"),
    Column("due_at", ("job",), mutable=True, bulk="shared"),
    Column("reason", ("job", "ended"), mutable=True, bulk="shared"),
    Column("cancel_outputs", ("job",), mutable=True),
    Column("created_at", ("job", "ended"), bulk="shared", at_completion="copied", repeats=True),
    Column("started_at", ("job", "ended"), mutable=True, at_completion="copied"),
    Column("updated_at", ("job",), mutable=True, bulk="shared"),  # of an ended job: `ended_at`
    Column("deadline_at", ("job",), mutable=True),
    Column("params", ("detail",), bulk="own"),
    Column("meta", ("detail",), bulk="shared"),
    Column("options", ("detail",), bulk="shared"),
    Column("schedule", ("detail",), bulk="shared"),
    Column("ended_at", ("ended",), at_completion="sent"),
    Column("result", ("ended",), at_completion="sent"),
    Column("error", ("ended",)),
    Column("report", ("ended",), at_completion="sent"),  # that of a live job: the table `report`
)


class StoredJob(Struct, array_like=True, kw_only=True):
    """One job as it is stored, live or ended, for a view of it; the texts are JSON."""

    id: JobId
    task: str
    queue: str
    lane: str | None
    kind: str
    state: State
    priority: Priority
    position: str | None = None
    attempt: int = 0
    crashes: int = 0
    worker: str | None = None
    due_at: float | None = None
    reason: str | None = None
    cancel_outputs: str | None = None
    created_at: float
    started_at: float | None = None
    updated_at: float | None = None
    ended_at: float | None = None
    error: str | None = None
    result: str | None = None
    params: str
    meta: str
    report: str | None = None
    reported_at: float | None = None
    options: str


class HistoryRow(StoredJob, array_like=True, kw_only=True):
    """An ended job with its number in the order of ending."""

    number: int


def _names(keep: Callable[[Column], bool]) -> Names:
    return tuple(column.name for column in COLUMNS if keep(column))


def _in_table(table: str) -> Names:
    return _names(lambda column: table in column.tables)


JOB: Final = _in_table("job")
DETAIL: Final = _in_table("detail")
ENDED: Final = _in_table("ended")
MUTABLE: Final = _names(lambda column: column.mutable)
SHARED: Final = _names(lambda column: column.bulk == "shared")
OWN: Final = _names(lambda column: column.bulk == "own")
COPIED: Final = _names(lambda column: column.at_completion == "copied")
SENT: Final = _names(lambda column: column.at_completion == "sent")


def common(names: Names, others: Names) -> Names:
    """Return the names that are in both lists, in the order of the first."""
    return tuple(name for name in names if name in others)


def without(names: Names, *others: str) -> Names:
    """Return the names except those given as further arguments."""
    return tuple(name for name in names if name not in others)


# From Python to SQL.


class ColumnType(Struct, frozen=True):
    """The Python type of a column, the types that follow from it, and its empty value in SQL."""

    python: Any
    is_optional: bool
    json: Any  # as SQLite gives it
    sqlite: str
    postgres: str
    sqlite_empty: str
    postgres_empty: str

    @property
    def empty(self) -> Any:
        return None if self.is_optional else self.python()


_FORMS: Final[dict[Any, tuple[Any, str, str, str, str]]] = {
    # JSON, type in SQLite and in PostgreSQL, empty value in SQLite and in PostgreSQL
    str: (str, "TEXT", "text", "''", "''"),
    int: (int, "INTEGER", "integer", "0", "0"),
    float: (float, "REAL", "double precision", "0", "0"),
    bool: (int, "INTEGER", "boolean", "0", "false"),  # SQLite has no other
    State: (str, "TEXT", "text", "''", "''"),
    Priority: (int, "INTEGER", "smallint", "0", "0"),
    Terms: (str, "TEXT", "text", "''", "''"),
    Reason: (str, "TEXT", "text", "''", "''"),
    dict: (str, "TEXT", "text", "''", "''"),
}


def _type_of(hint: Any, postgres_type: str | None = None) -> ColumnType:
    options = [option for option in get_args(hint) if option is not NoneType]
    is_optional = NoneType in get_args(hint)
    python = options[0] if is_optional else hint
    python = getattr(python, "__supertype__", python)  # of a NewType
    python = getattr(python, "__origin__", python)  # of an Annotated, or of dict[…]
    json, sqlite, postgres, sqlite_empty, postgres_empty = _FORMS[python]
    return ColumnType(
        python=python,
        is_optional=is_optional,
        json=json | None if is_optional else json,
        sqlite=sqlite,
        postgres=postgres_type or postgres,
        sqlite_empty="NULL" if is_optional else sqlite_empty,
        postgres_empty="NULL" if is_optional else postgres_empty,
    )


_HINTS: Final = get_type_hints(Submission) | get_type_hints(Ended) | get_type_hints(LiveJob)

TYPES: Final[Mapping[str, ColumnType]] = {
    column.name: _type_of(_HINTS[column.name], column.postgres_type) for column in COLUMNS
}


def new_columns(names: Names) -> tuple[Names, Names, Names]:
    """Return the columns of new jobs that a group shares, that are a row's own, that are empty.

    Columns that can be NULL are left out of the empty ones: a column that is not named is NULL.
    """
    shared, own = common(names, SHARED), common(names, OWN)
    rest = (name for name in names if name not in shared and name not in own)
    return shared, own, tuple(name for name in rest if not TYPES[name].is_optional)


def selected(
    struct: type[Struct],
    tables: Mapping[str, Names],
    others: Mapping[str, str] | None = None,
    *,
    dialect: Dialect,
) -> str:
    """Return the SQL that reads the fields of a struct, each from the first table that has it.

    `tables` are the names of tables with their columns; `others` are columns with the SQL that
    reads them. A field that is in none has its empty value.
    """
    hints = get_type_hints(struct)

    def source(name: str) -> str:
        if others and name in others:
            return others[name]
        for table, names in tables.items():
            if name in names:
                return f"{table}.{name}"
        of = _type_of(hints[name])
        return of.sqlite_empty if dialect == "sqlite" else of.postgres_empty

    return ", ".join(map(source, struct.__struct_fields__))


# Rows to write.

_encoder: Final = msgspec.json.Encoder()


def json_text(value: Any) -> str:
    return _encoder.encode(value).decode()


def reason_to_text(reason: Reason | None) -> str | None:
    return None if reason is None else _encoder.encode(reason).decode()


_ENCODED: Final = {
    Terms: "terms_to_text({})",
    Reason: "reason_to_text({})",
    dict: "None if {0} is None else json_text({0})",
}
_ENCODERS: Final = {
    "terms_to_text": terms_to_text,
    "reason_to_text": reason_to_text,
    "json_text": json_text,
}


def _compiled(source: str, names: dict[str, Any]) -> Callable[..., Any]:
    # The source consists of names in this file, never of a value from outside.
    function: Callable[..., Any] = eval(source, dict(names))  # noqa: S307
    return function


def rows_maker(names: Names, structs: Mapping[str, type[Struct]]) -> RowsMaker:
    """Compile the function that makes a list of rows, one of each struct or tuple of structs.

    `structs` has the types by the name of a variable, or of a variable's field with a dot. A value
    comes from the first struct that has a field of this name.
    """
    return _compiled(f"lambda items: [{_row(names, structs)} {_each(structs)}]", _ENCODERS)


def halves_maker(shared: Names, own: Names, structs: Mapping[str, type[Struct]]) -> HalvesMaker:
    """Like `rows_maker`, for rows in two halves: values that rows may share, and their own.

    The rows are generated: a list of them all would hold each equal first half until the end, and
    the garbage collector would walk through it (1.4 µs a job became 3).
    """
    halves = f"({_row(shared, structs)}, {_row(own, structs)})"
    return _compiled(f"lambda items: ({halves} {_each(structs)})", _ENCODERS)


def _row(names: Names, structs: Mapping[str, type[Struct]]) -> str:
    def value(name: str) -> str:
        holder = next(key for key, of in structs.items() if name in of.__struct_fields__)
        return _ENCODED.get(TYPES[name].python, "{}").format(f"{holder}.{name}")

    return f"({', '.join(map(value, names))},)"


def _each(structs: Mapping[str, type[Struct]]) -> str:
    return f"for {', '.join(name for name in structs if '.' not in name)} in items"


# Rows that were read.

JobRow: Final = GenericAlias(tuple, tuple(TYPES[name].json for name in JOB))  # in JSON


def _decode_terms(text: str) -> Terms:
    """Decode the terms of a job; a job whose terms are unreadable runs with the default ones."""
    try:
        return terms_from_text(text)
    except (msgspec.DecodeError, FairlaneError):
        log.warning("the terms of a job cannot be read and are left out: %s", text)
        return Terms()


_DECODED: Final = {
    State: "STATES[{}]",
    Priority: "PRIORITIES[{}]",
    Terms: "decode_terms({})",
    Reason: "decode_reason({0}) if {0} else None",
    bool: "bool({})",
}
_DECODERS: Final = {
    "LiveJob": LiveJob,
    "STATES": {state.value: state for state in State},
    "PRIORITIES": {priority.value: priority for priority in Priority},
    "decode_terms": _decode_terms,
    "decode_reason": msgspec.json.Decoder(Reason).decode,
    "intern": intern,
}


def _decoded(column: Column) -> str:
    of, form = TYPES[column.name], "{}"
    if column.repeats and of.python is float:
        form = "share({0}, {0})"
    elif column.repeats:
        form = "{0} and intern({0})" if of.is_optional else "intern({})"
    return _DECODED.get(of.python, form).format(column.name)


_job_maker: Final = _compiled(
    f"lambda share: lambda {', '.join(JOB)}: "
    f"LiveJob({', '.join(_decoded(column) for column in COLUMNS if column.name in JOB)})",
    _DECODERS,
)


def jobs_from_rows(rows: Iterable[Iterable[Any]]) -> list[LiveJob]:
    """Make jobs of rows of `job`; a million jobs share the few values they have in common."""
    times: dict[float, float] = {}
    return list(starmap(_job_maker(times.setdefault), rows))
