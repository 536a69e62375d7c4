"""The leader: collect inputs, decide, write, act.

One process at a time leads, in a dedicated thread with its own event loop, so that user code which
blocks cannot cost leadership. The states are drawn in README.md.

Rules:
- No decision is acted on before the commit that holds it is durable. The next batch may be decided
  meanwhile (see `commit_pipeline`); queries about jobs go to the database between two commits.
- After any error in a commit it is unknown whether it was stored: the leader discards its memory
  and loads again. `batch_recovery` handles the inputs.
- A leader in trouble keeps its claim. On a database of one process, leading proves every other
  worker dead; releasing the claim would let another process run the jobs that this one still runs.
"""

import asyncio
import logging
import random
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from msgspec import Struct

from fairlane.cluster.fleet import Fleet, MessageRef, SoloFleet
from fairlane.core.board import Board
from fairlane.core.decisions import Decisions, Start, last_start
from fairlane.core.inputs import ClockSetBack, Input, WorkerGone
from fairlane.core.lifecycle import State
from fairlane.core.live_job import JobId, LiveJob, WorkerId, carrier_of
from fairlane.core.scheduler import Scheduler, unknown_job_ids
from fairlane.errors import NotLeading, StoreError, StoreUnavailable
from fairlane.leader.batch_recovery import Recovery
from fairlane.leader.commit_pipeline import Batch, CommitPipeline
from fairlane.leader.database_clock import DatabaseClock
from fairlane.leader.host import LeaderHost
from fairlane.leader.inbox import Inbox
from fairlane.leader.inbox_codec import decode_row, encode_answer
from fairlane.leader.inbox_poller import InboxPoller
from fairlane.leader.loading import load_scheduler
from fairlane.leader.local_assignments import LocalAssignments
from fairlane.leader.notifications import Notifications
from fairlane.leader.output_cleanup import OutputCleanup
from fairlane.leader.payload_cache import PayloadCache
from fairlane.leader.queue_log import measure_queues
from fairlane.leader.schedule import DueSchedules, stamp_since
from fairlane.runtime.clock import Clock
from fairlane.runtime.counters import Counters
from fairlane.runtime.poll_intervals import POLLING, PollIntervals
from fairlane.store.protocol import InboxRow, Store, Writing
from fairlane.store.views import Payload

log = logging.getLogger("fairlane.leader")

BATCH_INPUTS: Final = 2_000
_STOP_SECONDS: Final = 2.0  # for the last call to the database to return


class Commit(Struct, eq=False, frozen=True):
    """A decided batch: memory has changed; the database and the workers have not."""

    inputs: Sequence[Input]
    decisions: Decisions
    writing: Writing | None  # None if there is no change to store
    message: MessageRef
    discarded: Mapping[JobId, Payload]  # of cancelled jobs with output files to remove


