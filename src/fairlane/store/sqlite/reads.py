"""What readers and the leader ask; the caller holds the transaction."""

# ruff: noqa: S608  every name that is put into SQL here is one of our own; values are bound.

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import chain
from operator import attrgetter
from typing import Any

import apsw
import msgspec

from fairlane.core.decisions import Start
from fairlane.core.inputs import Submission
from fairlane.core.lifecycle import State
from fairlane.core.live_job import JobId, LiveJob, terms_from_text
from fairlane.store.columns import StoredJob
from fairlane.store.protocol import Image, InboxRow
from fairlane.store.sqlite import statements
from fairlane.store.sqlite.rows import EventRow, PayloadRow, fetched, jobs_in, texts
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


def _workers(connection: apsw.Connection) -> dict[str, WorkerName]:
    return worker_names(records(connection, "worker"))


def jobs(connection: apsw.Connection, ids: Sequence[JobId]) -> dict[JobId, JobView]:
    workers = _workers(connection)
    found = fetched(connection, StoredJob, statements.LIVE_JOBS, texts(ids))
    views = {facts.id: job_view(facts, workers) for facts in found}
    missing = [id for id in ids if id not in views]
    if missing:
        found = fetched(connection, StoredJob, statements.ENDED_JOBS, texts(missing))
        views |= {facts.id: job_view(facts, workers) for facts in found}
        missing = [id for id in missing if id not in views]
    if missing:
        wanted = set(missing)
        for body, at in fetched(
            connection, tuple[str, float], statements.CREATED_JOBS, texts(missing)
        ):
            for item in submissions_in(body):
                if item.id in wanted:
                    views[item.id] = created_view(item, at)
    return {id: views[id] for id in ids if id in views}


def history(connection: apsw.Connection, query: Query) -> Page:
    floor = None if query.text is None else _floor(connection, *history_numbers(window_of(query)))
    numbers, values = history_numbers(query, floor)
    sql = statements.HISTORY.format(numbers=numbers)
    rows = fetched(connection, tuple[int, StoredJob], sql, *values)
    workers = _workers(connection)
    shown = rows[: query.limit]
    return Page(
        items=[job_view(facts, workers) for _, facts in shown],
        next=str(shown[-1][0]) if shown and len(rows) > query.limit else floor and str(floor),
    )


def live(connection: apsw.Connection, query: Query) -> Page:
    floor = None if query.text is None else _floor(connection, *live_ids(window_of(query)))
    ids, values = live_ids(query, floor)
    rows = fetched(connection, StoredJob, statements.LISTED.format(ids=ids), *values)
    workers = _workers(connection)
    shown = rows[: query.limit]
    return Page(
        items=[job_view(facts, workers) for facts in shown],
        next=shown[-1].id if shown and len(rows) > query.limit else floor,
    )


def _floor(connection: apsw.Connection, window: str, values: list[Any]) -> Any:
    """Return the last of a window that is full; None if nothing comes after it."""
    last = f"SELECT * FROM ({window}) LIMIT 1 OFFSET ?{len(values)} - 1"
    return connection.execute(last, values).get


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
    # Those that run are few: to sort them is less than to walk past all that wait.
    order = "+id" if query.states == ("running",) else "id"
    return f"SELECT id FROM job {where} ORDER BY {order} DESC LIMIT ?{len(values)}", values


def _narrowed(query: Query, compared: dict[str, Any], has_text: str) -> tuple[list[str], list[Any]]:
    conditions: list[str] = []
    values: list[Any] = []
    if query.text is not None:
        values += [query.text, escaped_text(query.text)]
        conditions.append(has_text)
    for comparison, value in compared.items():
        if value is not None:
            values.append(value)
            conditions.append(f"{comparison} ?{len(values)}")
    return conditions, values


def _state_in(query: Query) -> str:
    """Name the states; SQLite knows that an index fits only if a single one is named so."""
    known = [repr(state.value) for state in State if state.value in query.states]
    return f"state = {known[0]}" if len(known) == 1 else f"state IN ({', '.join(known)})"


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
    end = f"ORDER BY number DESC LIMIT ?{len(values)}"
    known = [state for state in State if state.value in query.states]
    if query.states and State.COMPLETED not in known:
        # One walk down the index of failures for each state asked for, instead of a sort of all.
        walks = [
            _walk([f"state = '{state}' AND state <> 'completed'", *conditions], end)
            for state in known
        ]
        together = " UNION ALL ".join(walks or ["SELECT NULL AS number LIMIT 0"])
        return f"SELECT * FROM ({together}) {end}", values
    if query.states:
        conditions.append(_state_in(query))
    return _walk(conditions, end), values


