"""Run the statements of a read on SQLite: each gathers its rows into one JSON text."""

from collections.abc import Sequence
from datetime import UTC, datetime
from types import GenericAlias
from typing import Any, TypeVar

import apsw
import msgspec
from msgspec import Struct

from fairlane.core.lifecycle import State
from fairlane.core.live_job import JobId, LiveJob
from fairlane.store.columns import JobRow, jobs_from_rows
from fairlane.store.reads import ALL_JOBS, Reads, Statement, Steps, Table
from fairlane.store.sqlite import statements
from fairlane.store.view_building import ActiveJob, LaneKey
from fairlane.store.views import EventView, JobView

T = TypeVar("T")


def run_read(connection: apsw.Connection, steps: Steps[T]) -> T:
    """Run a read to its result; the caller holds the transaction."""
    rows: Any = None
    while True:
        try:
            statement = steps.send(rows)
        except StopIteration as end:
            result: T = end.value
            return result
        rows = _all_jobs(connection) if statement is ALL_JOBS else read_rows(connection, statement)


def read_rows(connection: apsw.Connection, statement: Statement) -> Any:
    value = connection.execute(statement.sql, tuple(map(_bound, statement.values))).get
    if statement.row is None:
        return value
    if statement.row is LiveJob:
        return jobs_from_rows(_decoder_of(JobRow).decode(value))
    return _decoder_of(statement.row).decode(value)


def _bound(value: Any) -> Any:
    if isinstance(value, Table):
        return json_list(value.rows)
    return json_list(value) if isinstance(value, list) else value


def json_list(items: Sequence[Any]) -> str:
    return msgspec.json.encode(items).decode()


_decoders: dict[Any, msgspec.json.Decoder[Any]] = {}


def _decoder_of(row: Any) -> msgspec.json.Decoder[Any]:
    if row not in _decoders:
        _decoders[row] = msgspec.json.Decoder(GenericAlias(list, (row,)))
    return _decoders[row]


def _all_jobs(connection: apsw.Connection) -> list[LiveJob]:
    """Read the table in pieces by id: to sort it in SQL takes memory for all of it twice."""
    jobs: list[LiveJob] = []
    while piece := read_rows(
        connection, Statement(statements.IMAGE, LiveJob, (jobs[-1].id if jobs else "",))
    ):
        jobs += piece
    connection.pragma("shrink_memory")  # none of the pages that were read is needed soon
    return jobs


class EventRow(Struct, array_like=True):
    seq: int
    at: float
    type: str
    job: JobId | None
    queue: str | None
    data: str


_object = msgspec.json.Decoder(dict[str, Any])


class SQLiteReads(Reads):
    def __init__(self) -> None:
        super().__init__(statements)

    def events(self, after: int, limit: int) -> Steps[list[EventView] | None]:
        ends = yield Statement(statements.EVENT_RANGE, tuple[int, int])
        oldest, newest = ends[0] if ends else (1, 0)
        if after > newest or after < oldest - 1:
            return None
        rows = yield Statement(statements.EVENTS, EventRow, (after, limit))
        return [
            EventView(
                seq=row.seq,
                type=row.type,
                at=datetime.fromtimestamp(row.at, UTC),
                job=row.job,
                queue=row.queue,
                data=_object.decode(row.data),
            )
            for row in rows
        ]

    def _active_jobs(self, names: list[LaneKey], jobs: list[JobView]) -> Steps[Sequence[ActiveJob]]:
        """Use the jobs that were read before; only for the other lanes all jobs are searched.

        The first of these jobs in a lane is its active one, unless a later one holds the lane.
        """
        first = {(job.queue, job.lane): job for job in reversed(jobs)}
        held = yield Statement(statements.HOLDERS_NAMED, ActiveJob, (Table(names, 2),))
        active = {(job.queue, job.lane): job for job in held}
        for key in names:
            if key in first and (key not in active or first[key].state == State.RUNNING):
                active[key] = ActiveJob(*key, first[key].id, State(first[key].state))
        others = [key for key in names if key not in active]
        if others:
            found = yield Statement(statements.ACTIVE_NAMED, ActiveJob, (Table(others, 2),))
            active |= {(job.queue, job.lane): job for job in found}
        return list(active.values())
