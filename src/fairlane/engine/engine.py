"""The engine of one process: it builds, connects, starts and stops the objects.

The leader runs in a dedicated thread with its own loop. All other objects live on the loop that
started the engine. Each commit crosses from one to the other as one call (see `Notifications`).
"""

import asyncio
import logging
import os
import socket
import threading
from collections.abc import Callable, Mapping
from typing import Final, cast

import msgspec

from fairlane.cluster.fleet import Fleet, MessageRef, SharedFleet, SoloFleet
from fairlane.cluster.lease_renewal import DEFAULT_TIMES as LEASE
from fairlane.cluster.lease_renewal import LeaseRenewal, LeaseTimes
from fairlane.cluster.lease_watch import LeaseWatch
from fairlane.cluster.membership import Membership
from fairlane.core.decisions import Decisions, Stop, last_start
from fairlane.core.inputs import (
    ChangeSetting,
    Input,
    QueryState,
    SaveRecord,
    WorkerGone,
    WorkerJoined,
)
from fairlane.core.lifecycle import State
from fairlane.core.live_job import JobId, WorkerId, carrier_of
from fairlane.engine.commit_watch import CommitWatch
from fairlane.engine.event_feed import EventFeed
from fairlane.engine.job_waiters import JobWaiters
from fairlane.errors import FairlaneError
from fairlane.ids import new_id
from fairlane.leader.command_calls import CommandCalls
from fairlane.leader.end_hooks import EndHooks
from fairlane.leader.history_retention import HistoryLimit, HistoryRetention
from fairlane.leader.hook_delivery import DeclaredHook
from fairlane.leader.host import LeaderHost
from fairlane.leader.inbox import Inbox
from fairlane.leader.leader import Leader
from fairlane.leader.notifications import Notifications
from fairlane.leader.queue_log import QueueLog
from fairlane.logs import attempt_fields
from fairlane.runtime.clock import Clock, boot_seconds
from fairlane.runtime.counters import Counters
from fairlane.runtime.loop_lag import measure_lag
from fairlane.runtime.poll_intervals import NOTIFIED, POLLING, PollIntervals
from fairlane.runtime.threads import await_uncancelled, in_thread
from fairlane.store.protocol import Store
from fairlane.store.shared_protocol import INBOX, NEWS, SharedStore
from fairlane.store.views import Payload
from fairlane.task.definition import Definition
from fairlane.worker.device import Device
from fairlane.worker.device_claims import DeviceClaims
from fairlane.worker.worker import Worker

log = logging.getLogger("fairlane.engine")

_STOP_SECONDS: Final = 5.0
_LEASE_LOST: Final = 70  # the exit code of a process that ended itself


