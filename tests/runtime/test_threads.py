"""A call in a thread is awaited until it returns, also when the caller is cancelled."""

import asyncio
import subprocess
import sys
from concurrent.futures import Future
from functools import partial
from threading import Event

import pytest

from fairlane.runtime.threads import DaemonThread, await_thread, in_thread
from tests.support.process_control import environment


async def test_the_result_or_error_of_a_thread_reaches_the_caller() -> None:
    assert await in_thread(int, "7") == 7
    with pytest.raises(ValueError, match="invalid literal"):
        await in_thread(int, "seven")


async def test_a_cancellation_waits_for_the_thread() -> None:
    begun, gate, ended = Event(), Event(), Event()

    def work() -> None:
        begun.set()
        assert gate.wait(10)
        ended.set()

    waiting = asyncio.create_task(in_thread(work))
    await asyncio.to_thread(begun.wait, 10)
    for _ in range(2):  # a second cancellation waits as well
        waiting.cancel()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    assert not waiting.done()
    gate.set()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert ended.is_set()


async def test_a_cancelled_caller_gets_the_cancellation_when_the_thread_fails() -> None:
    work: Future[None] = Future()
    waiting = asyncio.create_task(await_thread(work))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.sleep(0)
    work.set_exception(OSError("the disk is full"))
    with pytest.raises(asyncio.CancelledError):
        await waiting


def test_a_thread_may_return_when_the_loop_has_closed(caplog: pytest.LogCaptureFixture) -> None:
    work: Future[int] = Future()

    async def begin() -> None:
        asyncio.create_task(await_thread(work))  # noqa: RUF006 - the task is never awaited
        await asyncio.sleep(0)

    loop = asyncio.new_event_loop()
    loop.run_until_complete(begin())
    (left,) = asyncio.all_tasks(loop)
    loop.close()
    work.set_result(7)
    assert not caplog.records  # a failed callback would be logged
    left._log_destroy_pending = False  # type: ignore[attr-defined]


async def test_a_daemon_thread_runs_its_calls_in_order_and_reports_their_errors() -> None:
    aside = DaemonThread("aside")
    gate, made = Event(), list[int]()
    waiting, late = aside.submit(gate.wait), aside.submit(partial(made.append, 1))
    assert late.cancel()  # the call has not started
    gate.set()
    assert await asyncio.wrap_future(waiting)
    with pytest.raises(RuntimeError, match="StopIteration"):
        await asyncio.wrap_future(aside.submit(partial(next, iter(()))))
    aside.close()
    assert made == []


_HANGING = """
from threading import Event
from fairlane.runtime.threads import DaemonThread

begun = Event()
DaemonThread("aside").submit(lambda: begun.set() or Event().wait())
begun.wait()
"""


def test_a_program_ends_although_a_call_in_a_daemon_thread_never_returns() -> None:
    command = [sys.executable, "-c", _HANGING]
    assert subprocess.run(command, timeout=30, check=False, env=environment()).returncode == 0
