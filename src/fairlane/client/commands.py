"""The way of every call to the engine: commands to the leader, reads of the store."""

import contextlib
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final, TypeVar

from fairlane.core.inputs import Command, QueryState, SaveRecord, Submission, Submit
from fairlane.core.validation import check_text, check_types
from fairlane.engine.engine import Engine
from fairlane.engine.lifetime import Lifetime
from fairlane.errors import Conflict, UnknownName
from fairlane.ids import new_id
from fairlane.runtime.clock import Clock
from fairlane.store.protocol import Store
from fairlane.tracing import submission_span

T = TypeVar("T")

_MOST_TRIES: Final = 10


class Commands:
    """Send commands to the leader and run reads on the loop of this process's engine."""

    def __init__(self, lifetime: Lifetime, clock: Clock) -> None:
        self._lifetime = lifetime
        self.clock = clock

    @property
    def engine(self) -> Engine:
        return self._lifetime.engine

    @property
    def store(self) -> Store:
        return self.engine.store

    async def on_loop(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the engine's loop and return its result to the caller's loop."""
        return await self._lifetime.run(coroutine)

    async def call(self, command: Command) -> dict[str, Any]:
        """Have the leader execute a command; return the fields of its answer."""
        answer: dict[str, Any] = await self._send(command)
        return answer

    async def query(self, question: QueryState) -> bool:
        """Have the leader answer a question about its memory with yes or no."""
        return bool(await self._send(question))

    async def admit(
        self, submissions: Sequence[Submission], *, sent_before: bool = False
    ) -> list[dict[str, Any]]:
        """Have the leader admit all of these jobs or none; return one answer for each."""
        with submission_span(submissions):
            command = Submit(new_id(), list(submissions), sent_before)
            answers: list[dict[str, Any]] = await self._send(command)
        return answers

    async def _send(self, command: Command) -> Any:
        _check_values(command)
        return await self.on_loop(self.engine.calls.call(command))

    async def records(self, kind: str) -> dict[str, str]:
        """Return the stored documents of a kind ("queue", "schedule", "device", …) by name."""
        return await self.on_loop(self.store.records(kind))

    async def change_record(
        self, kind: str, name: str, change: Callable[[str | None], str | None]
    ) -> None:
        """Read a document, change and store it; start again if another process was faster."""
        for _ in range(_MOST_TRIES):
            text = (await self.records(kind)).get(name)
            with contextlib.suppress(Conflict):
                await self.call(SaveRecord(new_id(), kind, name, change(text), text))
                return
        raise Conflict(
            f'{kind} "{name}" was changed by other processes in each of {_MOST_TRIES} tries; '
            "try again"
        )

    async def check_queue(self, queue: str) -> None:
        """Raise if there is no queue of this name."""
        known = await self.records("queue")
        if queue not in known:
            raise UnknownName("queue", queue, known)


def _check_values(command: Command) -> None:
    """Refuse values that the leader or a store cannot use.

    The values of a submission are checked with its call.
    """
    if not isinstance(command, Submit):
        for field in set(command.__struct_fields__) - {"body", "instead_of", "params"}:
            value = getattr(command, field)
            for name in value if isinstance(value, tuple) else (value,):
                if isinstance(name, str):
                    check_text(field, name)
        check_types(f"the command {type(command).__name__}", command)
