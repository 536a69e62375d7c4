"""Run the statements of a read on PostgreSQL."""

from operator import attrgetter
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from fairlane.core.live_job import LiveJob
from fairlane.store.columns import jobs_from_rows
from fairlane.store.postgres import statements
from fairlane.store.postgres.address import Address
from fairlane.store.postgres.connection import Connection
from fairlane.store.postgres.event_pages import events_in
from fairlane.store.postgres.nul_escape import plain
from fairlane.store.reads import ALL_JOBS, Reads, Statement, Steps, Table
from fairlane.store.views import EventView

T = TypeVar("T")


async def run_read(connection: Connection, address: Address, steps: Steps[T]) -> T:
    """Run a read to its result; the caller holds the transaction if there are several steps."""
    rows: Any = None
    while True:
        try:
            statement = steps.send(rows)
        except StopIteration as end:
            result: T = end.value
            return result
        if statement is ALL_JOBS:
            rows = await _all_jobs(connection, address)
        else:
            rows = await _rows(connection, address, statement)


async def _rows(connection: Connection, address: Address, statement: Statement) -> Any:
    sql, values = address.sql(statement.sql), _bound(statement.values)
    if statement.row is None:
        return await connection.fetchval(sql, *values)
    rows = await connection.fetch(sql, *values)
    if statement.row is LiveJob:
        return jobs_from_rows(rows)
    if isinstance(statement.row, type) and issubclass(statement.row, Struct):
        return [msgspec.convert(tuple(row), statement.row) for row in rows]
    return rows


def _bound(values: tuple[Any, ...]) -> list[Any]:
    bound: list[Any] = []
    for value in values:
        if isinstance(value, Table):
            bound += ([row[column] for row in value.rows] for column in range(value.width))
        else:
            bound.append(value)
    return bound


async def _all_jobs(connection: Connection, address: Address) -> list[LiveJob]:
    """Read the table once, in pieces, so that it is never in memory twice.

    The server would sort all of it for an order: it does not know that an index of a table which
    has grown fast has that order.
    """
    jobs: list[LiveJob] = []
    cursor = await connection.cursor(address.sql(statements.IMAGE))
    while piece := jobs_from_rows(await cursor.fetch(statements.CHUNK)):
        jobs += piece
    jobs.sort(key=attrgetter("id"))
    return jobs


class PostgresReads(Reads):
    def __init__(self) -> None:
        super().__init__(statements)

    def events(self, after: int, limit: int) -> Steps[list[EventView] | None]:
        row = tuple[int | None, int | None, str | None]
        rows = yield Statement(statements.EVENTS, row, (after, limit))
        oldest, newest, _ = rows[0]
        if newest is None:
            oldest, newest = 1, 0
        if after > newest or after < oldest - 1:
            return None
        bodies = (body for _, _, body in rows if body is not None)
        return events_in(bodies, after=after, limit=limit)

    def version(self) -> Steps[int]:
        """Count commits first: a number of the inbox may be lower after one has emptied it."""
        rows = yield Statement(statements.VERSION, tuple[int, int])
        committed, appended = rows[0]
        return int(committed) << 64 | int(appended)

    def decode_text(self, text: str) -> str:
        return plain(text)
