"""The shapes that rows have on their way out of the database: JSON arrays."""

from collections.abc import Iterable
from types import GenericAlias
from typing import Any, TypeVar

import apsw
import msgspec
from msgspec import Struct

from fairlane.core.live_job import JobId, LiveJob
from fairlane.store.columns import JobRow, jobs_from_rows

T = TypeVar("T")


class EventRow(Struct, array_like=True):
    seq: int
    at: float
    type: str
    job: JobId | None
    queue: str | None
    data: str


class PayloadRow(Struct, array_like=True):
    job: JobId
    params: str
    meta: str
    options: str
    report: str | None
    checkpoint: str | None
    kept: dict[str, str]


_job_rows: msgspec.json.Decoder[Any] = msgspec.json.Decoder(GenericAlias(list, (JobRow,)))
_decoders: dict[Any, msgspec.json.Decoder[Any]] = {}


def _decoder_of(item: Any) -> msgspec.json.Decoder[Any]:
    if item not in _decoders:
        _decoders[item] = msgspec.json.Decoder(list[item])
    return _decoders[item]


def fetched(connection: apsw.Connection, of: type[T], sql: str, *values: Any) -> list[T]:
    """Run a query that gathers its rows into one JSON array."""
    rows: list[T] = _decoder_of(of).decode(connection.execute(sql, values).get)
    return rows


def texts(items: Iterable[str]) -> str:
    return msgspec.json.encode(list(items)).decode()


def jobs_in(text: str) -> list[LiveJob]:
    """Make jobs of the rows in one JSON text."""
    return jobs_from_rows(_job_rows.decode(text))
