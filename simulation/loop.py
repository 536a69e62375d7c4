"""An event loop whose time passes only when nothing is left to do.

It runs several simulated processes at once. Each callback belongs to the process that asked for it
(by its context), and is held back while that process is frozen; one that was killed is frozen for
good, at the very await where it stood. Threads do not exist here: what would go to one runs at
once.
"""

import asyncio
from collections.abc import Callable
from contextvars import Context, ContextVar, copy_context
from typing import Any, Final

Callback = Callable[..., Any]
_MAX_ROUNDS: Final = 100_000  # at one instant; the busiest worlds need a few hundred


class Standstill(Exception):
    """Nothing is left to happen, and somebody still waits: in a real program, for ever."""


class Process:
    """What runs on the loop under one name, and can be frozen or killed."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.frozen = False
        self.alive = True
        self.held: list[tuple[Guard, Context]] = []

    def __repr__(self) -> str:
        return f"<{self.name}>"


current: ContextVar[Process | None] = ContextVar("process", default=None)


class Guard:
    """A callback that waits while its process is frozen, unless it is cancelled meanwhile."""

    __slots__ = ("args", "callback", "handle", "process")

    def __init__(self, process: Process | None, callback: Callback, args: tuple[Any, ...]) -> None:
        self.process = process
        self.callback = callback
        self.args = args
        self.handle: asyncio.Handle | None = None

    def __call__(self) -> None:
        if self.process is not None and self.process.frozen:
            self.process.held.append((self, copy_context()))
        elif self.handle is None or not self.handle.cancelled():
            self.callback(*self.args)


class SimulatedLoop(asyncio.BaseEventLoop):
    def __init__(self) -> None:
        super().__init__()
        self._passed = 0.0
        self._selector = self  # the base class asks it to wait
        self._clock_resolution = 1e-9
        self._rounds = 0

    def time(self) -> float:
        return self._passed

    def select(self, timeout: float | None) -> list[Any]:
        if timeout is None:
            raise Standstill("nothing is left to happen")
        self._rounds = 0 if timeout else self._rounds + 1
        if self._rounds > _MAX_ROUNDS:
            raise Standstill("somebody goes round and round, and no time passes")
        self._passed += timeout
        return []

    def _process_events(self, event_list: list[Any]) -> None:
        pass  # there are no sockets

    def _write_to_self(self) -> None:
        pass  # there is no other thread to wake this one from

    def run_in_executor(  # type: ignore[override]
        self, executor: Any, func: Callback, *args: Any
    ) -> Any:
        done = self.create_future()
        try:
            done.set_result(func(*args))
        except Exception as error:  # noqa: BLE001 - raised again where it is awaited
            done.set_exception(error)
        return done

    def _call_soon(self, callback: Callback, args: Any, context: Context | None) -> asyncio.Handle:
        guard = self._guard(callback, args, context)
        guard.handle = super()._call_soon(guard, (), context)  # type: ignore[misc]
        return guard.handle

    def call_at(  # type: ignore[override]
        self, when: float, callback: Callback, *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        guard = self._guard(callback, args, context)
        guard.handle = handle = super().call_at(when, guard, context=context)
        return handle

    @staticmethod
    def _guard(callback: Callback, args: tuple[Any, ...], context: Context | None) -> "Guard":
        return Guard(current.get() if context is None else context.get(current), callback, args)

    def thaw(self, process: Process) -> None:
        """Let a process go on where it stood, in the order in which things happened to it."""
        process.frozen = False
        held, process.held = process.held, []
        for guard, context in held:
            self.call_soon(guard, context=context)

    def end_killed_tasks(self, processes: list[Process]) -> None:
        """Let the dead run once more, to their end."""
        for process in processes:
            if process.frozen:
                self.thaw(process)
