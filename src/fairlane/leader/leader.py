"""The leader: take what happened, decide, make it durable, then act.

One process at a time leads, in a thread and on an event loop of its own, so that user code which
blocks cannot cost leadership. `run` stands for election until it is stopped; `_reign` is the loop.

Rules it lives by:
- Nothing is acted on before the commit that holds it has returned. The next batch may be decided
  meanwhile (see `commit_pipeline`); questions about jobs go to the database between two commits.
- After any error in a commit nobody knows what is stored: memory is forgotten and loaded again.
- If the database could not take it, callers are told so and what workers said is kept for the next
  try. If the inputs were at fault, they are replayed one by one; one that fails alone is answered
  `internal_error`, set aside where it can be looked at, and never seen again.
"""

import asyncio
import gc
import logging
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

from fairlane.cluster.fleet import NO_MESSAGE, Fleet, MessageRef, SoloFleet
from fairlane.core.decisions import Decisions, Start, Stop, last_start
from fairlane.core.inputs import (
    ClockSetBack,
    EnterStage,
    Failure,
    FromWorker,
    Input,
    Outcome,
    SkipFiring,
    StoreValue,
    Submit,
    WorkerGone,
)
from fairlane.core.lifecycle import State
from fairlane.core.live_job import JobId, LiveJob, WorkerId, carrier_of
from fairlane.core.scheduler import Scheduler, unknown_job_ids
from fairlane.errors import (
    InternalError,
    NotLeading,
    StoreError,
    StoreUnavailable,
)
from fairlane.leader.commit_pipeline import Batch, Carry, CommitPipeline
from fairlane.leader.host import LeaderHost
from fairlane.leader.inbox import Inbox
from fairlane.leader.inbox_codec import as_text, pieces, read, readable
from fairlane.leader.payload_cache import PayloadCache
from fairlane.leader.remote_cleanup import RemoteCleanup
from fairlane.leader.schedule import DueSchedules, stamp
from fairlane.runtime.clock import Clock
from fairlane.runtime.counters import Counters
from fairlane.runtime.poll_intervals import POLLING, PollIntervals
from fairlane.runtime.storable_text import storable
from fairlane.store.protocol import InboxRow, Store, Writing
from fairlane.store.views import Payload

log = logging.getLogger("fairlane.leader")

_BATCH = 2_000
_MUCH = 4 * 1024 * 1024  # characters that others sent; a store gives only so many at a time
_STOP_SECONDS = 2.0  # for the last call to the database to return
_SKEW_SECONDS = 30.0  # between two looks at the database's clock
_SMALL_SECONDS = 1.0  # what a clock is corrected by every now and then
_NEVER = float("-inf")

NOBODY = WorkerId("")


