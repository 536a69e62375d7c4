"""How a program drives a device, and the actor that stands for one while it is driven.

A device is a worker with a name and one slot, carried by the process that drives it: its orders,
its lease and its fences are those of that process. The actor connects to it, asks now and then
whether it still answers, and says what it found. A device that does not answer is down: it takes no
work, what it ran is interrupted, and the actor goes on trying until it is back.
"""

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final

from msgspec import Struct, field

from fairlane.core.live_job import WorkerId, device_id
from fairlane.errors import DeviceDown
from fairlane.runtime.threads import DaemonThread, in_thread
from fairlane.task.failure_kinds import classify

if TYPE_CHECKING:
    from fairlane.worker.attempt import Attempt
    from fairlane.worker.worker import Worker

log = logging.getLogger("fairlane.device")

_LONGEST_PAUSE_SECONDS: Final = 30.0  # between two tries to connect; the first is one second
_LONGEST_NOTE: Final = 500
PAUSED: Final = "paused"  # the note of a device that answers and is to take nothing


class Device:
    """One device, as a program drives it; say `app.queue("phones", devices=Phone)`.

    Every method may be plain, and runs in a thread then, or async. One that raises says that the
    device does not work now; of `prepare`, that the job does not. A task finds it as `ctx.device`.
    """

    check_seconds: ClassVar[float] = 10.0  # between two checks
    answer_seconds: ClassVar[float] = (
        30.0  # for which `connect`, `check` and `close` are waited for
    )

    def __init__(self, name: str, labels: tuple[str, ...], settings: dict[str, Any]) -> None:
        self.name = name
        self.labels = labels
        self.settings = settings

    def connect(self) -> Awaitable[None] | None:
        """Reach the device, for the first time or again after it was down."""

    def check(self) -> Awaitable[None] | None:
        """Raise if it does not answer; also while a job runs on it."""

    def prepare(self, ctx: Any, params: Mapping[str, Any]) -> Awaitable[None] | None:
        """Bring the device to where a job can begin."""

    def cleanup(self, ctx: Any, params: Mapping[str, Any]) -> Awaitable[None] | None:
        """Leave the device as the next job expects it, whatever happened to this one."""

    def close(self) -> Awaitable[None] | None:
        """Let go of the device."""


class DeviceRecord(Struct, frozen=True, kw_only=True):
    """What is stored of a device: where it serves, what it has, and how to reach it."""

    queue: str
    labels: tuple[str, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)
    paused: bool = False


