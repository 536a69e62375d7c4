"""The operations of a stage that wait: by awaiting on the event loop, or by blocking a thread."""

import asyncio
import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import Executor
from functools import partial
from typing import Any, Protocol

from fairlane.runtime.threads import in_thread
from fairlane.task.worker_link import WorkerLink


class StageOperations(Protocol):
    async def call(self, function: Callable[..., Any], *args: Any, **named: Any) -> Any: ...
    async def sleep(self, seconds: float) -> None: ...
    async def enter(
        self, stage: str, limits: tuple[str, ...], uses: tuple[tuple[str, int], ...]
    ) -> str: ...
    async def store_value(self, name: str, body: str | None) -> None: ...


class AsyncOperations:
    """Operations that await. A plain function runs in a thread, because it may block."""

    def __init__(self, link: WorkerLink, threads: Executor | None) -> None:
        self._link = link
        self._threads = threads

    async def call(self, function: Callable[..., Any], *args: Any, **named: Any) -> Any:
        if asyncio.iscoroutinefunction(function):
            return await function(*args, **named)
        call = partial(contextvars.copy_context().run, function, *args, **named)
        value = await in_thread(call, threads=self._threads)
        return await value if asyncio.iscoroutine(value) else value

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def enter(
        self, stage: str, limits: tuple[str, ...], uses: tuple[tuple[str, int], ...]
    ) -> str:
        return await self._link.enter_stage(stage, limits, uses)

    async def store_value(self, name: str, body: str | None) -> None:
        await self._link.store_value(name, body)


class BlockingOperations:
    """Operations that block. These coroutines never suspend, so a plain function can drive them."""

    def __init__(
        self,
        link: WorkerLink,
        wait: Callable[[Any], Any],
        wait_until_stopped: Callable[[Any], Any],
        stop: threading.Event,
    ) -> None:
        self._link = link
        self._wait = wait
        self._wait_until_stopped = wait_until_stopped
        self._stop = stop

    async def call(self, function: Callable[..., Any], *args: Any, **named: Any) -> Any:
        if self._stop.is_set():
            raise asyncio.CancelledError  # a job that is to stop starts no further function
        value = function(*args, **named)
        return self._wait_until_stopped(value) if asyncio.iscoroutine(value) else value

    async def sleep(self, seconds: float) -> None:
        if self._stop.wait(seconds):
            raise asyncio.CancelledError

    async def enter(
        self, stage: str, limits: tuple[str, ...], uses: tuple[tuple[str, int], ...]
    ) -> str:
        return str(self._wait_until_stopped(self._link.enter_stage(stage, limits, uses)))

    async def store_value(self, name: str, body: str | None) -> None:
        self._wait(self._link.store_value(name, body))