class Engine:
    def __init__(
        self,
        store: Store,
        definitions: Mapping[str, Definition],
        declare: Callable[[Mapping[tuple[str, str], str]], list[Input]],
        *,
        clock: Clock,
        slots: int,
        recheck_seconds: float,
        hooks: list[DeclaredHook],
        work: bool,
        queues: tuple[str, ...] | None = None,
        labels: tuple[str, ...] = (),
        drivers: Mapping[str, type[Device]] | None = None,
        keep_history: HistoryLimit = None,
        leads: bool = True,
        inbox: Inbox | None = None,
        intervals: PollIntervals | None = None,
        times: LeaseTimes = LEASE,
    ) -> None:
        shared = not store.single_process
        if intervals is None:
            intervals = NOTIFIED if shared else POLLING
        self.store = store
        self.inbox = Inbox() if inbox is None else inbox
        self.calls = CommandCalls(store, self.inbox, clock, intervals)
        self.feed = EventFeed(store)
        self.waits = JobWaiters(store)
        self.counters = Counters()
        self.worker = Worker(
            self.send_to_leader,
            definitions,
            clock,
            slots=slots,
            recheck_seconds=recheck_seconds,
            counters=self.counters,
        )
        self._loop = asyncio.get_running_loop()
        self._notifications = Notifications(self._loop, self._deliver_orders)
        self.membership: Membership | None = None
        fleet: Fleet = SoloFleet()
        if shared:
            many = cast("SharedStore", store)
            self.membership = Membership(
                self, self.worker, many, clock, self.poll_seconds, times,
                notify_channel=self._notifications.notify_channel,
            )  # fmt: skip
            lease_watch = LeaseWatch(times.lease_seconds, times.margin_seconds, lambda: self.now())
            fleet = SharedFleet(many, lease_watch, self.is_own)
        host = LeaderHost(
            declare=lambda stored: [*declare(stored), *self.hooks.declare(stored)],
            joined=self.joined,
            unacknowledged=self.worker.unacknowledged_inputs,
            poll_seconds=self.poll_seconds,
            sees_leader=lambda: self.membership is not None and self.membership.sees_leader(),
            is_own=self.is_own,
            is_running=self.is_running,
            needs_check=self._needs_check,
            check_early=self.worker.check_preconditions_early,
            report_missing_tasks=self._report_missing_tasks,
        )
        self.leader = Leader(
            store, self.inbox, clock, host, self._notifications,
            intervals=intervals, fleet=fleet, counters=self.counters,
        )  # fmt: skip
        self._declare = declare
        self._definitions = definitions
        self.works = work
        self._leads = leads
        self.queues = queues
        self.clock = clock
        self.devices = DeviceClaims(self, drivers or {})
        self._labels = labels
        self._intervals = intervals
        self._elected = asyncio.Event()
        self._leader_thread: threading.Thread | None = None
        self._renewal_thread: threading.Thread | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self.hooks = EndHooks(store, hooks, self.calls.call, clock, is_leading=self.is_leading)
        self._retention = HistoryRetention(store, clock, keep_history, is_leading=self.is_leading)
        self._watch = CommitWatch(
            store, self.waits, self.feed,
            poll_seconds=self.poll_seconds, is_leading=self.is_leading,
        )  # fmt: skip
        self._register_receivers()

    def _register_receivers(self) -> None:
        """Register, in the order in which they are called, the receivers of notifications."""
        notify, hooks, watch = self._notifications, self.hooks, self._watch
        notify.on_leadership += [self.calls.change_leadership, hooks.change_leadership]
        if self.membership is not None:
            notify.on_leadership.append(self.membership.change_leadership)
        notify.on_election += [
            self._elected.set,
            self.devices.service.wake,
            watch.service.wake,
            hooks.wake,
            self._retention.service.wake,
        ]
        notify.on_reload += [
            self._repeat_stops,
            watch.receive_reload,
            lambda _: hooks.wake(),
            lambda _: self.feed.service.wake(),
        ]
        notify.on_commit += [
            self.calls.deliver_answers,
            self.devices.receive_commit,
            self._forget_ended,
            hooks.receive_commit,
            watch.receive_commit,
            self.feed.receive_commit,
            QueueLog().receive_commit,  # the last: a handler of the program may raise
        ]
        notify.on_channel = {
            INBOX: [self.leader.poll_inbox_soon],
            NEWS: [
                self.calls.answer_polling.wake,
                watch.service.wake,
                self.devices.receive_news,
            ],
        }

    async def start(self) -> None:
        await self.hooks.prepare()
        services = [
            self.worker.reporting,
            self.worker.rechecking,
            self.devices.service,
            self._retention.service,
            *self.hooks.services,
            self.feed.service,
            self._watch.service,
            self.calls.answer_polling,
            *(self.membership.services if self.membership is not None else ()),
        ]
        self._tasks = [asyncio.create_task(service.run()) for service in services]
        watching = measure_lag(self.counters.program_lag, self._intervals.lag_seconds)
        self._tasks.append(asyncio.create_task(watching))
        try:
            if self.membership is not None:
                await self.membership.begin(works=self.works)
            if self._leads:
                self.start_leader_thread()
                await self._elected.wait()
            if not self.calls.leading:
                self._tasks.append(asyncio.create_task(self._declare_to_leader()))
        except BaseException:
            await await_uncancelled(self._end())
            raise

    async def _declare_to_leader(self) -> None:
        """Send the declarations of this program that are not stored yet to the leader."""
        kinds = ("queue", "rate", "resource", "schedule", "task")
        try:
            stored = {
                (kind, name): body
                for kind in kinds
                for name, body in (await self.store.records(kind)).items()
            }
            for input in self._declare(stored):
                if (
                    isinstance(input, ChangeSetting | SaveRecord)
                    and (input.kind, input.name) not in stored
                ):
                    if isinstance(input, SaveRecord):
                        input.if_absent = True  # an operator may have changed it since
                    await self.calls.call(msgspec.structs.replace(input, key=new_id()))
        except FairlaneError as error:
            log.warning(
                "the declarations of this program have not reached the leader yet: %s", error
            )

    def start_leader_thread(self) -> None:
        """Run the leader in a dedicated thread, so that blocking user code cannot stop it."""
        self._leader_thread = threading.Thread(
            target=self._run_leader_thread, name="fairlane-leader", daemon=True
        )
        self._leader_thread.start()

    async def join_leader_thread(self) -> None:
        """Return when the leader has ended."""
        if self._leader_thread is not None:
            await in_thread(self._leader_thread.join)

    def start_lease_renewal(self, lease_renewal: LeaseRenewal) -> None:
        """Renew the lease in a dedicated thread, for the same reason."""

        def renew() -> None:
            try:
                asyncio.run(lease_renewal.run())
            except BaseException:  # the thread ends here, and the lease is not renewed any more
                log.exception("the lease is no longer renewed; this process counts as dead soon")
                if self.worker.running:
                    self.end_process()

        self._renewal_thread = threading.Thread(target=renew, name="fairlane-lease", daemon=True)
        self._renewal_thread.start()

    async def join_lease_renewal(self) -> None:
        """Return when the lease renewal has ended."""
        if self._renewal_thread is not None:
            await in_thread(self._renewal_thread.join)

    def _run_leader_thread(self) -> None:
        try:
            asyncio.run(self._run_leader())
        except asyncio.CancelledError:
            log.warning("the leader ended in the middle of a call: the database does not answer")
        except Exception:  # the thread ends here
            log.exception("the leader ended with an error that it should have handled")

    async def _run_leader(self) -> None:
        looking = measure_lag(self.counters.leader_lag, self._intervals.lag_seconds)
        watching = asyncio.ensure_future(looking)
        try:
            await self.leader.run()
        finally:
            watching.cancel()

    async def stop(self, grace_seconds: float) -> None:
        """Return the running jobs, wait until their outcomes are committed, and end."""
        self.send_to_leader(*self.joined(accepting=False))
        try:
            await self.worker.close(grace_seconds)
            await self.devices.close()
            deadline = self._loop.time() + _STOP_SECONDS
            if self.membership is not None:
                # Before the lease ends: acknowledgements are deleted with the worker.
                await self._wait_until_sent(deadline)
                await self.membership.end()
            if self.calls.leading or self.membership is not None:
                self.send_to_leader(WorkerGone(self.worker.id, resigned=True))
                await self._wait_until_sent(deadline)
        finally:
            await await_uncancelled(self._end())

    async def _end(self) -> None:
        self.leader.stop()
        await self.join_leader_thread()
        if not self.is_running():
            await self.devices.close()
        if self.membership is not None and not self.is_running():
            await self.membership.end()  # otherwise the lease ends with the process
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.hooks.close()
        self.calls.close()
        self.waits.close()
        await self.feed.close()

    async def _wait_until_sent(self, deadline: float) -> None:
        while (  # noqa: ASYNC110 - bounded, and only while stopping
            self.worker.unacknowledged_inputs()
            or len(self.inbox)
            or (self.membership and len(self.membership.mailbox))
        ) and self._loop.time() < deadline:
            await asyncio.sleep(0.005)

    async def settled(self) -> None:
        """Return once the leader has decided all present inputs, and this process has the results.

        There are two rounds: inputs that the first one causes (an outcome, a start) are decided in
        the second.
        """
        for _ in range(2):
            await self.worker.send_reports()
            await self.calls.call(QueryState(new_id(), queued=""))
            if self.membership is not None:
                await self.membership.mailbox.receive()
            await asyncio.sleep(0)

    def now(self) -> float:
        """Return seconds on the clock of leases."""
        return boot_seconds()

    def end_process(self) -> None:
        """End the process at once: its attempts must not overlap those of other processes."""
        os._exit(_LEASE_LOST)

    def send_to_leader(self, *inputs: Input) -> None:
        """Send inputs to the leader, in this or another process."""
        if self.membership is None or self.calls.leading:
            self.inbox.put_coalesced(*inputs)
        else:
            self.membership.send(inputs)

    def introduce_worker(self) -> None:
        """Send `WorkerJoined` of this process's worker and devices to the leader."""
        self.send_to_leader(*self.joined())

    def joined(self, *, accepting: bool | None = None) -> list[Input]:
        if not self.works:
            return []
        takes = self.worker.accepting if accepting is None else accepting
        return [
            self.introduction(accepting=takes),
            *self.devices.introductions(accepting=takes),
        ]

    def is_leading(self) -> bool:
        return self.calls.leading

    def is_standby(self) -> bool:
        """Tell whether this process waits to lead; from any thread."""
        return self._leads and not self.calls.leading

    def poll_seconds(self) -> float:
        """Return the seconds between two polls of the database; from any thread."""
        intervals = self._intervals
        if self.membership is not None and self.membership.is_listening:
            return intervals.notified_seconds
        return intervals.poll_seconds

    def is_running(self) -> bool:
        """Tell whether an attempt still runs in this process."""
        return self.worker.running > 0

    def introduction(self, *, accepting: bool) -> WorkerJoined:
        return WorkerJoined(
            id=self.worker.id,
            name=f"{socket.gethostname()}:{os.getpid()}",
            slots=self.worker.slots,
            tasks=tuple(sorted(self._definitions)),
            queues=self.queues,
            labels=self._labels,
            accepting=accepting,
            host=socket.gethostname(),
            pid=os.getpid(),
            checks=tuple(sorted(filter(self._may_refuse, self._definitions))),
        )

    def is_own(self, worker: str) -> bool:
        return carrier_of(WorkerId(worker)) == self.worker.id

    def _needs_check(self, task: str) -> bool:
        definition = self._definitions.get(task)
        return definition is not None and definition.has_checks

    def _may_refuse(self, task: str) -> bool:
        """Whether this process may refuse a job of a task: it may lack the key of its secrets."""
        return self._needs_check(task) or bool(self._definitions[task].parameters.secrets)

    def _report_missing_tasks(self, tasks: set[str]) -> None:
        unknown = sorted(tasks - set(self._definitions)) if self.works else []
        if unknown:
            log.warning(
                "jobs wait for tasks that this program does not have: %s; they stay queued until a "
                "program that has them runs, or they are cancelled", ", ".join(unknown)
            )  # fmt: skip

    # receivers of notifications

    def _deliver_orders(
        self, decisions: Decisions, payloads: Mapping[JobId, Payload], message: MessageRef
    ) -> None:
        orders = decisions.orders.get(self.worker.id)
        if orders is not None:
            if self.membership is None:
                self.worker.execute_orders(orders, payloads)
            else:
                self.membership.mailbox.deliver(message, orders, payloads)

    def _repeat_stops(self, stops: list[Stop]) -> None:
        for stop in stops:
            self.worker.stop(stop)

    def _forget_ended(self, decisions: Decisions) -> None:
        ended = decisions.changes.ended
        if ended:
            self.worker.release_outputs(ended)
            _log_failures(decisions)


def _log_failures(decisions: Decisions) -> None:
    """Log each job that failed permanently, also if no caller waits for it."""
    for job, ended in decisions.changes.ended.items():
        if ended.job.state is State.FAILED:
            error = ended.error or {}
            log.warning(
                "job %s of task %s failed in attempt %d: %s",
                job, ended.job.task, ended.job.attempt, error.get("message", "no reason kept"),
                extra=attempt_fields(last_start(ended.job)),
            )  # fmt: skip
