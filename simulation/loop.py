"""An event loop that advances its time only when no callback is ready.

The loop runs several simulated processes. Each callback belongs to the process whose context
scheduled it, and is held back while that process is frozen; a killed process is frozen forever, at
the await where it stood. There are no threads: functions for an executor run at once.
"""

import asyncio
from collections.abc import Callable
from contextvars import Context, ContextVar, copy_context
from typing import Any, Final

Callback = Callable[..., Any]
_MAX_ROUNDS: Final = 100_000  # at one instant; the busiest worlds need a few hundred


class Standstill(Exception):
    """No callback or timer is left while a task still waits: a real program would hang forever."""


class Process:
    """A simulated process: a name for callbacks that can be frozen or killed."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.frozen = False
        self.alive = True
        self.held: list[tuple[Guard, Context]] = []

    def __repr__(self) -> str:
        return f"<{self.name}>"


current: ContextVar[Process | None] = ContextVar("process", default=None)


class Guard:
    """A callback that is held back while its process is frozen, unless it is cancelled
    meanwhile."""

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
            raise Standstill("tasks run without end while no time passes")
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
        """Resume a process: run its held callbacks in their original order."""
        process.frozen = False
        held, process.held = process.held, []
        for guard, context in held:
            self.call_soon(guard, context=context)

    def end_killed_tasks(self, processes: list[Process]) -> None:
        """Unfreeze killed processes at the end of a world, so that their tasks can be cancelled."""
        for process in processes:
            if process.frozen:
                self.thaw(process)