class Leader:
    def __init__(
        self,
        store: Store,
        inbox: Inbox,
        clock: Clock,
        host: LeaderHost,
        intervals: PollIntervals = POLLING,
        fleet: Fleet | None = None,
        counters: Counters | None = None,
    ) -> None:
        self._store = store
        self._counters = counters or Counters()
        self._fleet = fleet or SoloFleet()
        self._inbox = inbox
        self._clock = clock
        self._host = host
        self._intervals = intervals
        self._scheduler = Scheduler()
        self._schedules = DueSchedules()
        self._fresh = PayloadCache()
        self._pipeline = CommitPipeline(landed=inbox.poke_here)
        self._arrived: list[InboxRow] = []  # from others, to be decided next
        self._taken: set[int] = set()  # rows that are being decided and still lie in the table
        self._records: Mapping[tuple[str, str], str] = {}
        self._removals = RemoteCleanup()
        self._handed: dict[JobId, int] = {}  # assignments our worker holds, by fence
        self._stopping = False
        self._life: tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]] | None = None
        self._wake_at: float | None = None
        self._looked_at = _NEVER
        self._measured_at = _NEVER
        self._skew = 0.0  # by how much the database's clock is ahead of ours
        self.commits = 0

    @property
    def is_ahead(self) -> bool:
        """Tell whether memory knows more than is being written."""
        return self._pipeline.is_overtaken

    def stop(self) -> None:
        """End, without waiting for long on a database that does not answer; from any thread."""
        self._stopping = True
        self._inbox.poke()
        if self._life is not None:
            loop, life = self._life
            with suppress(RuntimeError):  # it has ended, and its loop is closed
                loop.call_soon_threadsafe(lambda: loop.call_later(_STOP_SECONDS, life.cancel))

    def look_at_others(self) -> None:
        """Something may lie in the inbox table; from any thread."""
        self._looked_at = _NEVER
        self._inbox.poke()

    async def run(self) -> None:
        """Stand for election until stopped.

        A leader in trouble keeps its claim: where leading proves every other worker dead, letting
        go would have another process run what this one still runs.
        """
        loop, life = asyncio.get_running_loop(), asyncio.current_task()
        assert life is not None
        self._inbox.attach(loop)
        self._life = (loop, life)
        try:
            while not self._stopping:
                try:
                    await self._stand()
                except NotLeading as error:
                    log.warning("no longer leading: %s", error)
                    await self._store.resign()
                    await self._pause()
                except StoreError as error:
                    log.warning("leadership interrupted: %s", error)
                    await self._pause()
                except Exception:
                    log.exception("leadership interrupted by an error of our own")
                    await self._pause()
        finally:
            if not (self._fleet.is_alone and self._host.still_runs()):
                await self._store.resign()  # otherwise the claim ends with the process

    async def _stand(self) -> None:
        epoch = await self._store.lead()
        if epoch is None:
            self._host.elected(leading=False)
            await self._inbox.stand_by(self._intervals.standby_seconds * random.uniform(0.8, 1.2))
            return
        self._fleet.start_epoch(epoch)
        self._counters.elected(epoch)
        try:
            await self._reign()
        except asyncio.CancelledError:
            self._pipeline.give_up()
            raise
        finally:
            with suppress(Exception):  # why the reign ends is known already
                await self._pipeline.land()
            self._keep(self._pipeline.void().happened)
            self._keep(self._inbox.take_all())  # callers are told that it is over
            self._host.elected(leading=False)

    async def _pause(self) -> None:
        self._host.elected(leading=False)
        if not self._stopping:
            await asyncio.sleep(self._intervals.retry_seconds)

    async def _reign(self) -> None:
        await self._load()
        await self._open()
        self._host.elected(leading=True)
        while not self._stopping:
            rows = await self._from_others()
            back = await self._set_back()
            lives = await self._lives()
            # Last: what was taken out of the inbox would be lost with a look that fails.
            happened = [*([ClockSetBack(back)] if back else ()), *self._inbox.take(_BATCH), *lives]
            happened += self._schedules.due(self._now())
            if happened or rows or self._is_due() or self._pipeline.has_ended:
                await self._decide(Batch(happened, rows))
            else:
                await self._inbox.wait(self._pause_seconds())
        await self._pipeline.land()

    async def _open(self) -> None:
        """Take in what the code declares, and what our worker may have told a former leader."""
        unacknowledged_inputs = self._inbox.missing(self._host.unacknowledged_inputs())
        happened = [*self._host.declared(self._records), *unacknowledged_inputs]
        try:
            await self._commit(happened, (), resent=True)
        except StoreError:
            raise
        except Exception:
            log.exception("what the code declares could not be taken in as a whole")
            await self._replay(happened, ())
        self._host.found({job.task for job in self._scheduler.board.jobs.values()})

    def _now(self) -> float:
        """Return the time as the database has it: leaders on several machines agree on that."""
        return self._clock.now() + self._skew

    async def _set_back(self) -> float:
        """Return by how many seconds the time that we go by was set back since the last call."""
        back = self._clock.jumped()
        loop_time = asyncio.get_running_loop().time()
        if back or loop_time - self._measured_at > _SKEW_SECONDS:
            self._measured_at = loop_time
            was, self._skew = self._skew, await self._fleet.skew()
            if abs(was - self._skew) > _SMALL_SECONDS:
                back += was - self._skew
        return max(0.0, back)

    def _is_due(self) -> bool:
        return self._wake_at is not None and self._wake_at <= self._now()

    def _pause_seconds(self) -> float:
        times = [at for at in (self._wake_at, self._schedules.next_at) if at is not None]
        waits = [self._clock.seconds_until(at - self._skew) for at in times]
        return min([self._intervals.others_seconds, *(wait for wait in waits if wait is not None)])

    async def _from_others(self) -> list[InboxRow]:
        if not self._pipeline:
            await self._look()
        rows, self._arrived = self._arrived, []
        return rows

    async def _look(self) -> None:
        """Take over what lies in the inbox table, if it is time to look."""
        loop_time = asyncio.get_running_loop().time()
        if loop_time - self._looked_at < self._intervals.others_seconds:
            return
        self._looked_at = loop_time
        rows = await self._store.read_inbox(_BATCH)
        if len(rows) == _BATCH or sum(len(row.body) for row in rows) > _MUCH:
            self._looked_at = _NEVER  # there may be more
        fresh = [row for row in rows if row.id not in self._taken]
        self._taken.update(row.id for row in fresh)
        self._arrived += fresh

    async def _lives(self) -> list[Input]:
        """Look at the leases of the others; nobody else may be left to say that one is dead."""
        inputs = await self._fleet.look(self._scheduler.board.workers.all)
        dead = {said.id for said in inputs if isinstance(said, WorkerGone)}
        if dead:
            log.warning("workers that no longer renew their lease: %s", ", ".join(sorted(dead)))
            await self._clean_up(dead)
        return inputs

    async def _load(self) -> None:
        """Forget everything and rebuild it, then say who we are and who is dead."""
        self._clock.jumped()  # loading reckons with the clock as it is now, whatever it was
        self._skew = await self._fleet.skew()
        now = self._now()
        self._scheduler = Scheduler()
        self._taken.clear()
        self._arrived.clear()
        self._looked_at = _NEVER
        with _no_collections():
            image = await self._store.load()
            self._scheduler.load(
                jobs=image.jobs,
                dependencies=image.dependencies,
                records=image.records,
                rate_starts=image.takes,
                grants=image.grants,
                seq=image.seq,
                now=now,
            )
        if self._scheduler.unreadable:
            left_out = ", ".join(self._scheduler.unreadable)
            log.warning("stored settings that cannot be read are left out: %s", left_out)
        board = self._scheduler.board
        self._records = image.records
        self._schedules.load(image.records, board.fired_at, now)
        dead = self._fleet.dead(self._others(), image.records)
        if dead:
            await self._clean_up(set(dead))
        gone = [WorkerGone(worker) for worker in dead]
        await self._commit([*gone, *self._unheard(), *self._host.joined()], (), resent=True)
        self._host.reloaded(self._stops())

    def _others(self) -> set[WorkerId]:
        """Name every worker but ours that is known or was given something."""
        board = self._scheduler.board
        named = {*board.workers.all, *(job.worker for job in board.jobs.values() if job.worker)}
        return {worker for worker in named if not self._host.is_own(worker)}

    def _own_running(self) -> list[LiveJob]:
        jobs = self._scheduler.board.jobs.values()
        return [j for j in jobs if j.state is State.RUNNING and self._host.is_own(j.worker or "")]

    def _unheard(self) -> list[Input]:
        """Take back what a commit assigned to our worker whose return we never saw.

        Where many work it has been told by a message, which the worker reads by itself.
        """
        if not self._fleet.is_alone:
            return []
        return [
            Outcome(job.id, job.worker or NOBODY, job.fence, "refused")
            for job in self._own_running()
            if self._handed.get(job.id) != job.fence
        ]

    def _stops(self) -> list[Stop]:
        """Repeat what our worker was to be told and perhaps was not."""
        return [
            Stop(job.id, job.worker or NOBODY, job.fence, job.cancel_outputs, False)
            for job in self._own_running()
            if job.cancel_outputs is not None
        ]

    async def _clean_up(self, dead: set[WorkerId]) -> None:
        jobs = self._scheduler.board.jobs.values()
        theirs = [
            j for j in jobs if j.worker in dead or (j.worker and carrier_of(j.worker) in dead)
        ]
        lost = [last_start(job) for job in theirs if job.state is State.RUNNING]
        if lost:
            left = await self._store.payloads(lost)
            self._host.remove_half_written(left)
            self._removals.add(self._host.outputs_on_other_hosts(left, finished=False))

    async def _decide(self, batch: Batch) -> None:
        """Turn a batch into one commit and its effects, which may still be on their way after."""
        try:
            if batch.happened or batch.rows or self._is_due():
                await self._pipeline.begin(batch, self._sent_off)
            else:
                await self._pipeline.land()
        except StoreUnavailable as error:
            await self._wait_out(self._pipeline.void().happened, error)
        except StoreError:
            self._keep(self._pipeline.void().happened)
            raise
        except Exception:
            void = self._pipeline.void()
            count = len(void.happened) + len(void.rows)
            log.exception("a batch of %d inputs could not be committed", count)
            await self._replay(void.happened, void.rows)

    async def _sent_off(self, batch: Batch) -> Carry:
        carry = await self._prepare(batch, resent=bool(batch.rows))

        async def carry_and_look() -> None:
            await carry()
            try:
                await self._look()  # or rows would have to wait for the commit after this one
            except StoreError:
                self._looked_at = _NEVER  # whoever looks next will hear of it

        return carry_and_look

    async def _commit(
        self, happened: Sequence[Input], rows: Sequence[InboxRow], *, resent: bool
    ) -> None:
        carry = await self._prepare(Batch(happened, rows), resent=resent)
        await carry()

    async def _prepare(self, batch: Batch, *, resent: bool) -> Carry:
        """Decide a batch: memory moves on, and what is returned writes it and acts on it."""
        rows = batch.rows
        said_elsewhere = (said for row in rows for said in read(row))
        inputs = self._fleet.hear([*batch.happened, *said_elsewhere])
        names = unknown_job_ids(inputs, self._scheduler.board.jobs, resent=resent)
        ended: Mapping[JobId, LiveJob] = {}
        if names:
            await self._pipeline.land()  # they may be in it
            ended = await self._store.ended_jobs(sorted(names))
        now = self._now()
        stamp(inputs, now)
        decisions = self._scheduler.apply(inputs, now, ended)
        changes = decisions.changes
        if rows:
            remote = {row.key for row in rows}
            changes.consumed.extend(row.id for row in rows)
            changes.answers.update(
                (key, as_text(answer)) for key, answer in decisions.answers if key in remote
            )
        made: Mapping[JobId, Payload] = {}
        if decisions.discards:
            await self._pipeline.land()
            made = await self._store.payloads(decisions.discards)  # the commit forgets it
            for job, name, body in changes.stored_values:  # what was said with it is not stored yet
                if job in made and body is not None:
                    made[job].kept[name] = body
            self._removals.add(self._host.outputs_on_other_hosts(made, finished=True))
        self._removals.hand_out(decisions, self._scheduler.board.workers.all.values())
        written = self._fleet.write(decisions, self._scheduler.board.workers.all)
        writing = self._store.commit(changes, now) if changes else None
        self._wake_at = decisions.wake_at
        self._schedules.follow(changes.records, now)
        return partial(self._carry_out, inputs, decisions, writing, written, made)

    async def _carry_out(
        self,
        inputs: Sequence[Input],
        decisions: Decisions,
        writing: Writing | None,
        written: MessageRef,
        made: Mapping[JobId, Payload],
    ) -> None:
        changes = decisions.changes
        if writing is not None:
            began_at = asyncio.get_running_loop().time()
            self._look_ahead(decisions.starts)
            await writing
            self.commits += 1
            seconds = asyncio.get_running_loop().time() - began_at
            self._counters.committed(changes, decisions.starts, seconds)
        self._taken.difference_update(changes.consumed)
        self._fresh.add(changes.submitted)
        self._fresh.forget(changes.ended)
        starts = [start for start in decisions.starts if self._host.is_own(start.worker)]
        payloads = await self._payloads(starts)
        if made:
            self._host.discard(made)
        self._hand_over(inputs, starts)
        self._host.perform(decisions, payloads, written)

    def _look_ahead(self, starts: Sequence[Start]) -> None:
        """Have checked what is about to start, while the disk is busy with this commit.

        If the commit fails, nothing has been done: a check looks, and takes names for the job.
        """
        if self._fleet.is_alone:
            soon = [start for start in starts if self._host.checks(start.task)]
            known = [(start, fresh) for start in soon if (fresh := self._fresh.look(start))]
            if known:
                self._host.check_preconditions_early(known)

    def _hand_over(self, inputs: Sequence[Input], starts: Sequence[Start]) -> None:
        """Remember what our worker has been given and not yet given back."""
        for said in inputs:
            if type(said) is Outcome and self._handed.get(said.job) == said.fence:
                del self._handed[said.job]
        for start in starts:
            self._handed[start.job] = start.fence

    async def _payloads(self, starts: list[Start]) -> Mapping[JobId, Payload]:
        """Find what the started jobs need; they are committed as running, so this must succeed."""
        found = {start.job: fresh for start in starts if (fresh := self._fresh.take(start))}
        rest = [start for start in starts if start.job not in found]
        while rest:
            try:
                return {**found, **await self._store.payloads(rest)}
            except StoreUnavailable as error:
                log.warning("cannot read what to start: %s", error)
                await asyncio.sleep(self._intervals.retry_seconds)
        return found

    async def _wait_out(self, happened: Sequence[Input], error: StoreUnavailable) -> None:
        """Tell callers that the database cannot take it; keep what workers said, and go on."""
        log.warning("the database is unavailable: %s", error)
        refused = [h for h in happened if not isinstance(h, FromWorker)]
        answers = Decisions(answers=[(command.key, error) for command in refused if command.key])
        self._host.perform(answers, {}, NO_MESSAGE)
        self._keep(happened)
        await asyncio.sleep(self._intervals.retry_seconds)
        await self._load()
        self._inbox.put_first(self._inbox.missing(self._host.unacknowledged_inputs()))

    def _keep(self, happened: Sequence[Input]) -> None:
        """Keep what workers said; a jump of the clock is reckoned with by loading again."""
        said = (
            h for h in happened if isinstance(h, FromWorker) and not isinstance(h, ClockSetBack)
        )
        self._inbox.put_first(said)

    async def _replay(self, happened: Sequence[Input], rows: Sequence[InboxRow]) -> None:
        """Carry out a failed batch one by one, so that only what is at fault is left out."""
        lasting: list[Input] = [said for said in happened if not isinstance(said, ClockSetBack)]
        alone: list[tuple[list[Input], list[InboxRow]]] = [
            *(([said], []) for said in lasting),
            *(piece for row in rows for piece in pieces(row)),
        ]
        await self._load()
        while alone:
            inputs, one_row = alone.pop(0)
            try:
                await self._commit(inputs, one_row, resent=True)
            except StoreError:
                self._keep([*inputs, *(said for rest, _ in alone for said in rest)])
                raise
            except Exception as error:
                log.exception("an input was set aside")
                await self._load()
                await self._set_aside(inputs, one_row, error)
        self._inbox.put_first(self._inbox.missing(self._host.unacknowledged_inputs()))

    async def _admitted(
        self, happened: Sequence[Input], rows: Sequence[InboxRow]
    ) -> list[dict[str, Any]] | None:
        """Return the answer to a submission that is stored, though its commit seemed to fail."""
        try:
            command = happened[0] if happened else read(rows[0])[0]
        except ValueError:
            return None  # it cannot even be read
        if not isinstance(command, Submit):
            return None
        ids = [job.id for job in command.jobs]
        known = {*self._scheduler.board.jobs.keys() & set(ids), *await self._store.ended_jobs(ids)}
        return [{"id": id, "merged": False} for id in ids] if known >= set(ids) else None

    async def _set_aside(
        self, happened: Sequence[Input], rows: Sequence[InboxRow], error: Exception
    ) -> None:
        """Keep an input that cannot be carried out where a person can look at it, and say so."""
        problem = InternalError(
            storable(f"this could not be carried out and was set aside: {error!r}")
        )
        text = rows[0].body if rows else readable(happened[0])
        decisions = Decisions()
        now = self._now()
        answer: Any = await self._admitted(happened, rows)
        if answer is None:
            answer = problem
            decisions.changes.dead_letters.append((text, storable(repr(error)), now))
        for row in rows:
            decisions.changes.consumed.append(row.id)
            decisions.changes.answers[row.key] = as_text(answer)
        for said in happened:
            if isinstance(said, StoreValue | EnterStage):
                decisions.orders_for(said.worker).denied.append((said.token, problem.as_problem()))
            elif not isinstance(said, FromWorker) and said.key:
                decisions.answers.append((said.key, answer))
        written = self._fleet.write(decisions, self._scheduler.board.workers.all)
        await self._store.commit(decisions.changes, now)
        self._host.perform(decisions, {}, written)
        for said in happened:
            if isinstance(said, Outcome):
                # The attempt is over, whatever cannot be said about it: its lane must go on.
                failure = Failure(problem.code, problem.message, retryable=False)
                failed = Outcome(said.job, said.worker, said.fence, "failed", failure=failure)
                await self._commit([failed], (), resent=True)
            elif isinstance(said, Submit) and answer is problem:
                await self._commit(_missed(said, problem.message), (), resent=True)


def _missed(command: Submit, reason: str) -> list[Input]:
    """Return that a firing came to nothing: otherwise it would be due again at once, for ever."""
    return [
        SkipFiring("", job.schedule, job.fire_at, 1, reason)
        for job in command.jobs
        if job.schedule is not None and job.fire_at is not None and not job.by_hand
    ]


@contextmanager
def _no_collections() -> Iterator[None]:
    """Make a great many objects that all stay: looking for garbage among them doubles the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
