"""The renewal of the lease of a worker, if several processes work on one database.

- The lease is renewed from a dedicated thread, so that blocking user code does not end it.
- A worker that cannot renew does not know whether the leader counts it as dead. So it returns its
  jobs while its lease certainly holds. If an attempt still runs shortly before the end of the
  lease, the process ends itself: the next attempt must not overlap this one.
- A renewal also tells whether a process leads. A standby renews more often for that reason, and
  needs no second transaction to notice that the leader is gone.
- Times are measured from before a renewal is sent, on a clock that continues while the machine
  sleeps. The leader measures from when it sees the renewal, and waits longer than the worker.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from typing import Any, Final

from msgspec import Struct

from fairlane.core.live_job import WorkerId
from fairlane.runtime.clock import boot_seconds
from fairlane.store.shared_protocol import Lease, Renewal, Standing

log = logging.getLogger("fairlane.lease")

LEASE_SECONDS: Final = 10.0
_UNKNOWN: Final = object()  # it is unknown whether the database did it


class LeaseTimes(Struct, frozen=True, kw_only=True):
    """The duration of a lease, and the times of the events in it."""

    lease_seconds: float = LEASE_SECONDS
    renew_seconds: float = 2.0  # between two renewals
    standby_seconds: float = 1.05  # between two renewals of a standby, on average
    return_seconds: float = 6.0  # without a renewal: the jobs are returned
    end_seconds: float = 8.0  # without a renewal: a process with a running attempt ends
    margin_seconds: float = 2.0  # after the lease, until the leader counts the worker as dead


DEFAULT_TIMES: Final = LeaseTimes()


class LeaseCallbacks(Struct, frozen=True, kw_only=True):
    """Callbacks of a lease renewal into its process, all on the thread of the renewal."""

    is_standby: Callable[[], bool]
    """Tell whether this process waits to lead."""

    stand: Callable[[], None]
    """Stand for election at once: no process leads."""

    renew_deadline: Callable[[float], None]
    """Tell child processes until when they may run."""

    is_running: Callable[[WorkerId], bool]
    """Tell whether an attempt that this worker id started still runs."""

    introduce: Callable[[], None]
    """Send `WorkerJoined` to the leader."""

    return_jobs: Callable[[], None]
    """Stop every attempt and return its job: the lease may not be renewed in time."""

    resume: Callable[[], None]
    """Accept jobs again after a `return_jobs`, or after jobs were refused."""

    restart: Callable[[], None]
    """Stop every attempt and restart with a new worker id: the leader counts this one dead."""

    end_process: Callable[[], None]
    """End the process at once: its attempts must not overlap those of other processes."""


class LeaseRenewal:
    def __init__(
        self,
        worker: WorkerId,
        lease: Lease,
        callbacks: LeaseCallbacks,
        *,
        times: LeaseTimes = DEFAULT_TIMES,
        now: Callable[[], float] = boot_seconds,
    ) -> None:
        self._worker = worker
        self._lease = lease
        self._callbacks = callbacks
        self._times = times
        self._now = now
        self.renewed_at: float | None = None
        self._leader_seen_at: float | None = None
        self._jobs_returned = False
        self._refused = False  # a job, because the lease was in doubt
        self._in_doubt_until: float | None = None
        self._stopping = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._pause: asyncio.Event | None = None

    def is_held(self) -> bool:
        """Tell whether a job may start; from any thread.

        A process that was frozen past its lease may renew it at the moment in which the leader
        counts it as dead, and continue with earlier orders. So it starts no job until the leader
        must have seen the renewal.
        """
        if self._is_older_than(self._times.return_seconds) or self._is_in_doubt():
            self._refused = True
            return False
        return True

    def sees_leader(self) -> bool:
        """Tell whether a process led at the last renewal, a moment ago; from any thread."""
        seen_at = self._leader_seen_at
        return seen_at is not None and self._now() - seen_at < self._times.renew_seconds

    def stop(self) -> None:
        """End soon; from any thread."""
        self._stopping = True
        if self._loop is not None and self._pause is not None:
            try:
                self._loop.call_soon_threadsafe(self._pause.set)
            except RuntimeError:
                pass  # the renewal has ended, and its loop is closed

    async def run(self) -> None:
        """Renew the lease until stopped, or until the leader counts this worker as dead."""
        self._loop, self._pause = asyncio.get_running_loop(), asyncio.Event()
        try:
            while not self._stopping:
                began = self._now()
                standing = await (self._acquire() if self.renewed_at is None else self._renew())
                if standing == "dead":
                    await self._restart()
                    return
                if not self._meet_deadlines(renewed=standing is not None):
                    return
                await self._wait(max(0.0, began + self._pause_after(standing) - self._now()))
        finally:
            await self._lease.close()

    def _pause_after(self, standing: Standing | None) -> float:
        if standing != "known":
            return self._times.renew_seconds / 4
        if self._callbacks.is_standby():
            # At random moments: several standbys together notice the end of the leader sooner.
            return self._times.standby_seconds * random.uniform(0.85, 1.15)
        return self._times.renew_seconds

    async def _acquire(self) -> Standing | None:
        sent_at = self._now()
        if await self._try_in_time(self._lease.begin()) is not _UNKNOWN:
            self._mark_renewed(sent_at)
            self._callbacks.introduce()
        return None

    async def _renew(self) -> Standing | None:
        """Renew the lease; return None if it is unknown whether the database did it."""
        sent_at = self._now()
        renewal = await self._try_in_time(self._lease.renew())
        if renewal is _UNKNOWN:
            return None
        self._look_for_leader(renewal, sent_at)
        standing: Standing = renewal.standing
        if standing != "dead":
            if self._is_older_than(self._times.lease_seconds):
                self._in_doubt_until = sent_at + self._times.return_seconds
            self._mark_renewed(sent_at)
        if standing == "unknown":
            self._callbacks.introduce()
        return standing

    def _look_for_leader(self, renewal: Renewal, sent_at: float) -> None:
        self._leader_seen_at = sent_at if renewal.has_leader else None
        if not renewal.has_leader and self._callbacks.is_standby():
            self._callbacks.stand()

    async def _try_in_time(self, doing: Awaitable[Any]) -> Any:
        try:
            async with asyncio.timeout(self._times.renew_seconds / 2):
                return await doing
        except Exception as error:  # noqa: BLE001 - after any error the lease runs out
            log.warning("the lease could not be renewed: %r", error)
            return _UNKNOWN

    def _mark_renewed(self, sent_at: float) -> None:
        self.renewed_at = sent_at
        # A child process must end before the leader may count this worker as dead.
        self._callbacks.renew_deadline(sent_at + self._times.end_seconds)

    def _meet_deadlines(self, *, renewed: bool) -> bool:
        """Return the jobs while the lease certainly holds; after that, end the process."""
        times = self._times
        if self._is_older_than(times.end_seconds) and self._callbacks.is_running(self._worker):
            self._end_process("it could not renew its lease, and an attempt does not stop")
            return False
        if self._is_older_than(times.return_seconds) and not self._jobs_returned:
            self._jobs_returned = True
            log.warning("the lease cannot be renewed: running jobs are returned")
            self._callbacks.return_jobs()
        elif renewed and (self._jobs_returned or self._refused) and not self._is_in_doubt():
            self._jobs_returned = self._refused = False
            self._callbacks.resume()
        return True

    def _is_in_doubt(self) -> bool:
        return self._in_doubt_until is not None and self._now() < self._in_doubt_until

    def _is_older_than(self, seconds: float) -> bool:
        return self.renewed_at is not None and self._now() - self.renewed_at >= seconds

    async def _wait(self, seconds: float) -> None:
        assert self._pause is not None
        try:
            async with asyncio.timeout(seconds):
                await self._pause.wait()
        except TimeoutError:
            pass

    async def _restart(self) -> None:
        """Stop all attempts, or end the process: other workers may run the same jobs by now."""
        if self._stopping:
            return  # the process itself reported that it is gone
        log.warning("the leader counts this worker as dead; its running attempts are stopped")
        self._callbacks.restart()
        grace = self._times.end_seconds - self._times.return_seconds
        until = self._now() + grace
        # The attempts run on another thread, and this wait is short.
        while self._callbacks.is_running(self._worker) and self._now() < until:  # noqa: ASYNC110
            await asyncio.sleep(grace / 40)
        if self._callbacks.is_running(self._worker):
            self._end_process("it counts as dead, and an attempt does not stop")

    def _end_process(self, why: str) -> None:
        log.critical("this process ends itself: %s", why)
        self._callbacks.end_process()
