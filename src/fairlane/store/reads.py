"""The reads of a store, each written once for both dialects of SQL.

A read is a generator: it yields a statement with its values, receives the rows, and returns the
view. It knows neither a connection nor whether a database is called with `await`; each dialect has
a function of a few lines that runs the statements, in a transaction of the caller. The dialects
differ in the text of their statements, which have the same names, and in how values are bound: a
list of values and a table of values are JSON for SQLite and arrays for PostgreSQL.
"""

# ruff: noqa: S608  the names that are put into SQL here are constants; values are bound.

from collections.abc import Generator, Sequence
from datetime import UTC, datetime
from itertools import chain
from operator import attrgetter
from types import ModuleType
from typing import Any, Final, TypeAlias, TypeVar

from msgspec import Struct

from fairlane.core.decisions import Start
from fairlane.core.inputs import Submission
from fairlane.core.lifecycle import State
from fairlane.core.live_job import JobId, LiveJob, terms_from_text
from fairlane.store.columns import HistoryRow, StoredJob
from fairlane.store.protocol import Image
from fairlane.store.view_building import (
    LATELY,
    ActiveJob,
    LaneKey,
    StoredLane,
    created_view,
    cursor_of,
    escaped_text,
    lane_views,
    lanes_of,
    medians,
    submissions_in,
    window_of,
)
from fairlane.store.views import (
    EventView,
    FiringView,
    JobView,
    LaneView,
    LogLine,
    Page,
    Payload,
    Place,
    Query,
    StoreSnapshot,
    WorkerName,
    job_view,
    worker_names,
)

T = TypeVar("T")


class Table(Struct, frozen=True):
    """Rows of values that are bound as one JSON text, or as an array for each column."""

    rows: Sequence[tuple[Any, ...]]
    width: int


class Statement(Struct, frozen=True):
    """One statement, its values and the type of its rows.

    A row is a struct, a tuple, or a `LiveJob`. Without a type the statement has a single value.
    """

    sql: str
    row: Any = None
    values: tuple[Any, ...] = ()


ALL_JOBS: Final = Statement("")  # every live job in order of id; each dialect has its own way

Steps: TypeAlias = Generator[Statement, Any, T]


