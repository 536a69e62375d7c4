"""The lifetime of the engine: one per process, started once, dropped after a fork.

An engine runs on an event loop: the one that entered `async with app`, or, for programs without
asyncio, the loop of a dedicated thread that `app.start()` creates. After a fork the child has the
parent's memory and none of its threads. So it drops every handle, and starts a new engine at its
first call.
"""

import asyncio
import os
import threading
import weakref
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

from fairlane.engine.engine import Engine
from fairlane.errors import NotStarted, UsageError
from fairlane.process.child_pool import IN_CHILD

T = TypeVar("T")

_lifetimes: "weakref.WeakSet[Lifetime]" = weakref.WeakSet()


class Lifetime:
    def __init__(
        self,
        open_engine: Callable[[], Awaitable[Engine]],
        close: Callable[[Engine], Awaitable[None]],
    ) -> None:
        self._open = open_engine
        self._close = close
        self._lock = threading.Lock()
        self._engine: Engine | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._entering = False  # an engine is being opened by `async with`
        self._restart = False  # a fork took the engine of a started program away
        _lifetimes.add(self)

    @property
    def engine(self) -> Engine:
        if self._engine is None and self._restart:
            self.start()
        if self._engine is None:
            _refuse_in_child()
            raise NotStarted(
                "the engine is not started; use `async with app:` in an asyncio program, or "
                "`app.start()` and `app.sync` in a plain one"
            )
        return self._engine

    async def enter(self) -> None:
        """Start the engine on the running loop."""
        _refuse_in_child()
        with self._lock:
            if self._engine is not None or self._entering:
                raise UsageError(
                    "the engine is already started in this process; enter it only once"
                )
            self._entering = True
        try:
            self._loop = asyncio.get_running_loop()
            self._engine = await self._open()
        finally:
            self._entering = False

    async def leave(self) -> None:
        """Stop the engine; jobs that still run can use it until it has stopped."""
        engine = self._engine
        if engine is not None:
            try:
                await self._close(engine)
            finally:
                self._engine = None

    def start(self) -> None:
        """Start the engine in a dedicated thread; concurrent calls start one engine."""
        if os.environ.get(IN_CHILD):
            return  # importing the program in a child process never starts an engine
        with self._lock:
            if self._engine is not None:
                return
            if self._entering:
                raise UsageError("the engine is being started by `async with app`; start it once")
            ready: threading.Event = threading.Event()
            failure: list[BaseException] = []
            self._thread = threading.Thread(
                target=self._run_loop, args=(ready, failure), name="fairlane", daemon=True
            )
            self._thread.start()
            ready.wait()
            if failure:
                raise failure[0]
            self._restart = False

    def _run_loop(self, ready: threading.Event, failure: list[BaseException]) -> None:
        loop = asyncio.new_event_loop()
        try:
            self._loop = loop
            self._engine = loop.run_until_complete(self._open())
        except BaseException as error:  # noqa: BLE001 - raised again in the caller's thread
            failure.append(error)
            loop.close()
            return
        finally:
            ready.set()
        loop.run_forever()
        loop.run_until_complete(_cancel_remaining_calls())
        loop.close()

    def stop(self) -> None:
        if self._loop is not None and _running_loop() is self._loop:
            raise UsageError("app.stop() was called on the engine's own loop, which it would block")
        with self._lock:
            self._restart = False
            thread, loop = self._thread, self._loop
            if thread is None or loop is None or self._engine is None:
                return
            asyncio.run_coroutine_threadsafe(self.leave(), loop).result()
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            self._thread = None

    async def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the engine's loop, from any loop."""
        if self._loop is asyncio.get_running_loop():
            return await coroutine
        return await asyncio.wrap_future(self._submit(coroutine))

    def run_sync(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return self._submit(coroutine).result()

    def _submit(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        try:
            _ = self.engine
        except BaseException:
            coroutine.close()
            raise
        assert self._loop is not None
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def forked(self) -> None:
        """Drop the handles of the parent process, which this copy of it must not use."""
        engine = self._engine
        self._lock = threading.Lock()
        self._restart = self._thread is not None and engine is not None
        self._engine = self._loop = self._thread = None
        self._entering = False
        if engine is not None:
            engine.store.abandon()
            _inherited.append(engine)


async def _cancel_remaining_calls() -> None:
    """Cancel calls that arrived while the engine stopped, so that their callers return."""
    rest = asyncio.all_tasks() - {asyncio.current_task()}
    for task in rest:
        task.cancel()
    await asyncio.gather(*rest, return_exceptions=True)


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _refuse_in_child() -> None:
    if os.environ.get(IN_CHILD):
        raise UsageError(
            "a child process imports this program to find its tasks, and the program tried to run; "
            'put the code that starts it under `if __name__ == "__main__":`'
        )


_inherited: list[Engine] = []  # referenced, so that no destructor closes a handle of the parent


def _after_fork() -> None:
    for lifetime in list(_lifetimes):
        lifetime.forked()


os.register_at_fork(after_in_child=_after_fork)
