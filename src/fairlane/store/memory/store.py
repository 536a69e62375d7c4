"""A store in memory, for tests, simulations and jobs that need not survive the process.

It behaves as the SQLite store does, with the same constraints. Handles that share a
`MemoryDatabase` stand for processes on one file, so that tests of a standby need no disk.
"""

import copy
import json
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence, Set
from datetime import UTC, datetime
from functools import partial
from itertools import chain, islice
from typing import Any, Final

import msgspec

from fairlane.core.decisions import Changes, Start
from fairlane.core.inputs import Submission
from fairlane.core.lifecycle import Priority, State
from fairlane.core.live_job import JobId, LiveJob
from fairlane.errors import NotLeading
from fairlane.redaction import MASK, without_secrets
from fairlane.store.columns import (
    DETAIL,
    ENDED,
    JOB,
    TYPES,
    StoredJob,
    common,
    rows_maker,
    without,
)
from fairlane.store.memory.tables import EndedRow, MemoryDatabase
from fairlane.store.protocol import Image, InboxRow, Writing
from fairlane.store.prune import PIECE, Pruned, Pruning
from fairlane.store.view_building import (
    LATELY,
    ActiveJob,
    created_view,
    cursor_of,
    escaped_text,
    lane_views,
    lanes_of,
    medians,
    submissions_in,
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

_object: Final = msgspec.json.Decoder(dict[str, Any])

_STORED: Final = common(StoredJob.__struct_fields__, (*JOB, *DETAIL))
_LIVE_ONLY: Final = without(common(_STORED, JOB), *ENDED)
_stored_values: Final = rows_maker(_STORED, {"job": LiveJob, "submission": Submission})


class MemoryStore:
    address = "memory://"
    single_process = True

    def __init__(self, database: MemoryDatabase | None = None) -> None:
        self._database = database or MemoryDatabase()
        self._epoch: int | None = None

    async def open(self) -> None: ...

    async def close(self) -> None:
        await self.resign()

    def abandon(self) -> None:
        """Start with an empty database: the parent of the fork runs the jobs."""
        self._database = MemoryDatabase()
        self._epoch = None

    # every process

    async def append(self, key: str, body: str, at: float) -> None:
        self._database.append(key, body, at)

    async def answers(self, keys: Sequence[str]) -> dict[str, str]:
        known = self._database.answers
        return {key: known[key][0] for key in keys if key in known}

    async def version(self) -> int:
        return self._database.version

    async def jobs(self, ids: Sequence[JobId]) -> dict[JobId, JobView]:
        with self._database.turn:
            workers = self._workers()
            found = {id: facts for id in ids if (facts := self._facts(id)) is not None}
            missing = {id for id in ids if id not in found}
            created = self._created(missing) if missing else {}
            views = {id: job_view(facts, workers) for id, facts in found.items()} | created
            return {id: views[id] for id in ids if id in views}

    async def submission(self, job: JobId) -> Submission | None:
        with self._database.turn:
            detail = self._database.details.get(job)
            if detail is None:
                return None
            given = copy.copy(detail.submission)
            given.depends_on, given.run_at, given.skip_reason = (), None, None
            given.schedule = given.fire_at = None
            given.priority, given.by_hand = Priority.NORMAL, False
            return given

    async def history(self, query: Query) -> Page:
        with self._database.turn:
            return self._history(query)

    async def live_jobs(self, query: Query) -> Page:
        with self._database.turn:
            fitting = (
                job
                for _, job in sorted(self._database.jobs.items(), reverse=True)
                if (query.cursor is None or job.id < query.cursor)
                and _fits(job, job.created_at, query)
            )
            seen = list(fitting if query.text is None else islice(fitting, query.look_through))
            floor = None if len(seen) < query.look_through or not query.text else seen[-1].id
            jobs = [job for job in seen if self._has_text(job, None, query.text)]
            shown, workers = jobs[: query.limit], self._workers()
            return Page(
                items=[job_view(self._live(job), workers) for job in shown],
                next=shown[-1].id if shown and len(jobs) > query.limit else floor,
            )

    async def last_seq(self) -> int:
        with self._database.turn:
            return self._seq()

    async def counts(self) -> dict[str, dict[str, int]]:
        return (await self.read_snapshot(waiting=0, ended=0)).counts

    async def jobs_behind(self, queue: str, *, after: Place, limit: int) -> list[JobView]:
        with self._database.turn:
            workers = self._workers()
            strict = self._strict_queues()
            line = [
                job
                for job in self._database.jobs.values()
                if job.queue == queue and job.state is not State.RUNNING and job.position
            ]
            line.sort(key=lambda job: _order(job, strict))
            place = (0 if queue in strict else after.priority, after.position)
            behind = (job for job in line if _order(job, strict)[1:3] > place)
            return [job_view(self._live(job), workers) for job in islice(behind, limit)]

    async def read_snapshot(
        self, *, waiting: int = 200, ended: int = 50, lanes: int = 200
    ) -> StoreSnapshot:
        with self._database.turn:
            database, workers = self._database, self._workers()
            running: list[LiveJob] = []
            lines: dict[str, list[LiveJob]] = {}
            counts: dict[str, dict[str, int]] = {}
            for job in database.jobs.values():
                of_queue = counts.setdefault(job.queue, {})
                of_queue[job.state.value] = of_queue.get(job.state.value, 0) + 1
                if job.state is State.RUNNING:
                    running.append(job)
                else:
                    lines.setdefault(job.queue, []).append(job)
            running.sort(key=lambda job: (job.started_at or 0.0, job.id))
            strict = self._strict_queues()
            for line in lines.values():
                line.sort(key=lambda job: _order(job, strict))
            shown = [job_view(self._live(job), workers) for job in running]
            first = {
                queue: [job_view(self._live(job), workers) for job in line[:waiting]]
                for queue, line in lines.items()
            }
            busy = [*shown, *chain(*first.values())]
            named = set(lanes_of(busy, sorted(database.lanes), lanes))
            return StoreSnapshot(
                seq=self._seq(),
                counts=counts,
                running=shown,
                waiting=first,
                ended=self._history(Query(limit=ended)).items,
                lanes=[one for one in self._lanes(None) if (one.queue, one.lane) in named],
                records=dict(database.records),
            )

    async def lanes(self, queue: str | None = None) -> list[LaneView]:
        with self._database.turn:
            return self._lanes(queue)

    async def events(self, after: int, limit: int) -> list[EventView] | None:
        with self._database.turn:
            events = self._database.events
            if after > self._seq() or (events and after < events[0].seq - 1):
                return None
            start = bisect_right(events, after, key=lambda row: row.seq)
            return [
                EventView(
                    seq=row.seq,
                    type=row.type,
                    at=datetime.fromtimestamp(row.at, UTC),
                    job=row.job,
                    queue=row.queue,
                    data=_object.decode(row.data),
                )
                for row in events[start : start + limit]
            ]

    async def log(self, job: JobId, *, limit: int = 1000) -> list[LogLine]:
        lines = self._database.logs.get(job, [])
        return [
            LogLine(datetime.fromtimestamp(at, UTC), level, message)
            for at, level, message in lines[max(0, len(lines) - limit) :]
        ]

    async def records(self, kind: str) -> dict[str, str]:
        with self._database.turn:
            records = self._database.records.items()
            return {name: body for (of, name), body in records if of == kind}

    async def firings(self, schedule: str, *, limit: int = 50) -> list[FiringView]:
        with self._database.turn:
            rows = sorted(self._database.firings.get(schedule, {}).items(), reverse=True)[:limit]
            return [
                FiringView(schedule, datetime.fromtimestamp(fire_at, UTC), job, count, reason)
                for fire_at, (job, count, reason) in rows
            ]

    async def durations(self) -> dict[str, float]:
        with self._database.turn:
            return medians(
                (row.job.task, row.ended_at - row.job.started_at)
                for row in islice(self._newest(), LATELY)
                if row.job.state is State.COMPLETED and row.job.started_at is not None
            )

    async def read_image(self, *, queue: str | None = None, limit: int | None = None) -> Image:
        with self._database.turn:
            database = self._database
            jobs = [job for job in database.jobs.values() if queue in (None, job.queue)]
            if limit is not None:
                strict = self._strict_queues()
                jobs.sort(key=lambda job: (job.state is not State.RUNNING, *_order(job, strict)))
                jobs = jobs[:limit]
            jobs.sort(key=lambda job: (job.position, job.id))
            return Image(
                jobs=[copy.copy(job) for job in jobs],
                dependencies=[
                    (job, on) for job, all in database.dependencies.items() for on in all
                ],
                records=dict(database.records),
                rate_starts=list(database.rate_starts),
                grants=[
                    (job, token, uses)
                    for job, grants in database.grants.items()
                    for token, uses in grants.items()
                ],
                seq=self._seq(),
            )

    async def prune(self, pruning: Pruning, since: Pruned) -> Pruned:
        with self._database.turn:
            numbers = sorted(self._database.ended)
            up_to = since.up_to
            if up_to is None and pruning.keep is not None:
                if len(numbers) <= pruning.keep:
                    return Pruned(is_done=True)
                up_to = numbers[-1 - pruning.keep]
            last = numbers[-1] if numbers and up_to is None else up_to or 0
            piece = [n for n in numbers if since.after < n <= last][:PIECE]
            rows = [self._database.ended[number] for number in piece]
            old = [r for r in rows if pruning.before is None or r.ended_at < pruning.before]
            needed = {on for each in self._database.dependencies.values() for on in each}
            gone = [row for row in old if pruning.fits(row.job) and row.job.id not in needed]
            if not pruning.dry_run:
                self._database.prune(gone)
            return Pruned(
                jobs=len(gone),
                after=piece[-1] if piece else since.after,
                up_to=up_to,
                is_done=len(piece) < PIECE or not old,
            )

    # the leader

    async def lead(self) -> int | None:
        with self._database.turn:
            if self._database.leader not in (None, self):
                return None
            self._database.leader = self
            self._database.epoch += 1
            self._epoch = self._database.epoch
            return self._epoch

    async def resign(self) -> None:
        with self._database.turn:
            if self._database.leader is self:
                self._database.leader = None
            self._epoch = None

    async def leader(self) -> str | None:
        return None if self._database.leader is None else "this process"

    async def load(self) -> Image:
        self._leading()
        return await self.read_image()

    async def read_inbox(self, limit: int) -> list[InboxRow]:
        self._leading()
        with self._database.turn:
            database = self._database
            for row in [row for row in database.inbox.values() if row.key in database.answers]:
                database.forget(row.id)
            return [copy.copy(row) for row in islice(database.inbox.values(), limit)]

    async def ended_jobs(self, ids: Sequence[JobId]) -> dict[JobId, LiveJob]:
        self._leading()
        with self._database.turn:
            numbers = self._database.ended_numbers
            return {id: self._ended_job(id) for id in ids if id in numbers}

    async def payloads(self, starts: Sequence[Start]) -> Mapping[JobId, Payload]:
        self._leading()
        return self._payloads(starts)

    def _payloads(self, starts: Sequence[Start]) -> dict[JobId, Payload]:
        with self._database.turn:
            return {
                start.job: self._payload(start)
                for start in starts
                if start.job in self._database.details
            }

    def commit(self, changes: Changes, at: float) -> Writing:
        return Writing(partial(self._commit, _as_they_are(changes), at))

    async def _commit(self, changes: Changes, at: float) -> None:
        self._database.commit(changes, at=at, epoch=self._leading())

    def _leading(self) -> int:
        if self._epoch is None:
            raise NotLeading("this handle does not lead its database; call lead() and load first")
        return self._epoch

    # reads, while the lock of the database is held

    def _seq(self) -> int:
        events = self._database.events
        return events[-1].seq if events else 0

    def _workers(self) -> dict[str, WorkerName]:
        records = self._database.records.items()
        return worker_names({name: body for (kind, name), body in records if kind == "worker"})

    def _strict_queues(self) -> set[str]:
        bodies = {
            name: _object.decode(body)
            for (kind, name), body in self._database.records.items()
            if kind == "queue"
        }
        return {
            name
            for name, body in bodies.items()
            if {**body.get("code", {}), **body.get("operator", {})}.get("order") == "strict"
        }

    def _facts(self, id: JobId) -> StoredJob | None:
        database = self._database
        job = database.jobs.get(id)
        if job is not None:
            return self._live(job)
        number = database.ended_numbers.get(id)
        return None if number is None else self._past(database.ended[number])

    def _live(self, job: LiveJob) -> StoredJob:
        facts = self._of(job)
        facts.report, facts.reported_at = self._database.reports.get(job.id, (None, None))
        return facts

    def _past(self, row: EndedRow) -> StoredJob:
        facts = self._of(row.job)
        facts.ended_at, facts.error, facts.result = row.ended_at, row.error, row.result
        facts.report = row.report
        for name in _LIVE_ONLY:
            setattr(facts, name, None)
        return facts

    def _of(self, job: LiveJob) -> StoredJob:
        [values] = _stored_values([(job, self._database.details[job.id].submission)])
        return StoredJob(**dict(zip(_STORED, values, strict=True)))

    def _created(self, wanted: set[JobId]) -> dict[JobId, JobView]:
        return {
            item.id: created_view(item, row.at)
            for row in self._database.inbox.values()
            for item in submissions_in(row.body)
            if item.id in wanted
        }

    def _newest(self) -> Iterable[EndedRow]:
        ended = self._database.ended
        return (ended[number] for number in sorted(ended, reverse=True))

    def _history(self, query: Query) -> Page:
        cursor = cursor_of(query)
        fitting = (
            row
            for row in self._newest()
            if (cursor is None or row.number < cursor) and _fits(row.job, row.ended_at, query)
        )
        floor = None
        if query.text is not None:
            seen = list(islice(fitting, query.look_through))
            floor = None if len(seen) < query.look_through else seen[-1].number
            fitting = (row for row in seen if self._has_text(row.job, row.error, query.text))
        rows = list(islice(fitting, query.limit + 1))
        shown = rows[: query.limit]
        workers = self._workers()
        return Page(
            items=[job_view(self._past(row), workers) for row in shown],
            next=_text(shown[-1].number if shown and len(rows) > query.limit else floor),
        )

    def _has_text(self, job: LiveJob, error: str | None, text: str | None) -> bool:
        if text is None:
            return True
        given = self._database.details[job.id].submission
        params = given.params
        if '"secrets"' in given.options:  # a search must not reveal a secret
            shown = without_secrets(json.loads(params), given.options)
            others = [value for value in shown.values() if value != MASK]
            params = json.dumps(others, ensure_ascii=False)
        names = " ".join([job.id, job.task, job.lane or ""]).lower()
        inside = escaped_text(text).lower()
        texts = (params, given.meta, error or "")
        return text.lower() in names or any(inside in other.lower() for other in texts)

    def _lanes(self, queue: str | None) -> list[LaneView]:
        stored = [lane for lane in self._database.lanes.values() if queue in (None, lane.queue)]
        strict = self._strict_queues()
        best: dict[tuple[str, str], LiveJob] = {}
        for job in self._database.jobs.values():
            if job.lane is not None and queue in (None, job.queue):
                key = (job.queue, job.lane)
                if key not in best or _claim(job, strict) < _claim(best[key], strict):
                    best[key] = job
        active = [ActiveJob(*key, job.id, job.state) for key, job in best.items()]
        return lane_views(stored, active)

    def _ended_job(self, id: JobId) -> LiveJob:
        database = self._database
        submission = database.details[id].submission
        job = copy.copy(database.ended[database.ended_numbers[id]].job)
        for name in without(JOB, *ENDED):
            value = getattr(submission, name) if name in DETAIL else TYPES[name].empty
            setattr(job, name, value)
        return job

    def _payload(self, start: Start) -> Payload:
        database = self._database
        submission = database.details[start.job].submission
        lane = None
        if start.kind == "continue" and start.lane is not None:
            lane = database.lanes.get((start.queue, start.lane))
        return Payload(
            params=submission.params,
            meta=submission.meta,
            options=submission.options,
            report=database.reports.get(start.job, (None, 0.0))[0],
            checkpoint=lane.checkpoint if lane else None,
            stored_values=dict(database.stored_values.get(start.job, {})),
        )


def _order(job: LiveJob, strict: Set[str]) -> tuple[Any, ...]:
    """Return the sort key of a queue; jobs that wait for dependencies have no position."""
    return job.position == "", 0 if job.queue in strict else job.priority, job.position, job.id


def _claim(job: LiveJob, strict: Set[str]) -> tuple[Any, ...]:
    """Return the sort key of a lane: the running job, then the one that holds it, then the next."""
    return job.state is not State.RUNNING, not job.holds_lane, *_order(job, strict)


def _fits(job: LiveJob, at: float, query: Query) -> bool:
    return (
        (not query.states or job.state.value in query.states)
        and query.task in (None, job.task)
        and query.queue in (None, job.queue)
        and query.lane in (None, job.lane)
        and (query.since is None or at >= query.since)
        and (query.until is None or at < query.until)
    )


def _text(number: int | None) -> str | None:
    return None if number is None else str(number)


def _as_they_are(changes: Changes) -> Changes:
    """Return a copy of the changes, with copies of their jobs."""
    return msgspec.structs.replace(
        changes,
        entered={id: copy.copy(job) for id, job in changes.entered.items()},
        changed={id: copy.copy(job) for id, job in changes.changed.items()},
    )