class Reads:
    """The reads on the statements of one dialect."""

    def __init__(self, statements: ModuleType) -> None:
        self._sql = statements

    def jobs(self, ids: Sequence[JobId]) -> Steps[dict[JobId, JobView]]:
        workers = yield from self._workers()
        views: dict[JobId, JobView] = {}
        missing = list(ids)
        for sql in (self._sql.LIVE_JOBS, self._sql.ENDED_JOBS):
            if missing:
                rows = yield Statement(sql, StoredJob, (missing,))
                views |= {row.id: job_view(row, workers) for row in rows}
                missing = [id for id in missing if id not in views]
        if missing:
            rows = yield Statement(self._sql.CREATED_JOBS, tuple[str, float], (missing,))
            wanted = set(missing)
            for body, at in rows:
                for submission in submissions_in(body):
                    if submission.id in wanted:
                        views[submission.id] = created_view(submission, at)
        return {id: views[id] for id in ids if id in views}

    def _workers(self) -> Steps[dict[str, WorkerName]]:
        return worker_names((yield from self.records("worker")))

    def history(self, query: Query) -> Steps[Page]:
        floor = None
        if query.text is not None:
            floor = yield self._last_of_window(history_numbers(self._sql, window_of(query)))
        numbers, values = history_numbers(self._sql, query, floor)
        rows = yield Statement(self._sql.HISTORY.format(numbers=numbers), HistoryRow, values)
        workers = yield from self._workers()
        page = rows[: query.limit]
        next = page[-1].number if page and len(rows) > query.limit else floor
        return Page([job_view(row, workers) for row in page], None if next is None else str(next))

    def live_jobs(self, query: Query) -> Steps[Page]:
        floor = None
        if query.text is not None:
            floor = yield self._last_of_window(live_ids(self._sql, window_of(query)))
        ids, values = live_ids(self._sql, query, floor)
        rows = yield Statement(self._sql.LISTED.format(ids=ids), StoredJob, values)
        workers = yield from self._workers()
        page = rows[: query.limit]
        next = page[-1].id if page and len(rows) > query.limit else floor
        return Page([job_view(row, workers) for row in page], next)

    def _last_of_window(self, window: tuple[str, tuple[Any, ...]]) -> Statement:
        """Return the statement for the last row of a full window, which is NULL if it is not."""
        sql, values = window
        last = f"LIMIT 1 OFFSET {self._sql.PLACEHOLDER}{len(values)} - 1"
        return Statement(f"SELECT * FROM ({sql}) seen {last}", None, values)

    def counts(self) -> Steps[dict[str, dict[str, int]]]:
        by_queue: dict[str, dict[str, int]] = {}
        rows = yield Statement(self._sql.COUNTS, tuple[str, str, int])
        for queue, state, amount in rows:
            by_queue.setdefault(queue, {})[state] = amount
        return by_queue

    def snapshot(self, *, waiting: int, ended: int, lanes: int) -> Steps[StoreSnapshot]:
        records = yield from self.all_records()
        workers = worker_names(
            {name: body for (kind, name), body in records.items() if kind == "worker"}
        )
        counts = yield from self.counts()
        rows = yield Statement(self._sql.RUNNING_JOBS, StoredJob)
        running = [job_view(row, workers) for row in rows]
        first: dict[str, list[JobView]] = {}
        for queue in counts:
            rows = yield Statement(self._sql.WAITING_JOBS, StoredJob, (queue, waiting))
            if rows:
                first[queue] = [job_view(row, workers) for row in rows]
        jobs = [*running, *chain(*first.values())]
        return StoreSnapshot(
            seq=(yield from self.last_seq()),
            counts=counts,
            running=running,
            waiting=first,
            ended=(yield from self.history(Query(limit=ended))).items,
            lanes=(yield from self._lanes_of_snapshot(jobs, lanes)),
            records=records,
        )

    def jobs_behind(self, queue: str, *, after: Place, limit: int) -> Steps[list[JobView]]:
        workers = yield from self._workers()
        values = (queue, after.priority, after.position, limit)
        rows = yield Statement(self._sql.JOBS_BEHIND, StoredJob, values)
        return [job_view(row, workers) for row in rows]

    def _lanes_of_snapshot(self, jobs: list[JobView], limit: int) -> Steps[list[LaneView]]:
        known = yield Statement(self._sql.LANE_NAMES, tuple[str, str], (limit,))
        names = lanes_of(jobs, [(queue, lane) for queue, lane in known], limit)
        active = yield from self._active_jobs(names, jobs)
        stored = yield Statement(self._sql.LANES_NAMED, StoredLane, (Table(names, 2),))
        return lane_views(stored, active)

    def _active_jobs(
        self,
        names: list[LaneKey],
        jobs: list[JobView],  # noqa: ARG002
    ) -> Steps[Sequence[ActiveJob]]:
        """Return the active jobs of lanes; `jobs` are those that were read before."""
        active: list[ActiveJob]
        active = yield Statement(self._sql.ACTIVE_NAMED, ActiveJob, (Table(names, 2),))
        return active

    def lanes(self, queue: str | None) -> Steps[list[LaneView]]:
        if queue is None:
            stored = yield Statement(self._sql.LANES, StoredLane)
            active = yield Statement(self._sql.ACTIVE, ActiveJob)
        else:
            stored = yield Statement(self._sql.LANES_OF_QUEUE, StoredLane, (queue,))
            active = yield Statement(self._sql.ACTIVE_OF_QUEUE, ActiveJob, (queue,))
        return lane_views(stored, active)

    def events(self, after: int, limit: int) -> Steps[list[EventView] | None]:
        raise NotImplementedError  # a dialect stores events in its own way

    def log(self, job: JobId, limit: int) -> Steps[list[LogLine]]:
        rows = yield Statement(self._sql.LOG, tuple[float, str, str], (job, limit))
        return [
            LogLine(datetime.fromtimestamp(at, UTC), level, self.decode_text(message))
            for at, level, message in rows
        ]

    def decode_text(self, text: str) -> str:
        return text

    def records(self, kind: str) -> Steps[dict[str, str]]:
        rows = yield Statement(self._sql.RECORDS_OF_KIND, tuple[str, str, str], (kind,))
        return {name: body for _, name, body in rows}

    def all_records(self) -> Steps[dict[tuple[str, str], str]]:
        rows = yield Statement(self._sql.RECORDS, tuple[str, str, str])
        return {(kind, name): body for kind, name, body in rows}

    def firings(self, schedule: str, limit: int) -> Steps[list[FiringView]]:
        row = tuple[str, float, JobId | None, int, str | None]
        rows = yield Statement(self._sql.FIRINGS, row, (schedule, limit))
        return [
            FiringView(name, datetime.fromtimestamp(fire_at, UTC), job, count, reason)
            for name, fire_at, job, count, reason in rows
        ]

    def durations(self) -> Steps[dict[str, float]]:
        rows = yield Statement(self._sql.DURATIONS, tuple[str, float], (LATELY,))
        return medians((task, seconds) for task, seconds in rows)

    def last_seq(self) -> Steps[int]:
        seq: int = yield Statement(self._sql.LAST_SEQ)
        return seq

    def answers(self, keys: Sequence[str]) -> Steps[dict[str, str]]:
        rows = yield Statement(self._sql.ANSWERS, tuple[str, str], (list(keys),))
        return dict(rows)

    def submission(self, job: JobId) -> Steps[Submission | None]:
        rows = yield Statement(self._sql.SUBMISSION, _SubmissionRow, (job,))
        if not rows:
            return None
        task, queue, lane, kind, terms, dedupe, digest, bucket, params, meta, options = rows[0]
        return Submission(
            id=job, task=task, queue=queue, lane=lane, kind=kind, terms=terms_from_text(terms),
            dedupe=dedupe, digest=digest, bucket=bucket, params=params, meta=meta, options=options,
        )  # fmt: skip

    def image(self, *, queue: str | None, limit: int | None) -> Steps[Image]:
        """Read the whole state; of a part of it, the running jobs and then the next ones."""
        jobs: list[LiveJob]
        if queue is None and limit is None:
            jobs = yield ALL_JOBS
        else:
            jobs = yield Statement(self._sql.IMAGE_OF_FIRST, LiveJob, (queue, limit))
            jobs.sort(key=attrgetter("id"))
        jobs.sort(key=attrgetter("position"))
        dependencies = yield Statement(self._sql.DEPENDENCIES, tuple[JobId, JobId])
        records = yield from self.all_records()
        rate_starts = yield Statement(self._sql.RATE_STARTS, tuple[str, float, JobId])
        grants = yield Statement(self._sql.GRANTS, tuple[JobId, str, str])
        return Image(
            jobs=jobs,
            dependencies=[(job, on) for job, on in dependencies],
            records=records,
            rate_starts=[(key, at, job) for key, at, job in rate_starts],
            grants=[(job, token, uses) for job, token, uses in grants],
            seq=(yield from self.last_seq()),
        )

    def ended_jobs(self, ids: Sequence[JobId]) -> Steps[dict[JobId, LiveJob]]:
        jobs = yield Statement(self._sql.ENDED_AS_JOBS, LiveJob, (list(ids),))
        return {job.id: job for job in jobs}

    def payloads(self, starts: Sequence[Start]) -> Steps[dict[JobId, Payload]]:
        wanted = [
            (start.job, start.queue, start.lane if start.kind == "continue" else None)
            for start in starts
        ]
        rows = yield Statement(self._sql.PAYLOADS, _PayloadRow, (Table(wanted, 3),))
        return {
            id: Payload(params, meta, options, report, checkpoint, dict(values or ()))
            for id, params, meta, options, report, checkpoint, values in rows
        }


