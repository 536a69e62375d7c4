"""What readers and the leader ask; the caller holds the transaction."""

# ruff: noqa: S608  every name that is put into SQL here is one of our own; values are bound.

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain
from operator import attrgetter
from typing import Any

import asyncpg
import msgspec

from fairlane.core.decisions import Start
from fairlane.core.inputs import Submission
from fairlane.core.lifecycle import State
from fairlane.core.live_job import JobId, LiveJob, terms_from_text
from fairlane.store.columns import StoredJob, jobs_from_rows
from fairlane.store.postgres import statements
from fairlane.store.postgres.address import Address
from fairlane.store.postgres.connection import Connection
from fairlane.store.postgres.event_pages import events_in
from fairlane.store.postgres.nul_escape import plain
from fairlane.store.protocol import Image
from fairlane.store.view_building import (
    LATELY,
    ActiveJob,
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
    Picture,
    Place,
    Query,
    WorkerName,
    job_view,
    worker_names,
)

_object = msgspec.json.Decoder(dict[str, Any])


class Reading:
    """Questions on one connection."""

    def __init__(self, connection: Connection, address: Address) -> None:
        self._connection = connection
        self._address = address

    async def _rows(self, sql: str, *values: Any) -> list[asyncpg.Record]:
        return await self._connection.fetch(self._address.sql(sql), *values)

    async def _value(self, sql: str, *values: Any) -> Any:
        return await self._connection.fetchval(self._address.sql(sql), *values)

    # what readers ask

    async def jobs(self, ids: Sequence[JobId]) -> dict[JobId, JobView]:
        workers = await self._workers()
        views: dict[JobId, JobView] = {}
        missing = list(ids)
        for sql in (statements.LIVE_JOBS, statements.ENDED_JOBS):
            if missing:
                for row in await self._rows(sql, missing):
                    facts = facts_in(row)
                    views[facts.id] = job_view(facts, workers)
                missing = [id for id in missing if id not in views]
        if missing:
            wanted = set(missing)
            for body, at in await self._rows(statements.CREATED_JOBS, missing):
                for item in submissions_in(body):
                    if item.id in wanted:
                        views[item.id] = created_view(item, at)
        return {id: views[id] for id in ids if id in views}

    async def _workers(self) -> dict[str, WorkerName]:
        return worker_names(await self.records("worker"))

    async def history(self, query: Query) -> Page:
        floor = None if query.text is None else await self._floor(history_numbers(window_of(query)))
        numbers, values = history_numbers(query, floor)
        rows = await self._rows(statements.HISTORY.format(numbers=numbers), *values)
        workers = await self._workers()
        shown = rows[: query.limit]
        return Page(
            items=[job_view(facts_in(row[1:]), workers) for row in map(tuple, shown)],
            next=str(shown[-1][0]) if shown and len(rows) > query.limit else floor and str(floor),
        )

    async def live(self, query: Query) -> Page:
        floor = None if query.text is None else await self._floor(live_ids(window_of(query)))
        ids, values = live_ids(query, floor)
        rows = await self._rows(statements.LISTED.format(ids=ids), *values)
        workers = await self._workers()
        shown = [facts_in(row) for row in rows[: query.limit]]
        return Page(
            items=[job_view(facts, workers) for facts in shown],
            next=shown[-1].id if shown and len(rows) > query.limit else floor,
        )

    async def _floor(self, window: tuple[str, list[Any]]) -> Any:
        """Return the last of a window that is full; None if nothing comes after it."""
        sql, values = window
        return await self._value(
            f"SELECT * FROM ({sql}) seen LIMIT 1 OFFSET ${len(values)} - 1", *values
        )

    async def counts(self) -> dict[str, dict[str, int]]:
        by_queue: dict[str, dict[str, int]] = {}
        for queue, state, amount in await self._rows(statements.COUNTS):
            by_queue.setdefault(queue, {})[state] = amount
        return by_queue

    async def picture(self, *, waiting: int, ended: int, lanes: int) -> Picture:
        kept = await self.all_records()
        workers = worker_names(
            {name: body for (kind, name), body in kept.items() if kind == "worker"}
        )
        by_queue = await self.counts()
        rows = await self._rows(statements.RUNNING_JOBS)
        running = [job_view(facts_in(row), workers) for row in rows]
        first = {
            queue: [job_view(facts_in(row), workers) for row in rows]
            for queue in by_queue
            if (rows := await self._rows(statements.WAITING_JOBS, queue, waiting))
        }
        return Picture(
            seq=await self.last_seq(),
            counts=by_queue,
            running=running,
            waiting=first,
            ended=(await self.history(Query(limit=ended))).items,
            lanes=await self._lanes_shown([*running, *chain(*first.values())], lanes),
            records=kept,
        )

    async def line(self, queue: str, *, after: Place, limit: int) -> list[JobView]:
        workers = await self._workers()
        rows = await self._rows(statements.LINE, queue, after.priority, after.position, limit)
        return [job_view(facts_in(row), workers) for row in rows]

    async def _lanes_shown(self, jobs: list[JobView], limit: int) -> list[LaneView]:
        known = [(queue, lane) for queue, lane in await self._rows(statements.LANE_NAMES, limit)]
        shown = lanes_of(jobs, known, limit)
        named = [queue for queue, _ in shown], [lane for _, lane in shown]
        stored = await self._rows(statements.LANES_NAMED, *named)
        active = await self._rows(statements.ACTIVE_NAMED, *named)
        return _lane_views(stored, active)

    async def lanes(self, queue: str | None) -> list[LaneView]:
        if queue is None:
            stored = await self._rows(statements.LANES)
            active = await self._rows(statements.ACTIVE)
        else:
            stored = await self._rows(statements.LANES_OF_QUEUE, queue)
            active = await self._rows(statements.ACTIVE_OF_QUEUE, queue)
        return _lane_views(stored, active)

    async def events(self, after: int, limit: int) -> list[EventView] | None:
        rows = await self._rows(statements.EVENTS, after, limit)
        oldest, newest = rows[0]["oldest"], rows[0]["newest"]
        if newest is None:
            oldest, newest = 1, 0
        if after > newest or after < oldest - 1:
            return None
        bodies = (row["body"] for row in rows if row["body"] is not None)
        return events_in(bodies, after=after, limit=limit)

    async def log(self, job: JobId, limit: int) -> list[LogLine]:
        return [
            LogLine(datetime.fromtimestamp(at, UTC), level, plain(message))
            for at, level, message in await self._rows(statements.LOG, job, limit)
        ]

    async def records(self, kind: str) -> dict[str, str]:
        rows = await self._rows(statements.RECORDS_OF_KIND, kind)
        return {name: body for _, name, body in rows}

    async def all_records(self) -> dict[tuple[str, str], str]:
        rows = await self._rows(statements.RECORDS)
        return {(kind, name): body for kind, name, body in rows}

    async def firings(self, schedule: str, limit: int) -> list[FiringView]:
        return [
            FiringView(name, datetime.fromtimestamp(fire_at, UTC), job, count, reason)
            for name, fire_at, job, count, reason in await self._rows(
                statements.FIRINGS, schedule, limit
            )
        ]

    async def durations(self) -> dict[str, float]:
        rows = await self._rows(statements.DURATIONS, LATELY)
        return medians((task, seconds) for task, seconds in rows)

    async def last_seq(self) -> int:
        seq: int = await self._value(statements.LAST_SEQ)
        return seq

    async def version(self) -> int:
        """Commits count first: a number of the inbox may be lower after one has emptied it."""
        committed, appended = (await self._rows(statements.VERSION))[0]
        return int(committed) << 64 | int(appended)

    async def answers(self, keys: Sequence[str]) -> dict[str, str]:
        rows = await self._rows(statements.ANSWERS, list(keys))
        return {row["key"]: row["body"] for row in rows}

    async def submission(self, job: JobId) -> Submission | None:
        rows = await self._rows(statements.SUBMISSION, job)
        if not rows:
            return None
        task, queue, lane, kind, terms, dedupe, digest, bucket, params, meta, options = rows[0]
        return Submission(
            id=job, task=task, queue=queue, lane=lane, kind=kind, terms=terms_from_text(terms),
            dedupe=dedupe, digest=digest, bucket=bucket, params=params, meta=meta, options=options,
        )  # fmt: skip

    # what the core is rebuilt from

    async def image(self, *, queue: str | None, limit: int | None) -> Image:
        """Read the whole state; of a part, what runs and then what comes next."""
        if queue is None and limit is None:
            jobs = await self._all_jobs()
        else:
            jobs = jobs_from_rows(await self._rows(statements.IMAGE_OF_FIRST, queue, limit))
        jobs.sort(key=attrgetter("position", "id"))
        return Image(
            jobs=jobs,
            dependencies=[(job, on) for job, on in await self._rows(statements.DEPENDENCIES)],
            records=await self.all_records(),
            takes=[(key, at, job) for key, at, job in await self._rows(statements.TAKES)],
            grants=[(job, token, uses) for job, token, uses in await self._rows(statements.GRANTS)],
            seq=await self.last_seq(),
        )

    async def _all_jobs(self) -> list[LiveJob]:
        """Walk over the table once, a piece at a time, so that it is never in memory twice.

        Asked for in an order, the server would sort all of it: of a table that has grown fast it
        does not know that an index has that order.
        """
        jobs: list[LiveJob] = []
        cursor = await self._connection.cursor(self._address.sql(statements.IMAGE))
        while piece := jobs_from_rows(await cursor.fetch(statements.CHUNK)):
            jobs += piece
        return jobs

    async def ended_jobs(self, ids: Sequence[JobId]) -> dict[JobId, LiveJob]:
        rows = await self._rows(statements.ENDED_AS_JOBS, list(ids))
        return {job.id: job for job in jobs_from_rows(rows)}

    async def payloads(self, starts: Sequence[Start]) -> Mapping[JobId, Payload]:
        rows = await self._rows(
            statements.PAYLOADS,
            [start.job for start in starts],
            [start.queue for start in starts],
            [start.lane if start.kind == "continue" else None for start in starts],
        )
        return {
            id: Payload(params, meta, options, report, checkpoint, dict(kept or ()))
            for id, params, meta, options, report, checkpoint, kept in rows
        }