def _walk(conditions: list[str], end: str) -> str:
    where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
    return f"SELECT * FROM (SELECT number FROM ended {where} {end})"


def counts(connection: apsw.Connection) -> dict[str, dict[str, int]]:
    by_queue: dict[str, dict[str, int]] = {}
    for queue, state, amount in fetched(connection, tuple[str, str, int], statements.COUNTS):
        by_queue.setdefault(queue, {})[state] = amount
    return by_queue


def picture(connection: apsw.Connection, *, waiting: int, ended: int, lanes: int) -> Picture:
    kept = all_records(connection)
    workers = worker_names({name: body for (kind, name), body in kept.items() if kind == "worker"})
    by_queue = counts(connection)
    running = [
        job_view(facts, workers)
        for facts in fetched(connection, StoredJob, statements.RUNNING_JOBS)
    ]
    first = {
        queue: [job_view(facts, workers) for facts in rows]
        for queue in by_queue
        if (rows := fetched(connection, StoredJob, statements.WAITING_JOBS, queue, waiting))
    }
    return Picture(
        seq=last_seq(connection),
        counts=by_queue,
        running=running,
        waiting=first,
        ended=history(connection, Query(limit=ended)).items,
        lanes=_lanes_shown(connection, [*running, *chain(*first.values())], lanes),
        records=kept,
    )


def line(connection: apsw.Connection, *, queue: str, after: Place, limit: int) -> list[JobView]:
    workers = _workers(connection)
    rows = fetched(
        connection, StoredJob, statements.LINE, queue, after.priority, after.position, limit
    )
    return [job_view(facts, workers) for facts in rows]


def _lanes_shown(connection: apsw.Connection, jobs: list[JobView], limit: int) -> list[LaneView]:
    """Show lanes by what is known of their jobs already; only of the others all jobs are looked at.

    The first job that is shown of a lane stands for it, unless one further back holds it.
    """
    known = fetched(connection, tuple[str, str], statements.LANE_NAMES, limit)
    names = lanes_of(jobs, known, limit)
    named = msgspec.json.encode(names).decode()
    shown = {(job.queue, job.lane): job for job in reversed(jobs)}
    held = fetched(connection, ActiveJob, statements.HOLDERS_NAMED, named)
    active = {(job.queue, job.lane): job for job in held}
    for key in names:
        if key in shown and (key not in active or shown[key].state == State.RUNNING):
            active[key] = ActiveJob(*key, shown[key].id, State(shown[key].state))
    others = [key for key in names if key not in active]
    if others:
        rest = msgspec.json.encode(others).decode()
        found = fetched(connection, ActiveJob, statements.ACTIVE_NAMED, rest)
        active |= {(job.queue, job.lane): job for job in found}
    stored = fetched(connection, StoredLane, statements.LANES_NAMED, named)
    return lane_views(stored, active.values())


def lanes(connection: apsw.Connection, queue: str | None) -> list[LaneView]:
    if queue is None:
        stored = fetched(connection, StoredLane, statements.LANES)
        active = fetched(connection, ActiveJob, statements.ACTIVE)
    else:
        stored = fetched(connection, StoredLane, statements.LANES_OF_QUEUE, queue)
        active = fetched(connection, ActiveJob, statements.ACTIVE_OF_QUEUE, queue)
    return lane_views(stored, active)


def events(connection: apsw.Connection, after: int, limit: int) -> list[EventView] | None:
    ends = fetched(connection, tuple[int, int], statements.EVENT_RANGE)
    oldest, newest = ends[0] if ends else (1, 0)
    if after > newest or after < oldest - 1:
        return None
    return [
        EventView(
            seq=row.seq,
            type=row.type,
            at=datetime.fromtimestamp(row.at, UTC),
            job=row.job,
            queue=row.queue,
            data=_object.decode(row.data),
        )
        for row in fetched(connection, EventRow, statements.EVENTS, after, limit)
    ]


def log(connection: apsw.Connection, job: JobId, limit: int) -> list[LogLine]:
    return [
        LogLine(datetime.fromtimestamp(at, UTC), level, message)
        for at, level, message in fetched(
            connection, tuple[float, str, str], statements.LOG, job, limit
        )
    ]


