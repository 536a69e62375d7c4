"""The tables of a store in memory, and its atomic commit.

Each write records how to undo it; when a write fails, the earlier writes are undone in reverse
order. So the cost of a commit depends on its changes, not on the size of the tables.
"""

import copy
from bisect import bisect_left
from collections.abc import Callable
from threading import RLock
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET, Struct

from fairlane.core.decisions import Changes, Ended, LaneChange
from fairlane.core.inputs import Submission
from fairlane.core.lifecycle import FINAL, LIVE, State
from fairlane.core.live_job import JobId, LiveJob
from fairlane.errors import NotLeading
from fairlane.store.protocol import InboxRow
from fairlane.store.view_building import StoredLane

K = TypeVar("K")
V = TypeVar("V")


class Clash(ValueError):
    """Changes that violate an invariant of the tables."""


class Detail(Struct):
    submission: Submission
    created_at: float


class EndedRow(Struct):
    number: int
    job: LiveJob
    ended_at: float
    result: str | None
    error: str | None
    report: str | None


class MemoryEvent(Struct):
    seq: int
    at: float
    type: str
    job: JobId | None
    queue: str | None
    data: str


class MemoryDatabase:
    def __init__(self, *, keep_events: int = 200_000, keep_seconds: float = 24 * 3600.0) -> None:
        self.turn = RLock()
        self.keep_events = keep_events
        self.keep_seconds = keep_seconds
        self.epoch = 0
        self.leader: object | None = None
        self.version = 0
        self.jobs: dict[JobId, LiveJob] = {}
        self.running: dict[tuple[str, str], JobId] = {}
        self.exclusive: dict[tuple[str, str], JobId] = {}
        self.dedupe: dict[str, JobId] = {}
        self.details: dict[JobId, Detail] = {}
        self.ended: dict[int, EndedRow] = {}
        self.ended_numbers: dict[JobId, int] = {}
        self.ended_last = 0
        self.reports: dict[JobId, tuple[str, float]] = {}  # body and time
        self.stored_values: dict[JobId, dict[str, str]] = {}
        self.logs: dict[JobId, list[tuple[float, str, str]]] = {}
        self.events: list[MemoryEvent] = []
        self.dependencies: dict[JobId, dict[JobId, None]] = {}
        self.rate_starts: list[tuple[str, float, JobId]] = []
        self.grants: dict[JobId, dict[str, str]] = {}
        self.lanes: dict[tuple[str, str], StoredLane] = {}
        self.records: dict[tuple[str, str], str] = {}
        self.firings: dict[str, dict[float, tuple[JobId | None, int, str | None]]] = {}
        self.inbox: dict[int, InboxRow] = {}
        self.inbox_keys: dict[str, int] = {}
        self.inbox_last = 0
        self.answers: dict[str, tuple[str, float]] = {}
        self.dead_letters: list[tuple[str, str, float]] = []
        self.beats: dict[str, int] = {}  # by worker, in a shared database
        self.messages: dict[str, list[tuple[int, str]]] = {}
        self._undo: list[Callable[[], Any]] = []

    def append(self, key: str, body: str, at: float) -> None:
        with self.turn:
            if key not in self.inbox_keys:
                self.inbox_last += 1
                self.inbox[self.inbox_last] = InboxRow(self.inbox_last, key, body, at)
                self.inbox_keys[key] = self.inbox_last
                self.version += 1

    def forget(self, inbox_id: int) -> None:
        row = self.inbox.get(inbox_id)
        if row is not None:
            self._drop(self.inbox, inbox_id)
            self._drop(self.inbox_keys, row.key)

    def commit(self, changes: Changes, *, at: float, epoch: int) -> None:
        with self.turn:
            if epoch != self.epoch:
                raise NotLeading("another handle leads this database now; load again")
            try:
                self._write(changes, at)
            except BaseException:
                while self._undo:
                    self._undo.pop()()
                raise
            self._undo.clear()
            self.version += 1
            self._sweep(at)

    def prune(self, rows: list[EndedRow]) -> None:
        """Delete ended jobs with their logs and stored values."""
        for row in rows:
            id = row.job.id
            schedule = self.details[id].submission.schedule
            firings = self.firings.get(schedule, {}) if schedule is not None else {}
            for fire_at in sorted(firings)[:-1]:
                if fire_at <= row.job.created_at and firings[fire_at][0] in (None, id):
                    del firings[fire_at]
            del self.ended[row.number], self.ended_numbers[id], self.details[id]
            self.logs.pop(id, None)
            self.stored_values.pop(id, None)
            self.dependencies.pop(id, None)
        self.version += 1

    # The order is that of the commit on SQLite, for the same reasons.
    def _write(self, changes: Changes, at: float) -> None:
        left = set(changes.left)
        for id in changes.left:
            self._remove_job(id)
        live = [job for id, job in changes.changed.items() if id not in left]
        waiting = [job for job in live if job.state is not State.RUNNING]
        for job in (*waiting, *(job for job in live if job.state is State.RUNNING)):
            if job.id in self.jobs:
                self._remove_job(job.id)
                self._insert_job(job)
        for id, job in changes.entered.items():
            if id not in left:
                self._insert_job(job)
        for submission in changes.submitted:
            self._insert_detail(submission, changes, at)
        for id in changes.revived:
            self._revive(id)
        for id, body in changes.reports.items():
            self._put(self.reports, id, (body, at))
        for id, name, value in changes.stored_values:
            if value is None:
                self._drop(self.stored_values.get(id, {}), name)
            else:
                self._put(self._inner(self.stored_values, id), name, value)
        for ended in changes.ended.values():
            self._end(ended)
        for id, on in changes.dependencies:
            self._insert(self._inner(self.dependencies, id), on, None)
        for id in changes.settled:
            self._drop(self.dependencies, id)
        for id, on in changes.met_dependencies:
            self._drop(self.dependencies.get(id, {}), on)
        for id, moment, level, message in changes.logs:
            self._append(self.logs.setdefault(id, []), (moment, level, message))
        if changes.returned_rate_starts:  # first: a start at the same instant is another one
            gone = set(changes.returned_rate_starts)
            self._replace_starts([s for s in self.rate_starts if s not in gone])
        for start in changes.rate_starts:
            self._append(self.rate_starts, start)
        for id, token, uses in changes.grants:
            self._put(self._inner(self.grants, id), token, uses)
        for id, token in changes.releases:
            self._drop(self.grants.get(id, {}), token)
        for id in (*changes.left, *(job.id for job in waiting)):
            self._drop(self.grants, id)
        for key, change in changes.lanes.items():
            self._change_lane(key, change)
        for key, record in changes.records.items():
            self._keep_record(*key, record)
        for worker, number, body in changes.messages:
            self._append(self.messages.setdefault(worker, []), (number, body))
        for firing in changes.firings:
            row = (firing.job, firing.count, firing.reason)
            self._insert(self._inner(self.firings, firing.schedule), firing.fire_at, row)
        for event in changes.events:
            if self.events and event.seq <= self.events[-1].seq:
                raise Clash(f"event {event.seq} is not above {self.events[-1].seq}")
            data = _text(event.data)
            self._append(
                self.events,
                MemoryEvent(event.seq, event.at, event.type, event.job, event.queue, data),
            )
        for answered, body in changes.answers.items():
            self._put(self.answers, answered, (body, at))
        for inbox_id in changes.consumed:
            self.forget(inbox_id)
        for item in changes.dead_letters:
            self._append(self.dead_letters, item)

    def _keep_record(self, kind: str, name: str, body: str | None) -> None:
        """Store a record; with the record of a worker, delete its lease and its messages."""
        if body is None:
            self._drop(self.records, (kind, name))
        else:
            self._put(self.records, (kind, name), body)
        if kind == "worker" and body is None:
            self._drop(self.beats, name)
            self._drop(self.messages, name)

    def _insert_job(self, job: LiveJob) -> None:
        if job.state not in LIVE:
            raise Clash(f"job {job.id} is {job.state}, which is not a live state")
        self._insert(self.jobs, job.id, copy.copy(job))
        for index, key in self._indexed(job):
            self._insert(index, key, job.id)

    def _remove_job(self, id: JobId) -> None:
        job = self.jobs.get(id)
        if job is not None:
            self._drop(self.jobs, id)
            for index, key in self._indexed(job):
                self._drop(index, key)

    def _indexed(self, job: LiveJob) -> list[tuple[dict[Any, JobId], Any]]:
        """Return the unique indexes that a job is in, with its key in each."""
        found: list[tuple[dict[Any, JobId], Any]] = []
        if job.lane is not None and job.state is State.RUNNING:
            found.append((self.running, (job.queue, job.lane)))
        if job.lane is not None and job.exclusive:
            found.append((self.exclusive, (job.queue, job.lane)))
        if job.dedupe is not None:
            found.append((self.dedupe, job.dedupe))
        return found

    def _insert_detail(self, submission: Submission, changes: Changes, at: float) -> None:
        id = submission.id
        ended = changes.ended.get(id)
        job = changes.entered.get(id) or (ended.job if ended else None)
        detail = Detail(copy.copy(submission), job.created_at if job else at)
        self._insert(self.details, id, detail)

    def _revive(self, id: JobId) -> None:
        number = self.ended_numbers.get(id)
        if number is None:
            raise Clash(f"job {id} is to run again and was pruned meanwhile")
        row = self.ended[number]
        if row.report is not None:
            self._put(self.reports, id, (row.report, row.ended_at))
        self._drop(self.ended, number)
        self._drop(self.ended_numbers, id)

    def _end(self, ended: Ended) -> None:
        job = ended.job
        if job.state not in FINAL:
            raise Clash(f"job {job.id} is {job.state}, which is not a final state")
        self.ended_last += 1
        number = self.ended_last
        last_report, _ = self.reports.get(job.id, (None, None))
        row = EndedRow(
            number=number,
            job=copy.copy(job),
            ended_at=ended.ended_at,
            result=ended.result,
            error=None if ended.error is None else _text(ended.error),
            report=last_report if ended.report is None else ended.report,
        )
        self._insert(self.ended_numbers, job.id, number)
        self._insert(self.ended, number, row)
        self._drop(self.reports, job.id)
        if job.state is State.COMPLETED or ended.forget:
            self._drop(self.stored_values, job.id)

    def _change_lane(self, key: tuple[str, str], change: LaneChange) -> None:
        lane = copy.copy(self.lanes.get(key)) or StoredLane(*key, None, None, None, None)
        if change.status is not UNSET:
            lane.status = change.status
        if change.job is not UNSET:
            lane.last_job = change.job
        if change.params is not UNSET:
            lane.params = change.params
        if change.adopt is not UNSET and change.adopt in self.ended_numbers:
            ended = self.ended[self.ended_numbers[change.adopt]]
            if ended.report is not None:
                lane.checkpoint = _text(msgspec.json.decode(ended.report).get("checkpoint") or {})
            elif ended.job.kind == "start":
                lane.checkpoint = None  # the job started without a checkpoint and left none
        self._put(self.lanes, key, lane)

    def _sweep(self, at: float) -> None:
        """Delete old rows, in the same amounts as the stores on disk."""
        if len(self.events) - self.keep_events >= min(5_000, self.keep_events):
            del self.events[: bisect_left(
                self.events, self.events[-1].seq - self.keep_events + 1, key=lambda row: row.seq
            )]  # fmt: skip
        before = at - self.keep_seconds
        if self.rate_starts and self.rate_starts[0][1] < before:
            counts_since = before - self._longest_window()
            self.rate_starts = [start for start in self.rate_starts if start[1] >= counts_since]
        for key in [key for key, (_, since) in self.answers.items() if since < before]:
            del self.answers[key]

    def _longest_window(self) -> float:
        """Return the longest window of a rate in seconds; a start counts for that long."""
        rates = (json for (kind, _), json in self.records.items() if kind == "rate")
        settings = [setting for rate in rates for setting in msgspec.json.decode(rate).values()]
        return max((setting.get("per_seconds") or 0.0 for setting in settings), default=0.0)

    # writes that record how to undo them

    def _put(self, table: dict[K, V], key: K, value: V) -> None:
        self._drop(table, key)
        table[key] = value
        self._undo.append(lambda: table.pop(key))

    def _insert(self, table: dict[K, V], key: K, value: V) -> None:
        if key in table:
            raise Clash(f"{key!r} is there already: {table[key]!r}")
        self._put(table, key, value)

    def _drop(self, table: dict[K, V], key: K) -> None:
        if key in table:
            old = table.pop(key)
            self._undo.append(lambda: table.__setitem__(key, old))

    def _append(self, table: list[V], value: V) -> None:
        table.append(value)
        self._undo.append(table.pop)

    def _inner(self, table: dict[K, dict[Any, Any]], key: K) -> dict[Any, Any]:
        if key not in table:
            self._put(table, key, {})
        return table[key]

    def _replace_starts(self, starts: list[tuple[str, float, JobId]]) -> None:
        old = self.rate_starts
        self.rate_starts = starts
        self._undo.append(lambda: setattr(self, "rate_starts", old))


def _text(value: Any) -> str:
    return msgspec.json.encode(value).decode()