def facts_in(row: Iterable[Any]) -> StoredJob:
    return msgspec.convert(tuple(row), StoredJob)


def _lane_views(stored: Sequence[Any], active: Sequence[Any]) -> list[LaneView]:
    return lane_views(
        [StoredLane(*row) for row in stored],
        [ActiveJob(queue, lane, id, State(state)) for queue, lane, id, state in active],
    )


def live_ids(query: Query, floor: str | None = None) -> tuple[str, list[Any]]:
    """Return the SQL that finds the ids of one page, and one more that tells of a next page."""
    compared = {
        "task =": query.task,
        "queue =": query.queue,
        "lane =": query.lane,
        "created_at >=": query.since,
        "created_at <": query.until,
        "id <": query.cursor,
        "id >=": floor,
    }
    conditions, values = _narrowed(query, compared, statements.LIVE_HAS_TEXT)
    if query.states:
        conditions.append(_state_in(query))
    values.append(query.limit + 1)
    where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
    return f"SELECT id FROM fairlane.live {where} ORDER BY id DESC LIMIT ${len(values)}", values


def _narrowed(query: Query, compared: dict[str, Any], has_text: str) -> tuple[list[str], list[Any]]:
    conditions: list[str] = []
    values: list[Any] = []
    if query.text is not None:
        values += [query.text, escaped_text(query.text)]
        conditions.append(has_text)
    for comparison, value in compared.items():
        if value is not None:
            values.append(value)
            conditions.append(f"{comparison} ${len(values)}")
    return conditions, values


