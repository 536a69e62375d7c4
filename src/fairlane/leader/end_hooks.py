"""The hooks that are called when a job ends: callables of the program, or webhooks.

Each hook has a separate `HookDelivery`, so that a slow or failing hook delays no other hook.
"""

import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from fairlane.core.decisions import Decisions
from fairlane.core.inputs import Input, SaveRecord
from fairlane.leader.hook_delivery import CURSOR_KIND, DeclaredHook, HookDelivery
from fairlane.leader.notice import NOTICE_KIND, decode_notice, hook_of
from fairlane.leader.webhook import Hook, Webhook
from fairlane.runtime.clock import Clock
from fairlane.runtime.service import Service
from fairlane.store.protocol import Store


class EndHooks:
    def __init__(
        self,
        store: Store,
        hooks: list[DeclaredHook],
        call: Callable[[SaveRecord], Awaitable[Any]],
        clock: Clock,
        *,
        is_leading: Callable[[], bool],
    ) -> None:
        self._store = store
        self._clock = clock
        self.deliveries = [
            HookDelivery(declared, store, call, clock, is_leading=is_leading)
            for declared in _with_distinct_names(hooks)
        ]

    @property
    def services(self) -> list[Service]:
        return [delivery.service for delivery in self.deliveries]

    def change_leadership(self, _leading: bool) -> None:
        """Discard the state in memory: another leader may have called the hooks meanwhile."""
        for delivery in self.deliveries:
            delivery.reset()

    def wake(self) -> None:
        for delivery in self.deliveries:
            delivery.service.wake()

    def receive_commit(self, decisions: Decisions) -> None:
        if decisions.changes.ended:
            self.wake()

    async def prepare(self) -> None:
        """Read the number of the last event, before the first job can end."""
        if self.deliveries:
            begin = await self._store.last_seq()
            for delivery in self.deliveries:
                delivery.begin = begin

    def declare(self, stored: Mapping[tuple[str, str], str]) -> list[Input]:
        """Return the cursors of new hooks, and the removal of old notices of removed hooks.

        The leader commits them with the declarations of the program, so a crash in the first moment
        of a hook loses no end.
        """
        names = {delivery.name for delivery in self.deliveries}
        cursors = [
            SaveRecord("", CURSOR_KIND, delivery.name, str(delivery.begin))
            for delivery in self.deliveries
            if (CURSOR_KIND, delivery.name) not in stored and delivery.begin is not None
        ]
        removals = [
            SaveRecord("", NOTICE_KIND, name, None)
            for (kind, name), body in stored.items()
            if kind == NOTICE_KIND
            and hook_of(name) not in names
            and decode_notice(body).until < self._clock.now()
        ]
        return [*cursors, *removals]

    async def close(self) -> None:
        for delivery in self.deliveries:
            await delivery.close()


def hook_name(hook: Hook) -> str:
    """Return the name under which the deliveries of a hook are stored."""
    if isinstance(hook, Webhook):
        return hook.name
    named = hook if hasattr(hook, "__qualname__") else type(hook)
    return f"{_importable_name(named.__module__)}.{named.__qualname__}"


def _importable_name(module: str) -> str:
    """Return the name of a module as an import has it: a program runs as `__main__`, and `fairlane
    serve` imports the same file. Its hooks must have one name, or ends would be lost between."""
    if module != "__main__":
        return module
    main = sys.modules["__main__"]
    if main.__spec__ is not None:  # python -m package.module
        return main.__spec__.name
    file = getattr(main, "__file__", None)
    return Path(file).stem if file else module


def _with_distinct_names(hooks: list[DeclaredHook]) -> Iterator[DeclaredHook]:
    """Yield the hooks; the second hook of a name is "name 2"."""
    seen: Counter[str] = Counter()
    for declared in hooks:
        seen[declared.name] += 1
        number = seen[declared.name]
        yield declared if number == 1 else replace(declared, name=f"{declared.name} {number}")
