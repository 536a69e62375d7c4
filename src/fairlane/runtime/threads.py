"""Work in threads, awaited until it has ended, also if the awaiting task is cancelled.

A thread cannot be cancelled, and a clean-up must not be. A task that stopped waiting would continue
while the thread still runs: its job would be reported as ended too early, and the changes of the
thread to files would be unknown.
"""

import asyncio
import os
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from typing import Any, Final, TypeVar

T = TypeVar("T")


_POOL_THREADS: Final = 16
_pool: ThreadPoolExecutor | None = None


async def in_thread(
    function: Callable[..., T], *args: object, threads: Executor | None = None
) -> T:
    """Run a function in a thread; a cancellation meanwhile is raised once it has returned.

    Without `threads` it runs in Fairlane's own pool: the default pool of the loop belongs to the
    program, which may fill it with calls that wait for Fairlane.
    """
    return await await_thread((threads or _our_pool()).submit(_call, function, *args))


def start_in_thread(function: Callable[..., T], *args: object) -> "Future[T]":
    """Run a function in Fairlane's thread pool without waiting for it; from any thread."""
    return _our_pool().submit(_call, function, *args)


async def await_thread(work: "Future[T]") -> T:
    """Wait until a thread has returned, then raise a cancellation that arrived meanwhile."""
    await await_thread_end(work)
    return work.result()


async def await_thread_end(work: "Future[Any]") -> None:
    """Do the same, whatever the thread returns or raises.

    It uses a bare future, which costs one iteration of the loop: each job waits here several times.
    """
    loop = asyncio.get_running_loop()
    cancellation: asyncio.CancelledError | None = None
    while not work.done():
        woken = loop.create_future()
        work.add_done_callback(partial(_wake_from_afar, loop, woken))
        try:
            await woken
        except asyncio.CancelledError as error:
            cancellation = error
    if cancellation is not None:
        raise cancellation


async def ended_within(work: "Future[Any]", seconds: float) -> bool:
    """Return whether a thread returns in this time; a cancellation waits until it has returned."""
    loop = asyncio.get_running_loop()
    woken = loop.create_future()
    work.add_done_callback(partial(_wake_from_afar, loop, woken))
    try:
        await asyncio.wait([woken], timeout=seconds)
    except asyncio.CancelledError:
        await await_thread_end(work)
        raise
    return work.done()


def start_in_new_thread(function: Callable[[], T], name: str) -> "Future[T]":
    """Run a function that may never return in a thread for it alone."""
    thread = DaemonThread(name)
    work = thread.submit(function)
    thread.close()
    return work


def _wake_from_afar(
    loop: asyncio.AbstractEventLoop, woken: "asyncio.Future[None]", _: object
) -> None:
    with suppress(RuntimeError):  # the loop has closed, with all its tasks
        loop.call_soon_threadsafe(resolve_future, woken)


def resolve_future(woken: "asyncio.Future[None]") -> None:
    """Wake the coroutine that awaits a bare future; on the loop of the future."""
    if not woken.done():
        woken.set_result(None)


def _our_pool() -> ThreadPoolExecutor:
    global _pool
    if _pool is None:
        _pool = ThreadPoolExecutor(_POOL_THREADS, thread_name_prefix="fairlane-background")
    return _pool


def _forget_pool() -> None:
    global _pool
    _pool = None  # a fork has none of its threads


os.register_at_fork(after_in_child=_forget_pool)


def _call(function: Callable[..., T], *args: object) -> T:
    try:
        return function(*args)
    except StopIteration as error:
        # A future refuses StopIteration, and its caller would wait for ever.
        raise RuntimeError(f"StopIteration: {error}") from error


class DaemonThread:
    """One thread for calls that may never return; a program ends without waiting for it."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._calls: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def submit(self, function: Callable[[], T]) -> "Future[T]":
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
            self._thread.start()
        work: Future[T] = Future()
        self._calls.put((work, function))
        return work

    def close(self) -> None:
        """Let the thread end after its present call."""
        self._calls.put(None)

    def _run(self) -> None:
        while (call := self._calls.get()) is not None:
            work, function = call
            if work.set_running_or_notify_cancel():
                try:
                    work.set_result(_call(function))
                except BaseException as error:  # noqa: BLE001 - raised again in the thread of the caller
                    work.set_exception(error)
            del call, work, function  # or their objects would stay alive until the next call


async def await_uncancelled(work: Awaitable[T], *, hurry: Callable[[], None] | None = None) -> T:
    """Await work even if this task is cancelled, and raise the cancellation afterwards.

    `hurry` is called at each such cancellation.
    """
    task = asyncio.ensure_future(work)
    cancellation: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            cancellation = error
            if hurry is not None:
                hurry()
    if cancellation is not None:
        task.exception()  # retrieved, so that asyncio does not log it
        raise cancellation
    return task.result()