class Leader:
    def __init__(
        self,
        store: Store,
        inbox: Inbox,
        clock: Clock,
        host: LeaderHost,
        notifications: Notifications,
        *,
        intervals: PollIntervals = POLLING,
        fleet: Fleet | None = None,
        counters: Counters | None = None,
    ) -> None:
        self.scheduler = Scheduler(jitter=clock.jitter)
        self.commits = 0
        self._store = store
        self._inbox = inbox
        self._host = host
        self._notifications = notifications
        self._intervals = intervals
        self._fleet = fleet = fleet or SoloFleet()
        self._counters = counters or Counters()
        self._clock = DatabaseClock(clock, fleet)
        self._records: Mapping[tuple[str, str], str] = {}  # as they were loaded
        self._schedules = DueSchedules()
        self._wake_at: float | None = None  # when the scheduler has to decide without an input
        self._poller = InboxPoller(store, host.poll_seconds)
        self._payloads = PayloadCache(store, intervals.retry_seconds)
        self._cleanup = OutputCleanup(one_host=fleet.is_alone)
        self._assignments = LocalAssignments(host.is_own)
        self._pipeline = CommitPipeline(on_end=inbox.wake_same_loop)
        self._recovery = Recovery(
            store, inbox, fleet, self._clock, host, notifications,
            retry_seconds=intervals.retry_seconds, board=lambda: self.board,
            load=self._load, commit=self._commit,
        )  # fmt: skip
        self._stopping = False
        self._is_elected = False
        self._running: tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]] | None = None

    @property
    def board(self) -> Board:
        return self.scheduler.board

    @property
    def is_ahead(self) -> bool:
        """Tell whether memory holds decisions that are not being written yet."""
        return self._pipeline.is_ahead

    def stop(self) -> None:
        """End soon, also if the database does not answer; from any thread."""
        self._stopping = True
        self._inbox.wake()
        if self._running is not None:
            loop, task = self._running
            with suppress(RuntimeError):  # the leader has ended, and its loop is closed
                loop.call_soon_threadsafe(lambda: loop.call_later(_STOP_SECONDS, task.cancel))

    def poll_inbox_soon(self) -> None:
        """Poll the inbox table without waiting for the interval; from any thread."""
        self._poller.poll_soon()
        if self._is_elected:
            self._inbox.wake()  # a standby would stand for election

    def stand_soon(self) -> None:
        """Stand for election without waiting for the interval; from any thread."""
        self._inbox.wake()

    # election: standby, leading, resigned

    async def run(self) -> None:
        """Stand for election, and lead when elected, until stopped."""
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        self._inbox.attach(loop)
        self._running = (loop, task)
        try:
            while not self._stopping:
                try:
                    await self._elect()
                except NotLeading as error:
                    log.warning("no longer leading: %s", error)
                    await self._store.resign()
                    await self._pause()
                except StoreError as error:
                    log.warning("leadership interrupted: %s", error)
                    await self._pause()
                except Exception:  # a bug of Fairlane must not leave the database without a leader
                    log.exception("leadership interrupted by an internal error")
                    await self._pause()
        finally:
            if not (self._fleet.is_alone and self._host.is_running()):
                await self._store.resign()  # otherwise the claim ends with the process

    async def _elect(self) -> None:
        epoch = await self._store.lead()
        if epoch is None:
            self._notifications.report_election(leading=False)
            await self._stand_by()
            return
        self._fleet.start_epoch(epoch)
        self._counters.elected(epoch)
        self._is_elected = True
        try:
            await self._lead()
        except asyncio.CancelledError:
            self._pipeline.cancel()
            raise
        finally:
            self._is_elected = False
            with suppress(Exception):  # the error that ended leadership is being raised already
                await self._pipeline.wait()
            self._recovery.requeue(self._pipeline.discard().inputs)
            self._recovery.requeue(self._inbox.pop_all())  # callers learn it by the notification
            self._notifications.report_election(leading=False)

    async def _stand_by(self) -> None:
        """Return when another election may succeed."""
        while True:
            seconds = self._intervals.standby_seconds * random.uniform(0.8, 1.2)
            await self._inbox.wait_for_wake(seconds)
            if self._stopping or not self._host.sees_leader():
                return

    async def _pause(self) -> None:
        self._notifications.report_election(leading=False)
        if not self._stopping:
            await asyncio.sleep(self._intervals.retry_seconds)

    # leading: decide, write, act

    async def _lead(self) -> None:
        await self._load()
        await self._declare()
        self._notifications.report_election(leading=True)
        while not self._stopping:
            batch = await self._next_batch()
            if batch or self._is_due() or self._pipeline.has_ended:
                await self._process(batch)
            else:
                await self._inbox.wait(self._pause_seconds())
        await self._pipeline.wait()

    async def _next_batch(self) -> Batch:
        leases = await self._check_leases()
        if self._fleet.has_inbox_rows:
            self._poller.poll_soon()  # a process may have died before it notified the leader
        if not self._pipeline:
            await self._poller.poll()
        rows = self._poller.pop_rows()
        setback = await self._clock.measure_setback()
        # The inbox comes last: its inputs would be lost if one of the reads above failed.
        inputs: list[Input] = [ClockSetBack(setback)] if setback else []
        inputs += [*self._inbox.pop_batch(BATCH_INPUTS), *leases]
        inputs += self._schedules.due(self._clock.now())
        return Batch(inputs, rows, resent=bool(rows))

    async def _process(self, batch: Batch) -> None:
        """Decide a batch and start to write it, or recover from a commit that failed."""
        try:
            if batch or self._is_due():
                await self._pipeline.submit(batch, self._decide, self._write_and_poll)
            else:
                await self._pipeline.wait()
        except StoreUnavailable as error:
            await self._recovery.wait_out(self._pipeline.discard(), error)
        except StoreError:
            self._recovery.requeue(self._pipeline.discard().inputs)
            raise
        except Exception:  # any error of deciding or writing: an input is at fault
            failed = self._pipeline.discard()
            count = len(failed.inputs) + len(failed.rows)
            log.exception("a batch of %d inputs could not be committed", count)
            await self._recovery.replay(failed)

    async def _decide(self, batch: Batch) -> Commit:
        """Apply a batch to the scheduler; the commit that is returned is not written yet."""
        received = (input for row in batch.rows for input in decode_row(row))
        inputs = self._fleet.filter_inputs([*batch.inputs, *received])
        ids = unknown_job_ids(inputs, self.board.jobs, resent=batch.resent)
        ended: Mapping[JobId, LiveJob] = {}
        if ids:
            await self._pipeline.wait()  # it may hold their ends
            ended = await self._store.ended_jobs(sorted(ids))
        # The code below, up to `apply`, must not await: a start by a new clock would be moved back
        # together with the earlier ones by a later setback, and leave its rate window.
        setback = await self._clock.measure_setback()
        now = self._clock.now()
        if setback:
            inputs = [ClockSetBack(setback), *inputs]
        stamp_since(inputs, now)
        decisions = self.scheduler.apply(inputs, now, ended)
        if batch.rows:
            _answer_rows(decisions, batch.rows)
        discarded = await self._read_discarded(decisions) if decisions.discards else {}
        workers = self.board.workers.all
        self._cleanup.order_removals(decisions, workers.values())
        message = self._fleet.add_messages(decisions, workers)
        changes = decisions.changes
        writing = self._store.commit(changes, now) if changes else None
        decisions.lengths = measure_queues(changes, self.board)
        self._wake_at = decisions.wake_at
        self._schedules.follow(changes.records, now)
        return Commit(inputs, decisions, writing, message, discarded)

    async def _read_discarded(self, decisions: Decisions) -> Mapping[JobId, Payload]:
        """Read the payloads with outputs to remove, before the commit deletes them."""
        await self._pipeline.wait()
        payloads = await self._store.payloads(decisions.discards)
        for job, name, body in decisions.changes.stored_values:  # of this batch: not stored yet
            if job in payloads and body is not None:
                payloads[job].stored_values[name] = body
        self._cleanup.plan_discard(payloads)
        return payloads

    async def _write_and_poll(self, commit: Commit) -> None:
        await self._write(commit)
        try:
            await self._poller.poll()  # or rows would have to wait for the commit after this one
        except StoreError:
            self._poller.poll_soon()  # the next poll raises it again, outside of a commit

    async def _write(self, commit: Commit) -> None:
        """Make a commit durable, then act on it."""
        decisions = commit.decisions
        changes = decisions.changes
        if commit.writing is not None:
            started_at = asyncio.get_running_loop().time()
            self._check_early(decisions.starts)
            await commit.writing
            self.commits += 1
            seconds = asyncio.get_running_loop().time() - started_at
            self._counters.committed(changes, decisions.starts, seconds)
        self._poller.mark_durable(changes.consumed)
        self._payloads.add(changes.submitted)
        self._payloads.remove(changes.ended)
        await self._act(commit)

    async def _act(self, commit: Commit) -> None:
        """Start and stop jobs, answer callers and notify receivers: the commit is durable."""
        decisions = commit.decisions
        starts = [start for start in decisions.starts if self._host.is_own(start.worker)]
        payloads = await self._payloads.read(starts)
        if commit.discarded:
            self._cleanup.discard(commit.discarded)
        self._assignments.update(commit.inputs, starts)
        self._notifications.report_commit(decisions, payloads, commit.message)

    async def _commit(self, inputs: Sequence[Input], rows: Sequence[InboxRow] = ()) -> None:
        """Decide, write and act at once, while the pipeline is empty."""
        await self._write(await self._decide(Batch(inputs, rows, resent=True)))

    def _check_early(self, starts: Sequence[Start]) -> None:
        """Check preconditions while the disk is busy with the commit that starts the jobs.

        If the commit fails, no harm is done: a check reads, and reserves output names for the job.
        """
        if self._fleet.is_alone:
            checked = [start for start in starts if self._host.needs_check(start.task)]
            known = [(s, payload) for s in checked if (payload := self._payloads.peek(s))]
            if known:
                self._host.check_early(known)

    def _is_due(self) -> bool:
        return self._wake_at is not None and self._wake_at <= self._clock.now()

    def _pause_seconds(self) -> float:
        times = [at for at in (self._wake_at, self._schedules.next_at) if at is not None]
        waits = [self._clock.seconds_until(at) for at in times]
        bounds = (self._host.poll_seconds(), max(0.0, self._fleet.seconds_to_check()))
        return min(*bounds, *(wait for wait in waits if wait is not None))

    # loading and reloading

    async def _load(self) -> None:
        """Discard the state in memory, load it, and repair the effects of a lost commit."""
        await self._clock.reset()
        now = self._clock.now()
        # Before the load: two schedulers may not fit into memory.
        self.scheduler = Scheduler(jitter=self._clock.jitter)
        self._poller.reset()
        image = await load_scheduler(self.scheduler, self._store, now)
        self._records = image.records
        self._schedules.load(image.records, self.board.fired_at, now)
        dead = self._fleet.find_dead(self._other_workers(), image.records)
        if dead:
            await self._clean_up(set(dead))
        gone = [WorkerGone(worker) for worker in dead]
        jobs = self.board.jobs.values()
        # In a shared database assignments are messages, which the worker reads by itself.
        undelivered = self._assignments.refuse_undelivered(jobs) if self._fleet.is_alone else ()
        await self._commit([*gone, *undelivered, *self._host.joined()])
        stops = self._assignments.repeat_stops(self.board.jobs.values())
        self._notifications.report_reload(stops)

    async def _declare(self) -> None:
        """Commit the program's declarations, and reports that a former leader may have missed."""
        unacknowledged = self._inbox.not_queued(self._host.unacknowledged())
        inputs = [*self._host.declare(self._records), *unacknowledged]
        try:
            await self._commit(inputs)
        except StoreError:
            raise
        except Exception:  # one declaration is at fault, and the rest must take effect
            log.exception("the declarations of the program could not be committed together")
            await self._recovery.replay(Batch(inputs))
        self._host.report_missing_tasks({job.task for job in self.board.jobs.values()})

    def _other_workers(self) -> set[WorkerId]:
        """Return every worker of another process that is known or has an assignment."""
        board = self.board
        ids = {*board.workers.all, *(job.worker for job in board.jobs.values() if job.worker)}
        return {worker for worker in ids if not self._host.is_own(worker)}

    async def _check_leases(self) -> list[Input]:
        """Return workers with an expired lease, or with one that is renewed after a takeover."""
        inputs = await self._fleet.check_leases(self.board.workers.all)
        dead = {input.id for input in inputs if isinstance(input, WorkerGone)}
        if dead:
            log.warning("workers that no longer renew their lease: %s", ", ".join(sorted(dead)))
            await self._clean_up(dead)
        return inputs

    async def _clean_up(self, dead: Collection[WorkerId]) -> None:
        """Remove the half-written files of workers that are dead."""
        lost = [
            last_start(job)
            for job in self.board.jobs.values()
            if job.state is State.RUNNING and job.worker
            if job.worker in dead or carrier_of(job.worker) in dead
        ]
        if lost:
            self._cleanup.remove_unfinished(await self._store.payloads(lost))


def _answer_rows(decisions: Decisions, rows: Sequence[InboxRow]) -> None:
    """Add to a commit the removal of its inbox rows, and the answers for other processes."""
    keys = {row.key for row in rows}
    decisions.changes.consumed.extend(row.id for row in rows)
    decisions.changes.answers.update(
        (key, encode_answer(answer)) for key, answer in decisions.answers if key in keys
    )