class DeviceActor:
    def __init__(
        self,
        worker: "Worker",
        name: str,
        record: DeviceRecord,
        kind: type[Device],
        *,
        tell: Callable[["DeviceActor"], None],
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
        self._tell = tell
        self._now = now
        self._is_up = False
        self._retiring = False
        self._trouble: BaseException | None = None
        self._changed = asyncio.Event()  # what is stored of it, or what is known of it
        self._idle = asyncio.Event()
        self._idle.set()
        self._thread = DaemonThread(f"fairlane-device-{name}")
        # Its jobs take none of the slots of its carrier, so they must not wait for their threads.
        self.threads = ThreadPoolExecutor(worker.slots, thread_name_prefix=f"fairlane-task-{name}")

    @property
    def accepting(self) -> bool:
        is_well = self._is_up and self._trouble is None
        return is_well and not self._retiring and not self.record.paused

    @property
    def note(self) -> str:
        """Say why it takes nothing; empty while it would."""
        return PAUSED if self._is_up and self.record.paused else self._note

    # what others know

    def change(self, record: DeviceRecord) -> None:
        """Go by what is stored now; what runs here goes on as it began."""
        self.record = record
        self._changed.set()

    def retire(self) -> None:
        """Take nothing more, and end when nothing runs here any longer."""
        self._retiring = True
        self._changed.set()

    def begins(self, attempt: "Attempt") -> None:
        self.attempt = attempt
        self._idle.clear()
        log.info(
            "device %s begins job %s of task %s", self.name, attempt.start.job, attempt.start.task
        )

    def ended(self, attempt: "Attempt", result: str, seconds: float) -> None:
        self.attempt = None
        self._idle.set()
        log.info(
            "device %s ended job %s: %s after %.3f s", self.name, attempt.start.job, result, seconds
        )

    def trouble(self, error: BaseException) -> None:
        """A job found that the device does not work."""
        self._trouble = error
        self._changed.set()

    async def prepare(self, ctx: Any, params: Mapping[str, Any]) -> None:
        assert self.driver is not None
        await self._for_job(self.driver.prepare, ctx, params)

    @property
    def prepares_on_loop(self) -> bool:
        return self.driver is not None and inspect.iscoroutinefunction(self.driver.prepare)

    async def cleanup(self, ctx: Any, params: Mapping[str, Any]) -> None:
        """Tidy up after a job; if that fails, nobody knows how the device is, so it is down."""
        assert self.driver is not None
        context = ctx.for_driver(is_async=inspect.iscoroutinefunction(self.driver.cleanup))
        try:
            await self._for_job(self.driver.cleanup, context, params)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - the user's driver; people are told
            log.warning("device %s could not be cleaned up: %r", self.name, error)
            self.trouble(error)

    async def _for_job(self, method: Callable[..., Any], *args: Any) -> None:
        if inspect.iscoroutinefunction(method):
            await method(*args)
        else:
            made = await in_thread(partial(method, *args), threads=self.threads)
            if inspect.isawaitable(made):
                await made

    # its life

    async def run(self) -> None:
        """Keep the device connected until it retires."""
        failures = 0
        try:
            while not self._retiring:
                using = self.record
                try:
                    await self._connect(using)
                    failures = 0
                    await self._serve(using)
                except (Exception, SystemExit) as error:  # noqa: BLE001 - the user's driver; people are told
                    failures += 1
                    await self._down(error)
                    await self._pause(min(2.0 ** min(failures - 1, 10), _LONGEST_PAUSE_SECONDS))
                else:
                    await self._rest("reconnecting")
        finally:
            self._is_up = False
            self._thread.close()
            self.threads.shutdown(wait=False)

    async def _connect(self, record: DeviceRecord) -> None:
        self.driver = self._kind(self.name, record.labels, dict(record.settings))
        self._changed.clear()
        await self._answered(self.driver.connect)
        self._trouble = None
        self._is_up, self._note, self.seen_at = True, "", self._now()
        log.info("device %s is up", self.name)

    async def _serve(self, using: DeviceRecord) -> None:
        """Return when it is to be connected anew or retires; raise when it does not answer."""
        assert self.driver is not None
        while not self._retiring and _is_same(self.record, using):
            self._tell(self)
            await self._pause(self._kind.check_seconds)
            if self._trouble is not None:
                raise self._trouble
            await self._answered(self.driver.check)
            self.seen_at = self._now()

    async def _down(self, error: BaseException) -> None:
        self._is_up = False
        self._note = classify(error).message[:_LONGEST_NOTE]
        log.warning("device %s is down: %r", self.name, error)
        self._tell(self)
        if self.attempt is not None:
            self.attempt.stop("down")
        await self._let_go()

    async def _rest(self, note: str) -> None:
        self._is_up, self._note = False, note
        self._tell(self)
        await self._let_go()

    async def _let_go(self) -> None:
        """Wait for what still runs here, which has the device until it returns, and close it."""
        await self._idle.wait()
        driver, self.driver = self.driver, None
        if driver is not None:
            try:
                await self._answered(driver.close)
            except Exception as error:  # noqa: BLE001 - the user's driver; it is left behind anyway
                log.warning("device %s could not be closed: %r", self.name, error)

    async def _answered(self, method: Callable[[], Any]) -> None:
        """Call the driver; one that hangs is left alone, and whoever calls next waits behind it."""
        seconds = self._kind.answer_seconds
        work = asyncio.ensure_future(self._raised_by(method))
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

    async def _raised_by(self, method: Callable[[], Any]) -> BaseException | None:
        """Return what the driver raises, so that nothing of it can end this actor or the loop."""
        try:
            if inspect.iscoroutinefunction(method):
                await method()
            else:
                made = await asyncio.wrap_future(self._thread.submit(method))
                if inspect.isawaitable(made):
                    await made
        except BaseException as error:  # noqa: BLE001 - who cancels this does not look at it
            return error
        return None

    async def _pause(self, seconds: float) -> None:
        """Wait for a while, or until something about it changes."""
        if not self._retiring:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._changed.wait()
            self._changed.clear()


def _is_same(one: DeviceRecord, other: DeviceRecord) -> bool:
    """Tell whether a device need not be connected anew: to be paused changes nothing about it."""
    return (one.labels, one.settings) == (other.labels, other.settings)
