"""Stores to try things on, and jobs to put into them."""

from pathlib import Path
from typing import Any, Protocol

import apsw
import msgspec

from fairlane.core.decisions import Changes, Ended, Event
from fairlane.core.inputs import Submission, Submit
from fairlane.core.lifecycle import Priority, State
from fairlane.core.live_job import JobId, LiveJob, Terms, WorkerId
from fairlane.core.position import MIDDLE, numbered
from fairlane.store.memory.shared import SharedDatabase, SharedMemoryStore
from fairlane.store.memory.store import MemoryStore
from fairlane.store.memory.tables import MemoryDatabase
from fairlane.store.postgres import PostgresStore
from fairlane.store.protocol import Store
from fairlane.store.shared_protocol import SharedStore
from fairlane.store.sqlite import SQLiteStore
from tests.support.postgres import run_at

NOW = 1_760_000_000.123456


class Place(Protocol):
    """One database, and as many handles on it as a test wants to pretend processes."""

    def handle(self, *, keep_events: int = 200_000) -> Store: ...

    def raise_epoch(self) -> None:
        """Raise the epoch as a second leader does, without the lock."""


class MemoryPlace:
    def __init__(self) -> None:
        self._database = MemoryDatabase()

    def handle(self, *, keep_events: int = 200_000) -> Store:
        self._database.keep_events = keep_events
        return MemoryStore(self._database)

    def raise_epoch(self) -> None:
        self._database.epoch += 1


class SQLitePlace:
    def __init__(self, path: Path) -> None:
        self._path = path

    def handle(self, *, keep_events: int = 200_000) -> Store:
        return SQLiteStore(self._path, keep_events=keep_events)

    def raise_epoch(self) -> None:
        connection = apsw.Connection(str(self._path))
        connection.execute("UPDATE meta SET value = value + 1 WHERE name = 'epoch'")
        connection.close()


class SharedMemoryPlace:
    """A database in memory whose handles stand for processes that all work."""

    def __init__(self) -> None:
        self._database = SharedDatabase()

    def handle(self) -> SharedStore:
        return SharedMemoryStore(self._database)


class PostgresPlace:
    def __init__(self, dsn: str) -> None:
        self._dsn = dsn

    @property
    def dsn(self) -> str:
        return self._dsn

    def handle(self, *, keep_events: int = 200_000) -> PostgresStore:
        return PostgresStore(self._dsn, keep_events=keep_events)

    def raise_epoch(self) -> None:
        run_at(self._dsn, "UPDATE fairlane.leadership SET epoch = epoch + 1")

    def empty(self) -> None:
        """Delete all rows, which is quicker than to create another database."""
        run_at(
            self._dsn,
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()",
            """DO $$ DECLARE name text; BEGIN
            FOR name IN SELECT oid::regclass FROM pg_class WHERE relkind = 'r'
            AND relnamespace = 'fairlane'::regnamespace AND relname <> 'migration'
            LOOP EXECUTE 'DELETE FROM ' || name; END LOOP;
            END $$""",
            "SELECT setval(oid::regclass, 1, false) FROM pg_class "
            "WHERE relkind = 'S' AND relnamespace = 'fairlane'::regnamespace",
            "INSERT INTO fairlane.leadership (epoch, swept) VALUES (0, 0)",
        )


def a_job(id: str, place: int = 0, **fields: Any) -> LiveJob:
    """Make a queued job; `place` is its place in the order."""
    values: dict[str, Any] = {
        "id": JobId(id),
        "task": "noop",
        "queue": "default",
        "lane": None,
        "kind": "start",
        "priority": Priority.NORMAL,
        "position": numbered(MIDDLE + place),
        "state": State.QUEUED,
        "terms": Terms(),
        "dedupe": None,
        "exclusive": False,
        "digest": None,
        "bucket": None,
        "attempt": 0,
        "failures": 0,
        "crashes": 0,
        "fence": 0,
        "holds_lane": False,
        "worker": None,
        "due_at": None,
        "reason": None,
        "cancel_outputs": None,
        "created_at": NOW,
        "started_at": None,
    }
    return LiveJob(**values | fields)


def submission_of(job: LiveJob, **fields: Any) -> Submission:
    values: dict[str, Any] = {
        "id": job.id,
        "task": job.task,
        "queue": job.queue,
        "lane": job.lane,
        "kind": job.kind,
        "priority": job.priority,
        "dedupe": job.dedupe,
        "digest": job.digest,
        "bucket": job.bucket,
        "terms": job.terms,
    }
    return Submission(**values | fields)


def admitted(*jobs: LiveJob, **fields: Any) -> Changes:
    """Return the changes that admit jobs."""
    return Changes(
        submitted=[submission_of(job, **fields) for job in jobs],
        entered={job.id: job for job in jobs},
    )


def started(*jobs: LiveJob, worker: str = "w1") -> Changes:
    for job in jobs:
        job.state = State.RUNNING
        job.attempt += 1
        job.fence += 1
        job.worker = WorkerId(worker)
        job.started_at = NOW + 1
    return Changes(changed={job.id: job for job in jobs})


def ended(
    *jobs: LiveJob, state: State = State.COMPLETED, at: float = NOW + 2, **facts: Any
) -> Changes:
    for job in jobs:
        job.state = state
        job.holds_lane = False
    return Changes(
        left=[job.id for job in jobs],
        ended={job.id: Ended(job, at, **facts) for job in jobs},
    )


def submit_body(*submissions: Submission, key: str = "k") -> str:
    return msgspec.json.encode(Submit(key, list(submissions))).decode()


def events(*seqs: int) -> list[Event]:
    return [Event(seq, NOW, "job_log", None, "default", {"n": seq}) for seq in seqs]