_SubmissionRow: Final = tuple[
    str, str, str | None, str, str, str | None, str | None, str | None, str, str, str
]
_PayloadRow: Final = tuple[JobId, str, str, str, str | None, str | None, dict[str, str]]


# The pages of a list, whose SQL depends on the query.


def live_ids(
    sql: ModuleType, query: Query, floor: str | None = None
) -> tuple[str, tuple[Any, ...]]:
    """Return the SQL that finds the ids of one page, and one more if there is a next page."""
    compared = {
        "task =": query.task,
        "queue =": query.queue,
        "lane =": query.lane,
        "created_at >=": query.since,
        "created_at <": query.until,
        "id <": query.cursor,
        "id >=": floor,
    }
    conditions, values = _narrowed(sql, query, compared, sql.LIVE_HAS_TEXT)
    if query.states:
        conditions.append(_state_in(query))
    values.append(query.limit + 1)
    order = sql.ORDER_OF_RUNNING if query.states == ("running",) else "id"
    end = f"ORDER BY {order} DESC LIMIT {sql.PLACEHOLDER}{len(values)}"
    return f"SELECT id FROM {sql.LIVE_TABLE} {_where(conditions)} {end}", tuple(values)


def history_numbers(
    sql: ModuleType, query: Query, floor: int | None = None
) -> tuple[str, tuple[Any, ...]]:
    """Return the SQL that finds the numbers of one page, and one more if there is a next page."""
    compared = {
        "task =": query.task,
        "queue =": query.queue,
        "lane =": query.lane,
        "ended_at >=": query.since,
        "ended_at <": query.until,
        "number <": cursor_of(query),
        "number >=": floor,
    }
    conditions, values = _narrowed(sql, query, compared, sql.ENDED_HAS_TEXT)
    values.append(query.limit + 1)
    end = f"ORDER BY number DESC LIMIT {sql.PLACEHOLDER}{len(values)}"

    def walk(*more: str) -> str:
        where = _where([*more, *conditions])
        return f"SELECT * FROM (SELECT number FROM {sql.ENDED_TABLE} {where} {end}) walk"

    known = [state for state in State if state.value in query.states]
    if not query.states:
        return walk(), tuple(values)
    if State.COMPLETED in known:
        return walk(_state_in(query)), tuple(values)
    # One walk down the index of failures for each state, instead of a sort of all of them.
    walks = [walk(f"state = '{state}' AND state <> 'completed'") for state in known]
    together = " UNION ALL ".join(walks or [walk("false")])
    return f"SELECT number FROM ({together}) walks {end}", tuple(values)


def _narrowed(
    sql: ModuleType, query: Query, compared: dict[str, Any], has_text: str
) -> tuple[list[str], list[Any]]:
    conditions: list[str] = []
    values: list[Any] = []
    if query.text is not None:
        values += [query.text, escaped_text(query.text)]
        conditions.append(has_text)
    for comparison, value in compared.items():
        if value is not None:
            values.append(value)
            conditions.append(f"{comparison} {sql.PLACEHOLDER}{len(values)}")
    return conditions, values


def _where(conditions: list[str]) -> str:
    return f"WHERE {' AND '.join(conditions)}" if conditions else ""


def _state_in(query: Query) -> str:
    """Name the states; SQLite uses a partial index only if a single state is compared by `=`."""
    known = [repr(state.value) for state in State if state.value in query.states]
    return f"state = {known[0]}" if len(known) == 1 else f"state IN ({', '.join(known)})"
