"""How every call reaches the engine, and what all of them look at first."""

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from fairlane.core.inputs import Command, SaveRecord, Submit
from fairlane.core.validation import check_text
from fairlane.errors import Conflict, UnknownName
from fairlane.ids import new_id
from fairlane.tasks import Task

if TYPE_CHECKING:
    from fairlane.engine.engine import Engine
    from fairlane.runtime.clock import Clock
    from fairlane.store.protocol import Store

_MOST_TRIES: Final = 10


class Calling:
    if TYPE_CHECKING:
        tasks: dict[str, Task[Any, Any]]
        clock: Clock
        database: str

        @property
        def _engine(self) -> Engine: ...
        @property
        def _store(self) -> Store: ...
        async def _on_loop(self, coroutine: Any) -> Any: ...

    async def call(self, command: Command) -> Any:
        """Have the leader carry out a command."""
        _check_names(command)
        return await self._on_loop(self._engine.call(command))

    async def _change_record(
        self, kind: str, name: str, change: Callable[[str | None], str | None]
    ) -> None:
        """Read a document, change and keep it, again if somebody else was faster."""
        for _ in range(_MOST_TRIES):
            text = (await self._on_loop(self._store.records(kind))).get(name)
            with contextlib.suppress(Conflict):
                await self.call(SaveRecord(new_id(), kind, name, change(text), text))
                return
        raise Conflict(f'{kind} "{name}" is changed by others all the time; try again')

    async def _check_queue(self, queue: str) -> None:
        known = await self._on_loop(self._store.records("queue"))
        if queue not in known:
            raise UnknownName("queue", queue, known)


def _check_names(command: Command) -> None:
    """Refuse what no store could look for; the names of a submission were checked one by one."""
    if not isinstance(command, Submit):
        for field in set(command.__struct_fields__) - {"body", "instead_of", "params"}:
            given = getattr(command, field)
            for name in given if isinstance(given, tuple) else (given,):
                if isinstance(name, str):
                    check_text(field, name)
