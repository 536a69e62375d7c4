"""The shapes that rows have on their way out of the database: JSON arrays."""

import logging
from collections.abc import Iterable
from sys import intern
from typing import Any, TypeVar

import apsw
import msgspec
from msgspec import Struct

from fairlane.core.lifecycle import Priority, State
from fairlane.core.live_job import JobId, LiveJob, Reason, Terms, WorkerId, terms_from_text
from fairlane.errors import FairlaneError

T = TypeVar("T")

log = logging.getLogger("fairlane.store")


class JobRow(Struct, array_like=True):
    """A row of the hot table, as JSON carries it."""

    id: JobId
    task: str
    queue: str
    lane: str | None
    kind: str
    priority: Priority
    position: str
    state: State
    terms: str
    dedupe: str | None
    exclusive: int
    digest: str | None
    bucket: str | None
    attempt: int
    failures: int
    crashes: int
    fence: int
    holds_lane: int
    worker: WorkerId | None
    due_at: float | None
    reason: str | None
    cancel_outputs: str | None
    created_at: float
    started_at: float | None

    def job(self) -> LiveJob:
        """Make a job; a million of them share the few texts that they have in common."""
        return LiveJob(
            self.id, intern(self.task), intern(self.queue), self.lane and intern(self.lane),
            intern(self.kind), self.priority, self.position, self.state, _terms(self.terms),
            self.dedupe, bool(self.exclusive), self.digest, self.bucket and intern(self.bucket),
            self.attempt, self.failures, self.crashes, self.fence,
            bool(self.holds_lane), self.worker, self.due_at,
            _reason.decode(self.reason) if self.reason else None, self.cancel_outputs,
            self.created_at, self.started_at,
        )  # fmt: skip


def _terms(text: str) -> Terms:
    """Read a job's terms; one that cannot be read runs with the usual ones, and all others too."""
    try:
        return terms_from_text(text)
    except (msgspec.DecodeError, FairlaneError):
        log.warning("the terms of a job cannot be read and are left out: %s", text)
        return Terms()


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


_reason = msgspec.json.Decoder(Reason)
_job_rows = msgspec.json.Decoder(list[JobRow])


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
    """Make jobs of one JSON text; those that came together share the time they came at."""
    times: dict[float, float] = {}
    jobs = [row.job() for row in _job_rows.decode(text)]
    for job in jobs:
        job.created_at = times.setdefault(job.created_at, job.created_at)
    return jobs
