"""Commands to the leader, and its answers.

If this process leads, a command is an append to the inbox in memory. If another process leads, the
command is a row of the inbox table, and its answer is a row as well. Without an answer in time the
caller gets `Undecided`: the command is stored, and a leader will decide it.
"""

import asyncio
import logging
from typing import Any, Final

import msgspec

from fairlane.core.decisions import Decisions
from fairlane.core.inputs import (
    ChangeSetting,
    Command,
    Explain,
    Move,
    Pause,
    Prioritize,
    QueryState,
    Resume,
    Submit,
)
from fairlane.errors import FairlaneError, StoreError, StoreUnavailable, Undecided
from fairlane.leader.inbox import Inbox
from fairlane.leader.inbox_codec import decode_answer
from fairlane.runtime.clock import Clock
from fairlane.runtime.poll_intervals import POLLING, PollIntervals
from fairlane.runtime.service import Service
from fairlane.store.protocol import Store

log = logging.getLogger("fairlane.engine")

ANSWER_SECONDS: Final = 5.0
# Executing these twice has the effect of executing them once, so the next leader can get them.
_REPEATABLE: Final = (QueryState, Explain, Move, Pause, Prioritize, Resume, ChangeSetting, Submit)
_LOST: Final = object()


class CommandCalls:
    def __init__(
        self, store: Store, inbox: Inbox, clock: Clock, intervals: PollIntervals = POLLING
    ) -> None:
        self._store = store
        self._inbox = inbox
        self._clock = clock
        self._intervals = intervals
        self._local: dict[str, asyncio.Future[Any]] = {}
        self._remote: dict[str, asyncio.Future[Any]] = {}
        self.leading = False
        self.answer_polling = Service("answers", self._poll_answers)

    async def call(self, command: Command) -> Any:
        """Have the leader execute a command; return its answer or raise its error."""
        answer = await self._decide_locally(command) if self.leading else _LOST
        if answer is _LOST:
            answer = await self._send(command)
        if isinstance(answer, FairlaneError):
            raise answer
        return answer

    async def _decide_locally(self, command: Command) -> Any:
        waiting = asyncio.get_running_loop().create_future()
        self._local[command.key] = waiting
        self._inbox.put(command)
        try:
            answer = await waiting
        finally:
            self._local.pop(command.key, None)
        if answer is not _LOST:
            return answer
        if not isinstance(command, _REPEATABLE):
            problem = "leadership was lost before this was decided; check whether it was done"
            raise StoreUnavailable(problem)
        if isinstance(command, Submit):
            command.sent_before = True
        return _LOST

    async def _send(self, command: Command) -> Any:
        await self._store.append(
            command.key, msgspec.json.encode(command).decode(), self._clock.now()
        )
        waiting = asyncio.get_running_loop().create_future()
        self._remote[command.key] = waiting
        self.answer_polling.wake()
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                return await waiting
        except TimeoutError:
            first = command.jobs[0].id if isinstance(command, Submit) and command.jobs else None
            raise Undecided(first) from None
        finally:
            self._remote.pop(command.key, None)

    async def _poll_answers(self) -> float | None:
        """Read the answers to all sent commands; a notification makes this run sooner."""
        if not self._remote:
            return None
        try:
            answers = await self._store.answers(list(self._remote))
        except StoreError as error:
            log.warning("answers cannot be read: %s", error)
            return self._intervals.retry_seconds
        for key, text in answers.items():
            waiting = self._remote.get(key)
            if waiting is not None and not waiting.done():
                waiting.set_result(decode_answer(text))
        return self._intervals.answer_seconds

    def deliver_answers(self, decisions: Decisions) -> None:
        """Return the leader's answers to the callers in this process."""
        for key, answer in decisions.answers:
            waiting = self._local.get(key)
            if waiting is not None and not waiting.done():
                waiting.set_result(answer)

    def change_leadership(self, leading: bool) -> None:
        """Send commands to the new leader, and undecided ones of this process once more."""
        self.leading = leading
        if not leading:
            for waiting in self._local.values():
                if not waiting.done():
                    waiting.set_result(_LOST)

    def close(self) -> None:
        """Answer every waiting caller: the engine stops, and no answers are read any more."""
        for waiting in self._local.values():
            if not waiting.done():
                problem = "the engine stopped before this was decided; send it again, same id"
                waiting.set_result(StoreUnavailable(problem))
        for waiting in self._remote.values():
            if not waiting.done():
                waiting.set_result(Undecided(None))