def records(connection: apsw.Connection, kind: str) -> dict[str, str]:
    rows = fetched(connection, tuple[str, str, str], statements.RECORDS_OF_KIND, kind)
    return {name: body for _, name, body in rows}


def all_records(connection: apsw.Connection) -> dict[tuple[str, str], str]:
    rows = fetched(connection, tuple[str, str, str], statements.RECORDS)
    return {(kind, name): body for kind, name, body in rows}


def firings(connection: apsw.Connection, schedule: str, limit: int) -> list[FiringView]:
    rows = fetched(
        connection,
        tuple[str, float, JobId | None, int, str | None],
        statements.FIRINGS,
        schedule,
        limit,
    )
    return [
        FiringView(name, datetime.fromtimestamp(fire_at, UTC), job, count, reason)
        for name, fire_at, job, count, reason in rows
    ]


def durations(connection: apsw.Connection) -> dict[str, float]:
    return medians(fetched(connection, tuple[str, float], statements.DURATIONS, LATELY))


def image(connection: apsw.Connection, *, queue: str | None, limit: int | None) -> Image:
    """Read the whole state; of a part, what runs and then what comes next."""
    if queue is None and limit is None:
        jobs = _all_jobs(connection)
    else:
        first = (queue, -1 if limit is None else limit)
        jobs = jobs_in(connection.execute(statements.IMAGE_OF_FIRST, first).get)
        jobs.sort(key=attrgetter("id"))
    jobs.sort(key=attrgetter("position"))
    return Image(
        jobs=jobs,
        dependencies=fetched(connection, tuple[JobId, JobId], statements.DEPENDENCIES),
        records=all_records(connection),
        takes=fetched(connection, tuple[str, float, JobId], statements.TAKES),
        grants=fetched(connection, tuple[JobId, str, str], statements.GRANTS),
        seq=last_seq(connection),
    )


def _all_jobs(connection: apsw.Connection) -> list[LiveJob]:
    """Walk down the table a piece at a time: to sort it in SQL takes memory for all of it twice."""
    jobs: list[LiveJob] = []
    while piece := jobs_in(
        connection.execute(statements.IMAGE, (jobs[-1].id if jobs else "",)).get
    ):
        jobs += piece
    connection.pragma("shrink_memory")  # of the pages that were read none is needed soon
    return jobs


def answers(connection: apsw.Connection, keys: Sequence[str]) -> dict[str, str]:
    return dict(fetched(connection, tuple[str, str], statements.ANSWERS, texts(keys)))


def take(connection: apsw.Connection, limit: int) -> list[InboxRow]:
    while True:
        rows = fetched(connection, tuple[int, str, str, float, int], statements.TAKE, limit)
        answered = [id for id, _, _, _, done in rows if done]
        if answered:
            connection.execute(statements.DROP, (msgspec.json.encode(answered).decode(),))
        fresh = [InboxRow(id, key, body, at) for id, key, body, at, done in rows if not done]
        if fresh or not answered:
            return fresh


def ended_jobs(connection: apsw.Connection, ids: Sequence[JobId]) -> dict[JobId, LiveJob]:
    jobs = jobs_in(connection.execute(statements.ENDED_AS_JOBS, (texts(ids),)).get)
    return {job.id: job for job in jobs}


def payloads(connection: apsw.Connection, starts: Sequence[Start]) -> dict[JobId, Payload]:
    wanted = [
        (start.job, start.queue, start.lane if start.kind == "continue" else None)
        for start in starts
    ]
    rows = fetched(
        connection, PayloadRow, statements.PAYLOADS, msgspec.json.encode(wanted).decode()
    )
    return {
        row.job: Payload(row.params, row.meta, row.options, row.report, row.checkpoint, row.kept)
        for row in rows
    }


def last_seq(connection: apsw.Connection) -> int:
    return connection.execute(statements.LAST_SEQ).get  # type: ignore[no-any-return]


def submission(connection: apsw.Connection, job: JobId) -> Submission | None:
    row = connection.execute(statements.SUBMISSION, (job,)).fetchone()
    if row is None:
        return None
    task, queue, lane, kind, terms, dedupe, digest, bucket, params, meta, options = row
    return Submission(
        id=job, task=task, queue=queue, lane=lane, kind=kind, terms=terms_from_text(terms),
        dedupe=dedupe, digest=digest, bucket=bucket, params=params, meta=meta, options=options,
    )  # fmt: skip
