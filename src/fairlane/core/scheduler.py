"""The scheduler: inputs in, decisions out.

Rules:

- `apply` is a function of the board, the inputs and the time it is given. It reads no clock and
  does no I/O.
- The caller commits `decisions.changes` and only then performs the effects, so no worker and no
  client learns of a decision that a crash could undo.
- A command that breaks a rule is answered with its error and has changed nothing.

How: `apply` queues the jobs that are due, handles each input in order, fails the waiting jobs whose
deadline has passed, starts all jobs that can start, and answers `Explain` last, so that its reasons
describe the board after the starts. Inputs are decided in batches, because a commit costs the same
for one input as for hundreds.

A new leader calls `load` once, which rebuilds the board from the store.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from heapq import heappop, heappush
from itertools import groupby
from typing import Any, cast

import msgspec

from fairlane.core import commands, pauses, worker_reports
from fairlane.core.admission import submit
from fairlane.core.board import DOCUMENTS, Board
from fairlane.core.capacity import set_rate_alarm, wake_waiters
from fairlane.core.decisions import Decisions
from fairlane.core.explain import explain
from fairlane.core.inputs import (
    Cancel,
    ChangeSetting,
    ClockSetBack,
    EditLane,
    EnterStage,
    Explain,
    Input,
    JobStuck,
    LeaveStage,
    LogLines,
    Move,
    Outcome,
    Pause,
    Prioritize,
    QueryState,
    Report,
    Resume,
    RetryJob,
    SaveRecord,
    Skip,
    SkipFiring,
    StartConfirmed,
    StoreValue,
    Submit,
    Unblocked,
    WorkerGone,
    WorkerJoined,
)
from fairlane.core.lifecycle import State
from fairlane.core.live_job import JobId, LiveJob, WorkerId, carrier_of
from fairlane.core.output_lines import wait_for_output, waits_for_output
from fairlane.core.picking import start_ready
from fairlane.core.queues import Queue
from fairlane.core.state_changes import add_job, end_job, transition
from fairlane.core.waiting import watch_deadline
from fairlane.errors import FairlaneError

EndedJobs = dict[JobId, LiveJob]

_JOB_COMMANDS: Mapping[type, Callable[[Board, Any, EndedJobs], Any]] = {
    Submit: submit,
    Cancel: commands.cancel,
    RetryJob: commands.retry,
    Skip: commands.skip,
    Move: commands.move,
    Prioritize: commands.prioritize,
}
_OTHER_COMMANDS: Mapping[type, Callable[[Board, Any], Any]] = {
    Pause: pauses.pause,
    Resume: pauses.resume,
    ChangeSetting: commands.change_setting,
    SaveRecord: commands.save_record,
    EditLane: commands.edit_lane,
    QueryState: commands.query_state,
    SkipFiring: commands.skip_firing,
}
_WORKER_REPORTS: Mapping[type, Callable[[Board, Any], None]] = {
    Outcome: worker_reports.handle_outcome,
    Report: worker_reports.handle_report,
    LogLines: worker_reports.add_log_lines,
    EnterStage: worker_reports.enter_stage,
    LeaveStage: worker_reports.leave_stage,
    StoreValue: worker_reports.store_value,
    Unblocked: worker_reports.handle_unblocked,
    StartConfirmed: worker_reports.handle_start_confirmed,
    JobStuck: worker_reports.mark_stuck,
    WorkerJoined: worker_reports.add_worker,
}


def unknown_job_ids(
    inputs: Iterable[Input], known: Mapping[JobId, LiveJob], *, resent: bool = False
) -> set[JobId]:
    """Return the job ids in the inputs that the board does not hold: those jobs may have ended.

    If inputs may have been sent before, the ids of submitted jobs are included.
    """
    named: set[JobId] = set()
    for item in inputs:
        match item:
            case Submit():
                for submission in item.jobs:
                    named.update(submission.depends_on)
                    if resent or item.sent_before:
                        named.add(submission.id)
            case Move():
                named.update(filter(None, (item.job, item.before, item.after)))
            case Cancel() | RetryJob() | Skip() | Prioritize() | Explain():
                named.add(item.job)
            case _:
                pass
    return {id for id in named if id not in known}


class Scheduler:
    def __init__(self, *, jitter: bool = True) -> None:
        self.board = Board(jitter=jitter)
        self.unreadable: list[str] = []  # stored settings that are invalid and were not loaded

    def load(
        self,
        *,
        jobs: Iterable[LiveJob],
        dependencies: Sequence[tuple[JobId, JobId]],
        records: Mapping[tuple[str, str], str],
        rate_starts: Sequence[tuple[str, float, JobId]],
        grants: Sequence[tuple[JobId, str, str]],
        seq: int,
        now: float,
    ) -> None:
        """Rebuild the board from the store; starts that lie in the future are moved to `now`."""
        board = self.board
        board.now = now
        board.seq = seq
        for (kind, name), body in sorted(records.items()):  # the same order on every store
            try:
                self._load_record(kind, name, body)
            except (FairlaneError, msgspec.MsgspecError, LookupError, TypeError, ValueError):
                self.unreadable.append(f"{kind} {name}")  # the queue works without it
        for kind, name in list(board.declared):
            try:
                commands.apply_setting(board, kind, name)
            except (FairlaneError, LookupError, TypeError, ValueError):
                del board.declared[kind, name]
                self.unreadable.append(f"{kind} {name}")
        for queue in board.queues.values():
            queue.fairness.clip(now)
        for key, at, _ in rate_starts:
            try:
                board.rate(key).add_start(min(at, now))
            except FairlaneError:
                continue  # the limit is no longer declared
        for job in jobs:
            if job.queue not in board.queues:
                board.queues[job.queue] = Queue(job.queue)
            board.queues[job.queue].note_position(job.position)
            if job.started_at is not None and job.started_at > now:
                _set_back(job, job.started_at - now, now)
            add_job(board, job)
            if job.worker is not None and job.has_unreadable_secrets:
                board.refused_by[job.id] = frozenset({carrier_of(job.worker)})
            if job.state is State.RUNNING:
                for name, amount in job.terms.uses:
                    board.resource(name).hold(job.id, "", amount)
        for job in board.jobs.values():
            if waits_for_output(job):
                wait_for_output(board, job)
        for id, on in dependencies:
            if id in board.jobs and on not in board.jobs:
                continue  # it has ended, so no live job waits for it
            board.dependents.setdefault(on, []).append(id)
            board.waits_on.setdefault(id, set()).add(on)
        for id, token, uses in grants:
            if id not in board.jobs:
                continue  # a forecast loads only the first jobs of one queue
            job = board.jobs[id]
            stage = EnterStage(
                id, job.worker or _NO_WORKER, job.fence, token,
                uses=msgspec.json.decode(uses, type=tuple[tuple[str, int], ...]),
            )  # fmt: skip
            board.grants.setdefault(id, {})[token] = stage
            for name, amount in stage.uses:
                board.resource(name).hold(id, token, amount)

    def _load_record(self, kind: str, name: str, body: str) -> None:
        board = self.board
        match kind:
            case "queue":
                stored = msgspec.json.decode(body)
                queue = board.queues.setdefault(name, Queue(name))
                queue.code, queue.operator = stored["code"], stored["operator"]
                queue.paused = stored["paused"]
                queue.ends_drain = stored.get("ends_drain", False)
                board.apply_queue_settings(queue)
            case "rate" | "resource":
                board.declared[kind, name] = msgspec.json.decode(body)
            case "fairness":
                board.queues.setdefault(name, Queue(name)).fairness.restore(body)
            case "turn":
                queue_name, bucket = msgspec.json.decode(name)
                queue = board.queues.setdefault(queue_name, Queue(queue_name))
                queue.turns[bucket] = int(body)
                queue.turn = max(queue.turn, int(body))
            case "worker":
                joined = msgspec.json.decode(body, type=WorkerJoined)
                joined.accepting = False  # until it reports again
                board.workers.join(joined)
            case _ if kind in DOCUMENTS:
                board.documents[kind, name] = body
            case "fired":
                board.fired_at[name] = float(body)
            case "fired_by_hand":
                board.fired_by_hand_at[name] = float(body)
            case _:
                pass  # such as schedules: scheduling does not depend on them

    def apply(
        self, inputs: Sequence[Input], now: float, ended: Mapping[JobId, LiveJob] | None = None
    ) -> Decisions:
        """Decide a batch of inputs. `ended` holds the final jobs that the inputs name."""
        board = self.board
        board.begin_batch(now, dict(ended or {}))
        self._handle_due_times()
        explains: list[Explain] = []
        for kind, group in groupby(inputs, type):
            if kind is WorkerGone:
                worker_reports.remove_workers(board, cast("list[WorkerGone]", list(group)))
            elif kind is Explain:
                explains += cast("Iterable[Explain]", group)
            else:
                self._handle_inputs(kind, group)
        self._fail_overdue()
        start_ready(board)
        for explaining in explains:
            self._answer(explain, explaining, board.ended)
        board.decisions.wake_at = self._next_wake()
        return board.decisions

    def _handle_inputs(self, kind: type, inputs: Iterable[Input]) -> None:
        board = self.board
        if kind in _WORKER_REPORTS:
            handle = _WORKER_REPORTS[kind]
            for message in inputs:
                handle(board, message)
        elif kind is ClockSetBack:
            for clock in cast("Iterable[ClockSetBack]", inputs):
                self._set_clock_back(clock.seconds)
        elif kind in _JOB_COMMANDS:
            for command in inputs:
                self._answer(_JOB_COMMANDS[kind], command, board.ended)
        else:
            for command in inputs:
                self._answer(_OTHER_COMMANDS[kind], command)

    def _answer(self, handler: Callable[..., Any], command: Any, *known: EndedJobs) -> None:
        try:
            answer = handler(self.board, command, *known)
        except FairlaneError as error:
            answer = error
        if command.key:
            self.board.decisions.answers.append((command.key, answer))

    def _handle_due_times(self) -> None:
        board = self.board
        while board.due_jobs and board.due_jobs[0][0] <= board.now:
            due_at, id = heappop(board.due_jobs)
            job = board.jobs.get(id)
            if job is None or job.due_at != due_at:
                continue
            if job.state in (State.SCHEDULED, State.RETRYING):
                job.due_at = None
                job.reason = None
                transition(board, job, State.QUEUED)
        while board.rate_alarms and board.rate_alarms[0][0] <= board.now:
            at, key = heappop(board.rate_alarms)
            rate = board.rates.get(key)
            if rate is None:
                continue  # dropped since, because no job waited for it
            if rate.alarm_at == at:
                rate.alarm_at = None
                wake_waiters(board, rate)

    def _fail_overdue(self) -> None:
        """Fail the jobs that waited for another attempt until their deadline.

        It comes after the inputs, which may return a job to its queue after its deadline.
        """
        board = self.board
        while board.deadlines and board.deadlines[0][0] <= board.now:
            deadline_at, id = heappop(board.deadlines)
            job = board.jobs.get(id)
            if job is None or job.deadline_at != deadline_at:
                continue
            if job.state in (State.QUEUED, State.BLOCKED):
                end_job(board, job, State.FAILED, error={
                    "code": "deadline", "retryable": False, "traceback": "",
                    "message": "its deadline_seconds passed while it waited for its next attempt",
                })  # fmt: skip

    def _next_wake(self) -> float | None:
        board = self.board
        heaps = (board.due_jobs, board.deadlines, board.rate_alarms)
        times = [heap[0][0] for heap in heaps if heap]
        return min(times, default=None)

    def _set_clock_back(self, seconds: float) -> None:
        """Move durations back with the wall clock; nominal times, such as `run_at`, stay."""
        board = self.board
        for rate in board.rates.values():
            rate.shift_back(seconds)
            set_rate_alarm(board, rate)
        for queue in board.queues.values():
            queue.fairness.shift_back(seconds)
        for job in board.jobs.values():
            if job.state in (State.RUNNING, State.RETRYING) or job.deadline_at is not None:
                _set_back(job, seconds, board.now)
                board.mark_changed(job)
                if job.due_at is not None:
                    heappush(board.due_jobs, (job.due_at, job.id))
                watch_deadline(board, job)


_NO_WORKER = WorkerId("")


def _set_back(job: LiveJob, seconds: float, now: float) -> None:
    """Move the times of a job with a clock that was set back: a backoff is a duration.

    When jobs are loaded, a start in the future marks a job that was not moved yet. So no start of a
    moved job may stay in the future.
    """
    if job.state is State.RETRYING and job.due_at is not None:
        job.due_at -= seconds
    if job.deadline_at is not None:
        job.deadline_at -= seconds
    if job.started_at is not None:
        job.started_at = min(job.started_at, now)
