"""The operations of a stage that wait: by awaiting on the event loop, or by blocking a thread.

A thread cannot be stopped. A plain function with a time-out runs in a thread for it alone; when its
time is over, `CallTimedOut` names the thread, and the stage goes on without it.
"""

import asyncio
import contextvars
import threading
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Executor, Future, wait
from functools import partial
from typing import Any, Final, Protocol

from fairlane.runtime.threads import ended_within, in_thread, start_in_new_thread
from fairlane.task.worker_link import WorkerLink

_THREAD_NAME: Final = "fairlane-stage"


class CallTimedOut(Exception):
    """A function took too long; `leftover` is the thread in which it still runs."""

    def __init__(self, leftover: "Future[Any] | None" = None) -> None:
        self.leftover = leftover


class StageOperations(Protocol):
    async def call(
        self,
        function: Callable[..., Any],
        args: Sequence[Any],
        named: Mapping[str, Any],
        timeout_seconds: float | None,
    ) -> Any:
        """Call a function and return its result; raise `CallTimedOut` when its time is over."""

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

    async def call(
        self,
        function: Callable[..., Any],
        args: Sequence[Any],
        named: Mapping[str, Any],
        timeout_seconds: float | None,
    ) -> Any:
        if asyncio.iscoroutinefunction(function):
            return await _within(function(*args, **named), timeout_seconds)
        call = partial(contextvars.copy_context().run, function, *args, **named)
        left = timeout_seconds
        if timeout_seconds is None:
            value = await in_thread(call, threads=self._threads)
        else:
            began_at = time.monotonic()
            work = start_in_new_thread(call, _THREAD_NAME)
            if not await ended_within(work, timeout_seconds):
                raise CallTimedOut(work)
            value = work.result()
            left = began_at + timeout_seconds - time.monotonic()
        return await _within(value, left) if asyncio.iscoroutine(value) else value

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

    async def call(
        self,
        function: Callable[..., Any],
        args: Sequence[Any],
        named: Mapping[str, Any],
        timeout_seconds: float | None,
    ) -> Any:
        if self._stop.is_set():
            raise asyncio.CancelledError  # a job that is to stop starts no further function
        left = timeout_seconds
        if timeout_seconds is None or asyncio.iscoroutinefunction(function):
            value = function(*args, **named)
        else:
            began_at = time.monotonic()
            call = partial(contextvars.copy_context().run, function, *args, **named)
            work = start_in_new_thread(call, _THREAD_NAME)
            if not wait([work], timeout_seconds).done:
                raise CallTimedOut(work)
            value = work.result()
            left = began_at + timeout_seconds - time.monotonic()
        if not asyncio.iscoroutine(value):
            return value
        return self._wait_until_stopped(_within(value, left))

    async def sleep(self, seconds: float) -> None:
        if self._stop.wait(seconds):
            raise asyncio.CancelledError

    async def enter(
        self, stage: str, limits: tuple[str, ...], uses: tuple[tuple[str, int], ...]
    ) -> str:
        return str(self._wait_until_stopped(self._link.enter_stage(stage, limits, uses)))

    async def store_value(self, name: str, body: str | None) -> None:
        self._wait(self._link.store_value(name, body))


async def _within(coroutine: Coroutine[Any, Any, Any], seconds: float | None) -> Any:
    """Await a coroutine, and cancel it when its time is over."""
    try:
        async with asyncio.timeout(seconds) as limit:
            return await coroutine
    except TimeoutError:
        if not limit.expired():
            raise  # a TimeoutError of the function itself
        raise CallTimedOut from None
