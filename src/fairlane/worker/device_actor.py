"""The actor that drives one device for as long as this process carries it.

A device is a worker with a name and one slot, carried by the process that drives it: its orders,
its lease and its fences are those of that process. The actor connects to the device, checks at
intervals whether it still answers, and reports its state to the leader. A device that does not
answer is down: it accepts no jobs, its running job is interrupted, and the actor tries to connect
until the device is back.
"""

import asyncio
import inspect
import logging
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from fairlane.core.live_job import WorkerId, device_id
from fairlane.errors import DeviceDown
from fairlane.runtime.threads import DaemonThread, in_thread
from fairlane.task.context import context_for_driver
from fairlane.task.failure_kinds import classify
from fairlane.worker.device import PAUSED, Device, DeviceRecord

if TYPE_CHECKING:
    from fairlane.worker.attempt import Attempt
    from fairlane.worker.worker import Worker

log = logging.getLogger("fairlane.device")

_LONGEST_PAUSE_SECONDS: Final = 30.0  # between two tries to connect; the first is one second
_LONGEST_NOTE: Final = 500


class DeviceActor:
    def __init__(
        self,
        worker: "Worker",
        name: str,
        record: DeviceRecord,
        kind: type[Device],
        *,
        report: Callable[["DeviceActor"], None],
        now: Callable[[], float],
    ) -> None:
        self.id: WorkerId = device_id(worker.id, name)
        self.name = name
        self.record = record
        self.driver: Device | None = None
        self._note = "connecting"
        self.seen_at: float | None = None
        self.attempt: Attempt | None = None
        self._kind = kind
        self._report = report
        self._now = now
        self._is_up = False
        self._retiring = False
        self._failure: BaseException | None = None  # raised by a job on the device
        self._changed = asyncio.Event()  # the record, `_retiring` or `_failure` has changed
        self._idle = asyncio.Event()
        self._idle.set()
        self._thread = DaemonThread(f"fairlane-device-{name}")
        # Jobs of the device use no slots of its carrier, so they must not wait for its threads.
        self.threads = ThreadPoolExecutor(worker.slots, thread_name_prefix=f"fairlane-task-{name}")

    @property
    def accepting(self) -> bool:
        is_well = self._is_up and self._failure is None
        return is_well and not self._retiring and not self.record.paused

    @property
    def note(self) -> str:
        """The reason why the device accepts no jobs; empty while it accepts them."""
        return PAUSED if self._is_up and self.record.paused else self._note

    # called by the claims and by attempts

    def change_record(self, record: DeviceRecord) -> None:
        """Use the record that is stored now; a running job keeps the old connection."""
        self.record = record
        self._changed.set()

    def retire(self) -> None:
        """Accept no further job, and end when the running job has ended."""
        self._retiring = True
        self._changed.set()

    def attempt_started(self, attempt: "Attempt") -> None:
        self.attempt = attempt
        self._idle.clear()
        log.info(
            "device %s starts job %s of task %s", self.name, attempt.start.job, attempt.start.task
        )

    def attempt_ended(self, attempt: "Attempt", result: str, seconds: float) -> None:
        self.attempt = None
        self._idle.set()
        log.info(
            "device %s ended job %s: %s after %.3f s", self.name, attempt.start.job, result, seconds
        )

    def fail(self, error: BaseException) -> None:
        """Take the device down, because a job found that it does not work."""
        self._failure = error
        self._changed.set()

    async def prepare(self, ctx: Any, params: Mapping[str, Any]) -> None:
        assert self.driver is not None
        await self._call_for_job(self.driver.prepare, ctx, params)

    @property
    def prepares_on_loop(self) -> bool:
        return self.driver is not None and inspect.iscoroutinefunction(self.driver.prepare)

    async def cleanup(self, ctx: Any, params: Mapping[str, Any]) -> None:
        """Clean up after a job; if that fails, the state of the device is unknown: it is down."""
        assert self.driver is not None
        is_async = inspect.iscoroutinefunction(self.driver.cleanup)
        context = context_for_driver(ctx, is_async=is_async)
        try:
            await self._call_for_job(self.driver.cleanup, context, params)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - the user's driver; it is logged
            log.warning("device %s could not be cleaned up: %r", self.name, error)
            self.fail(error)

    async def _call_for_job(self, method: Callable[..., Any], *args: Any) -> None:
        if inspect.iscoroutinefunction(method):
            await method(*args)
        else:
            result = await in_thread(partial(method, *args), threads=self.threads)
            if inspect.isawaitable(result):
                await result

    # its task

    async def run(self) -> None:
        """Hold the connection to the device until it retires."""
        failures = 0
        try:
            while not self._retiring:
                record = self.record
                try:
                    await self._connect(record)
                    failures = 0
                    await self._serve(record)
                except (Exception, SystemExit) as error:  # noqa: BLE001 - the user's driver; it is logged
                    failures += 1
                    await self._go_down(error)
                    await self._pause(min(2.0 ** min(failures - 1, 10), _LONGEST_PAUSE_SECONDS))
                else:
                    await self._disconnect("reconnecting")
        finally:
            self._is_up = False
            self._thread.close()
            self.threads.shutdown(wait=False)

    async def _connect(self, record: DeviceRecord) -> None:
        self.driver = self._kind(self.name, record.labels, dict(record.settings))
        self._changed.clear()
        await self._call_driver(self.driver.connect)
        self._failure = None
        self._is_up, self._note, self.seen_at = True, "", self._now()
        log.info("device %s is up", self.name)

    async def _serve(self, record: DeviceRecord) -> None:
        """Check the device at intervals; return when it must reconnect or retire."""
        assert self.driver is not None
        while not self._retiring and _has_same_connection(self.record, record):
            self._report(self)
            await self._pause(self._kind.check_seconds)
            if self._failure is not None:
                raise self._failure
            await self._call_driver(self.driver.check)
            self.seen_at = self._now()

    async def _go_down(self, error: BaseException) -> None:
        self._is_up = False
        self._note = classify(error).message[:_LONGEST_NOTE]
        log.warning("device %s is down: %r", self.name, error)
        self._report(self)
        if self.attempt is not None:
            self.attempt.stop("down")
        await self._close_driver()

    async def _disconnect(self, note: str) -> None:
        self._is_up, self._note = False, note
        self._report(self)
        await self._close_driver()

    async def _close_driver(self) -> None:
        """Close the driver once the running job, which uses it until it returns, has ended."""
        await self._idle.wait()
        driver, self.driver = self.driver, None
        if driver is not None:
            try:
                await self._call_driver(driver.close)
            except Exception as error:  # noqa: BLE001 - the user's driver; it is dropped anyway
                log.warning("device %s could not be closed: %r", self.name, error)

    async def _call_driver(self, method: Callable[[], Any]) -> None:
        """Call a method of the driver with a timeout.

        A plain method that hangs cannot be stopped: the next call waits behind it in its thread.
        """
        seconds = self._kind.answer_seconds
        work = asyncio.ensure_future(self._exception_of(method))
        try:
            done, _ = await asyncio.wait([work], timeout=seconds)
        finally:
            work.cancel()
        if not done:
            raise DeviceDown(f"{method.__name__} did not answer within {seconds:g} s")
        error = work.result()
        if isinstance(error, Exception):
            raise error
        if error is not None:
            raise DeviceDown(f"{method.__name__} raised {error!r}") from error

    async def _exception_of(self, method: Callable[[], Any]) -> BaseException | None:
        """Call the driver and return its exception; raised, it could end this actor or the loop."""
        try:
            if inspect.iscoroutinefunction(method):
                await method()
            else:
                result = await asyncio.wrap_future(self._thread.submit(method))
                if inspect.isawaitable(result):
                    await result
        except BaseException as error:  # noqa: BLE001 - a caller that cancels this ignores the result
            return error
        return None

    async def _pause(self, seconds: float) -> None:
        """Wait for these seconds, or until `_changed` is set."""
        if not self._retiring:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._changed.wait()
            self._changed.clear()


def _has_same_connection(one: DeviceRecord, other: DeviceRecord) -> bool:
    """Whether two records need no new connection between them; a pause needs none."""
    return (one.labels, one.settings) == (other.labels, other.settings)
