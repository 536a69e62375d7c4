"""Recovery from a commit that failed.

- After an error in a commit it is unknown whether it was stored, so the leader loads again.
- If the database was unavailable, callers get the error, and the inputs of workers are put back
  into the inbox: no caller would send them again.
- If an input was at fault, the batch is replayed one input at a time. An input that fails alone is
  answered with `internal_error`, stored as a dead letter, and never decided again.

Replaying halves of the batch would need fewer commits, but a batch at fault is a bug of Fairlane
and rare, and one by one it is plain which input is to blame.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from fairlane.cluster.fleet import NO_MESSAGE, Fleet
from fairlane.core.board import Board
from fairlane.core.decisions import Decisions
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
)
from fairlane.errors import InternalError, StoreError, StoreUnavailable
from fairlane.leader.commit_pipeline import Batch
from fairlane.leader.database_clock import DatabaseClock
from fairlane.leader.host import LeaderHost
from fairlane.leader.inbox import Inbox
from fairlane.leader.inbox_codec import decode_row, describe_input, encode_answer, split_row
from fairlane.leader.notifications import Notifications
from fairlane.runtime.storable_text import storable
from fairlane.store.protocol import InboxRow, Store

log = logging.getLogger("fairlane.leader")


class Recovery:
    def __init__(
        self,
        store: Store,
        inbox: Inbox,
        fleet: Fleet,
        clock: DatabaseClock,
        host: LeaderHost,
        notifications: Notifications,
        *,
        retry_seconds: float,
        board: Callable[[], Board],
        load: Callable[[], Awaitable[None]],
        commit: Callable[..., Awaitable[None]],
    ) -> None:
        self._store = store
        self._inbox = inbox
        self._fleet = fleet
        self._clock = clock
        self._host = host
        self._notifications = notifications
        self._retry_seconds = retry_seconds
        self._board = board
        self._load = load
        self._commit = commit  # decides, writes and acts, without the pipeline

    def requeue(self, inputs: Sequence[Input]) -> None:
        """Put the inputs of workers back; a load accounts for a clock that was set back."""
        lasting = (i for i in inputs if isinstance(i, FromWorker) and type(i) is not ClockSetBack)
        self._inbox.put_front(lasting)

    async def wait_out(self, batch: Batch, error: StoreUnavailable) -> None:
        """Answer callers that the database is unavailable, wait a moment and load again."""
        log.warning("the database is unavailable: %s", error)
        commands = [input for input in batch.inputs if not isinstance(input, FromWorker)]
        answers = Decisions(answers=[(command.key, error) for command in commands if command.key])
        self._notifications.report_commit(answers, {}, NO_MESSAGE)
        self.requeue(batch.inputs)
        await asyncio.sleep(self._retry_seconds)
        await self._load()
        self._resend_unacknowledged()

    async def replay(self, batch: Batch) -> None:
        """Commit the inputs of a failed batch one by one, and reject those that fail alone."""
        lasting: list[Input] = [
            input for input in batch.inputs if not isinstance(input, ClockSetBack)
        ]
        single: list[tuple[list[Input], list[InboxRow]]] = [
            *(([input], []) for input in lasting),
            *(piece for row in batch.rows for piece in split_row(row)),
        ]
        await self._load()
        while single:
            inputs, rows = single.pop(0)
            try:
                await self._commit(inputs, rows)
            except StoreError:
                self.requeue([*inputs, *(input for rest, _ in single for input in rest)])
                raise
            except Exception as error:  # this input is at fault; the rest is decided
                log.exception("an input was rejected and stored as a dead letter")
                await self._load()
                await self._reject(inputs, rows, error)
        self._resend_unacknowledged()

    def _resend_unacknowledged(self) -> None:
        self._inbox.put_front(self._inbox.not_queued(self._host.unacknowledged()))

    async def _reject(
        self, inputs: Sequence[Input], rows: Sequence[InboxRow], error: Exception
    ) -> None:
        """Store an input that cannot be decided as a dead letter, and answer its sender."""
        problem = InternalError(
            storable(f"this could not be executed and was stored as a dead letter: {error!r}")
        )
        decisions = Decisions()
        now = self._clock.now()
        answer: Any = await self._stored_answer(inputs, rows)
        if answer is None:
            answer = problem
            text = rows[0].body if rows else describe_input(inputs[0])
            decisions.changes.dead_letters.append((text, storable(repr(error)), now))
        for row in rows:
            decisions.changes.consumed.append(row.id)
            decisions.changes.answers[row.key] = encode_answer(answer)
        for input in inputs:
            if isinstance(input, StoreValue | EnterStage):
                decisions.orders_for(input.worker).denied.append(
                    (input.token, problem.as_problem())
                )
            elif not isinstance(input, FromWorker) and input.key:
                decisions.answers.append((input.key, answer))
        message = self._fleet.add_messages(decisions, self._board().workers.all)
        await self._store.commit(decisions.changes, now)
        self._notifications.report_commit(decisions, {}, message)
        for input in inputs:
            if isinstance(input, Outcome):
                # The attempt is over even if its outcome cannot be stored: its lane must go on.
                failure = Failure(problem.code, problem.message, retryable=False)
                failed = Outcome(input.job, input.worker, input.fence, "failed", failure=failure)
                await self._commit([failed])
            elif isinstance(input, Submit) and answer is problem:
                await self._commit(_skipped_firings(input, problem.message))

    async def _stored_answer(
        self, inputs: Sequence[Input], rows: Sequence[InboxRow]
    ) -> list[dict[str, Any]] | None:
        """Return the answer to a submission that is stored, though its commit seemed to fail."""
        try:
            command = inputs[0] if inputs else decode_row(rows[0])[0]
        except ValueError:
            return None  # the row cannot be decoded
        if not isinstance(command, Submit):
            return None
        ids = [job.id for job in command.jobs]
        stored = {*self._board().jobs.keys() & set(ids), *await self._store.ended_jobs(ids)}
        return [{"id": id, "merged": False} for id in ids] if stored >= set(ids) else None


def _skipped_firings(command: Submit, reason: str) -> list[Input]:
    """Return skips for the firings of a rejected submission, which would stay due otherwise."""
    return [
        SkipFiring("", job.schedule, job.fire_at, 1, reason)
        for job in command.jobs
        if job.schedule is not None and job.fire_at is not None and not job.by_hand
    ]
