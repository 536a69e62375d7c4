"""Commands on their way to the leader, and their answers back.

Where this process leads, a command is an append to the inbox in memory. Where another one does, it
is a row in its inbox table, and the answer is a row as well; without one in time the caller hears
`Undecided`: what was sent is recorded, and will be decided when somebody leads.
"""

import asyncio
from typing import Any, Final

import msgspec

from fairlane.core.inputs import Command, Submit
from fairlane.engine.clock import Clock
from fairlane.engine.inbox import Inbox
from fairlane.engine.leader import from_text
from fairlane.engine.rhythm import USUAL, Rhythm
from fairlane.errors import FairlaneError, StoreUnavailable, Undecided
from fairlane.store.protocol import Store

ANSWER_SECONDS: Final = 5.0


class Calls:
    def __init__(self, store: Store, inbox: Inbox, clock: Clock, rhythm: Rhythm = USUAL) -> None:
        self._store = store
        self._inbox = inbox
        self._clock = clock
        self._rhythm = rhythm
        self._waiting: dict[str, asyncio.Future[Any]] = {}
        self.leading = False

    async def call(self, command: Command) -> Any:
        """Have the leader carry out a command; return its answer or raise its error."""
        answer = await (self._here(command) if self.leading else self._elsewhere(command))
        if isinstance(answer, FairlaneError):
            raise answer
        return answer

    async def _here(self, command: Command) -> Any:
        waiting = asyncio.get_running_loop().create_future()
        self._waiting[command.key] = waiting
        self._inbox.put(command)
        try:
            return await waiting
        finally:
            self._waiting.pop(command.key, None)

    async def _elsewhere(self, command: Command) -> Any:
        await self._store.append(
            command.key, msgspec.json.encode(command).decode(), self._clock.now()
        )
        loop = asyncio.get_running_loop()
        deadline = loop.time() + ANSWER_SECONDS
        longest = self._rhythm.answer_seconds
        pause = longest / 4
        while loop.time() < deadline:
            answers = await self._store.answers([command.key])
            if command.key in answers:
                return from_text(answers[command.key])
            await asyncio.sleep(pause)
            pause = min(pause * 1.5, longest)
        first = command.jobs[0].id if isinstance(command, Submit) and command.jobs else None
        raise Undecided(first)

    def answered(self, answers: list[tuple[str, Any]]) -> None:
        for key, answer in answers:
            waiting = self._waiting.get(key)
            if waiting is not None and not waiting.done():
                waiting.set_result(answer)

    def lost(self) -> None:
        """This process no longer leads: what it had not decided, nobody here will."""
        for waiting in self._waiting.values():
            if not waiting.done():
                problem = "leadership was lost before this was decided; send it again, same id"
                waiting.set_result(StoreUnavailable(problem))