def _state_in(query: Query) -> str:
    known = [repr(state.value) for state in State if state.value in query.states]
    return f"state IN ({', '.join(known)})"


def history_numbers(query: Query, floor: int | None = None) -> tuple[str, list[Any]]:
    """Return the SQL that finds the numbers of one page, and one more that tells of a next page."""
    compared = {
        "task =": query.task,
        "queue =": query.queue,
        "lane =": query.lane,
        "ended_at >=": query.since,
        "ended_at <": query.until,
        "number <": cursor_of(query),
        "number >=": floor,
    }
    conditions, values = _narrowed(query, compared, statements.ENDED_HAS_TEXT)
    values.append(query.limit + 1)
    end = f"ORDER BY number DESC LIMIT ${len(values)}"
    known = [state for state in State if state.value in query.states]
    if query.states and State.COMPLETED not in known:
        # One walk down the index of failures for each state asked for, instead of a sort of all.
        walks = [
            _walk([f"state = '{state}' AND state <> 'completed'", *conditions], end)
            for state in known
        ]
        together = " UNION ALL ".join(walks or [_walk(["false", *conditions], end)])
        return f"SELECT number FROM ({together}) walks {end}", values
    if query.states:
        conditions.append(_state_in(query))
    return _walk(conditions, end), values


def _walk(conditions: list[str], end: str) -> str:
    where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
    return f"(SELECT number FROM fairlane.ended {where} {end})"
