"""The worker of this process: runs the attempts that the leader assigns and reports outcomes.

It runs on the event loop of the program. Messages that need an answer (outcomes, stage results,
requests for stage limits) stay in `_unacknowledged` until the leader has committed them, and are
sent again to the next leader. Reports of all jobs are collected and sent four times a second.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Final

import msgspec

from fairlane.core.decisions import Orders, Start, Stop
from fairlane.core.inputs import FromWorker, Input, LogLines, Outcome, Report, Unblocked
from fairlane.core.live_job import JobId, WorkerId, carrier_of, device_of
from fairlane.errors import Conflict, FairlaneError
from fairlane.ids import new_id
from fairlane.logs import attempt_fields
from fairlane.process.process_group import ProcessDeadline
from fairlane.runtime.clock import Clock
from fairlane.runtime.counters import Counters
from fairlane.runtime.service import Service
from fairlane.runtime.storable_text import storable, storable_name
from fairlane.runtime.threads import start_in_thread
from fairlane.store.views import Payload, ReportBody
from fairlane.task.attempt_outputs import remove_all_outputs
from fairlane.task.definition import Definition
from fairlane.task.output_files import OutputRegistry
from fairlane.worker.attempt import Attempt, EarlyCheck, token_of
from fairlane.worker.attempt_link import AttemptLink
from fairlane.worker.child_attempt import ChildExecutor
from fairlane.worker.device_actor import DeviceActor
from fairlane.worker.preconditions import (
    Obstacle,
    check_preconditions,
    check_preconditions_blocking,
)

log = logging.getLogger("fairlane.worker")

REPORT_SECONDS: Final = 0.25
RECHECK_SECONDS: Final = 1.0
SOON_SECONDS: Final = 0.01  # a message just before the outcome is committed together with it
_MOST_LINES: Final = 1_000  # of one job between two reports; further lines are dropped


class Worker:
    def __init__(
        self,
        put: Callable[..., None],
        definitions: Mapping[str, Definition],
        clock: Clock,
        *,
        slots: int,
        recheck_seconds: float = RECHECK_SECONDS,
        counters: Counters | None = None,
    ) -> None:
        self.counters = counters or Counters()
        self.id = WorkerId(new_id())
        self.outputs = OutputRegistry()
        self.process_deadline = ProcessDeadline()
        self.devices: dict[str, DeviceActor] = {}  # carried by this process, by name
        self.slots = slots
        self.accepting = True
        self.has_valid_lease: Callable[[], bool] = lambda: True
        self._closing = False
        self._put = put
        self._definitions = definitions
        self._clock = clock
        self.jitter = clock.jitter
        self._recheck_seconds = recheck_seconds
        self._threads: ThreadPoolExecutor | None = None
        self._children = ChildExecutor(self.process_deadline)
        self._attempts: dict[JobId, Attempt] = {}
        self._unacknowledged: dict[str, FromWorker] = {}
        self._answers: dict[str, asyncio.Future[None]] = {}
        self._reports: dict[AttemptLink, tuple[Callable[[], ReportBody], str | None]] = {}
        self._log_lines: dict[AttemptLink, list[tuple[float, str, str]]] = {}
        self._soon: dict[AttemptLink, list[FromWorker]] = {}
        self._early_checks: dict[JobId, tuple[int, EarlyCheck]] = {}  # with the fence of each
        self._blocked: dict[JobId, tuple[Attempt, Obstacle]] = {}
        self._tokens = 0
        self.grace_skipped = asyncio.Event()  # set to end the grace period of `close` early
        self.idle = asyncio.Event()
        self.idle.set()
        self.reporting = Service("reports", self.send_reports)
        self.rechecking = Service("preconditions", self.recheck_preconditions)

    @property
    def threads(self) -> ThreadPoolExecutor:
        if self._threads is None:
            self._threads = ThreadPoolExecutor(self.slots, thread_name_prefix="fairlane-task")
        return self._threads

    @property
    def running(self) -> int:
        return len(self._attempts)

    # messages from the leader

    def execute_orders(self, orders: Orders, payloads: Mapping[JobId, Payload]) -> None:
        if orders.durable:
            self.acknowledge(orders.durable)
        if orders.granted:
            self.acknowledge(orders.granted)
        if orders.denied:
            self.deny(orders.denied)
        if orders.stop_watching:
            self.stop_rechecking(orders.stop_watching)
        if orders.starts:
            self.accept(orders.starts, payloads)
        for stop in orders.stops:
            self.stop(stop)
        for stored_values in orders.removals:
            start_in_thread(remove_all_outputs, stored_values)

    def check_preconditions_early(self, starts: list[tuple[Start, Payload]]) -> None:
        """Check jobs while their assignment is committed; called on the thread of the leader."""
        for start, payload in starts:
            facts = (start.job, payload, self._definitions[start.task], self.outputs)
            with suppress(RuntimeError):  # a program that is ending starts no threads
                check = start_in_thread(check_preconditions_blocking, *facts)
                self._early_checks[start.job] = (start.fence, check)

    def accept(self, starts: list[Start], payloads: Mapping[JobId, Payload]) -> None:
        for start in starts:
            if start.job in self._attempts or token_of(start) in self._unacknowledged:
                continue  # a repeated order: it runs, or its outcome is not committed yet
            if start.job not in payloads:
                problem = "the payload of job %s is missing; the job goes back to the leader"
                log.error(problem, start.job, extra=attempt_fields(start))
                self.send_until_acknowledged(token_of(start), refusal(start))
                continue
            definition = self._definitions.get(start.task)
            attempt = Attempt(self, start, payloads[start.job], definition)  # type: ignore[arg-type]
            fence, early_check = self._early_checks.pop(start.job, (None, None))
            attempt.early_check = early_check if fence == start.fence else None
            self._blocked.pop(start.job, None)
            device = device_of(start.worker)
            actor = None if device is None else self.devices.get(device)
            is_known = definition is not None and (device is None or actor is not None)
            if not is_known or not self._accepts(start, actor):
                if attempt.early_check is not None:
                    self._release_after(attempt.early_check, start.job)
                self.attempt_ended(attempt, refusal(start))
                continue
            self._attempts[start.job] = attempt
            attempt.begin(actor)
        if self._attempts and self.idle.is_set():
            self.idle.clear()
            self.reporting.wake()

    def _accepts(self, start: Start, actor: DeviceActor | None) -> bool:
        is_well = actor is None or (actor.id == start.worker and actor.accepting)
        return self.accepting and is_well and self.has_valid_lease()

    def stop(self, stop: Stop) -> None:
        attempt = self._attempts.get(stop.job)
        if attempt is not None and attempt.start.fence == stop.fence:
            attempt.stop("cancel", delete_outputs=stop.outputs == "delete", force=stop.force)

    def acknowledge(self, tokens: list[str]) -> None:
        """Drop messages that are durable or granted, and resume the attempts that wait for it."""
        for token in tokens:
            self._unacknowledged.pop(token, None)
            answer = self._answers.pop(token, None)
            if answer is not None and not answer.done():
                answer.set_result(None)

    def deny(self, refusals: list[tuple[str, dict[str, Any]]]) -> None:
        """Fail the stages that requested a limit or resource that they cannot get."""
        for token, problem in refusals:
            self._unacknowledged.pop(token, None)
            answer = self._answers.pop(token, None)
            if answer is not None and not answer.done():
                answer.set_exception(FairlaneError.from_problem(problem))

    def stop_rechecking(self, jobs: list[JobId]) -> None:
        for job in jobs:
            self._blocked.pop(job, None)

    def release_outputs(self, ended: Iterable[JobId]) -> None:
        """Release the output paths of jobs that ended, also of jobs that never started."""
        for job in ended:
            self.outputs.release(job)
            if job in self._early_checks:
                self._release_after(self._early_checks.pop(job)[1], job)

    def _release_after(self, check: EarlyCheck, job: JobId) -> None:
        """Release the output paths that a check reserves, once the check has ended."""
        check.add_done_callback(lambda _: self.outputs.release(job))

    def unacknowledged_inputs(self) -> list[Input]:
        """Return the messages to send to a new leader."""
        return list(self._unacknowledged.values())

    def unacknowledged(self) -> dict[str, FromWorker]:
        return dict(self._unacknowledged)

    # messages from attempts to the leader

    def send(self, message: FromWorker) -> None:
        self._put(message)

    def send_until_acknowledged(self, token: str, message: FromWorker) -> None:
        """Send a message to the leader, and again to each new leader until it is acknowledged."""
        self._unacknowledged[token] = message
        self._put(message)

    def send_soon(self, link: AttemptLink, token: str, message: FromWorker) -> None:
        """Do the same after a short delay: if the attempt ends meanwhile, both are one commit."""
        self._unacknowledged[token] = message
        self._soon.setdefault(link, []).append(message)
        asyncio.get_running_loop().call_later(SOON_SECONDS, self._send_delayed, link)

    def _send_delayed(self, link: AttemptLink) -> None:
        for message in self._soon.pop(link, ()):
            self._put(message)

    def new_token(self) -> str:
        self._tokens += 1
        return f"{self.id}/{self._tokens}"

    async def request(self, token: str, message: FromWorker) -> None:
        """Send a message to the leader and wait until it is durable or granted."""
        answer = self._answers[token] = asyncio.get_running_loop().create_future()
        self.send_until_acknowledged(token, message)
        try:
            await answer
        finally:
            self._unacknowledged.pop(token, None)
            self._answers.pop(token, None)

    def attempt_ended(self, attempt: Attempt, outcome: Outcome) -> None:
        self._attempts.pop(attempt.start.job, None)
        # Otherwise this process lost its lease and has a new worker id: the outcome is stale.
        if carrier_of(outcome.worker) == self.id:
            self._send_report(attempt.link)  # followers see the last report before the outcome
            self.send_until_acknowledged(attempt.token, outcome)
        if not self._attempts:
            self.idle.set()

    def queue_report(
        self, link: AttemptLink, snapshot: Callable[[], ReportBody], stage: str | None
    ) -> None:
        if stage is None and link in self._reports:
            stage = self._reports[link][1]  # it changed since the last report was sent
        self._reports[link] = (snapshot, stage)

    def queue_log_line(self, link: AttemptLink, level: str, message: str) -> None:
        lines = self._log_lines.setdefault(link, [])
        if len(lines) < _MOST_LINES:
            lines.append((self._clock.now(), storable_name(level), storable(message)))
        elif len(lines) == _MOST_LINES:
            lines.append(
                (self._clock.now(), "warning", "… further lines were dropped: too many at once")
            )

    def recheck_later(self, attempt: Attempt, obstacle: Obstacle) -> None:
        if not self._blocked:
            loop = asyncio.get_running_loop()
            loop.call_later(self._recheck_seconds, self.rechecking.wake)
        self._blocked[attempt.start.job] = (attempt, obstacle)

    async def run_in_child(self, attempt: Attempt, declared: list[str]) -> str:
        return await self._children.run(attempt, declared)

    # services: each runs once and returns the seconds until its next run, None if it has no work

    async def send_reports(self) -> float | None:
        for link in [*{**self._reports, **self._log_lines}]:
            self._send_report(link)
        return None if self.idle.is_set() else REPORT_SECONDS

    def _send_report(self, link: AttemptLink) -> None:
        self._send_delayed(link)
        start = link.start
        lines = self._log_lines.pop(link, None)
        if lines:
            self._put(LogLines(start.job, start.worker, start.fence, lines))
        report = self._reports.pop(link, None)
        if report is not None:
            snapshot, stage = report
            try:
                body = msgspec.json.encode(snapshot()).decode()
            except (TypeError, ValueError, RecursionError):
                problem = "the report of job %s cannot be written as JSON"
                log.warning(problem, start.job, extra=attempt_fields(start))
            else:
                self._put(Report(start.job, start.worker, start.fence, body, stage))

    async def recheck_preconditions(self) -> float | None:
        """Check the preconditions of blocked jobs again."""
        for job, (attempt, obstacle) in list(self._blocked.items()):
            definition = attempt.definition
            try:
                values = definition.parameters.decode(attempt.payload.params)
                result = await check_preconditions(
                    job, attempt.payload, definition, values, self.outputs
                )
            except Exception:  # user code
                problem = "the preconditions of job %s cannot be checked; it starts without them"
                log.exception(problem, job, extra=attempt_fields(attempt.start))
                result = []
            self.outputs.release(job)
            if not isinstance(result, Obstacle) or result.is_final:
                if job in self._blocked:
                    # Sent again until the leader answers: the database may lose a message.
                    self._put(Unblocked(job, attempt.start.fence, self.id))
            elif result != obstacle and job in self._blocked:
                self._blocked[job] = (attempt, result)
        return self._recheck_seconds if self._blocked else None

    # its lease and its end

    def has_attempts_of(self, worker: WorkerId) -> bool:
        """Whether an attempt runs that was assigned to this worker id; from any thread."""
        attempts = list(self._attempts.values())
        return any(carrier_of(attempt.start.worker) == worker for attempt in attempts)

    def resume(self) -> None:
        """Accept jobs again after `return_jobs`, unless the worker is closing."""
        self.accepting = not self._closing

    def return_jobs(self) -> None:
        """Stop all attempts, so that other workers run the jobs; accept no jobs meanwhile."""
        self.accepting = False
        for attempt in list(self._attempts.values()):
            attempt.stop("return")

    def restart_with_new_id(self) -> None:
        """Give up the old worker id, whose jobs other workers may run already."""
        self.return_jobs()
        self.id = WorkerId(new_id())
        self._blocked.clear()
        self._unacknowledged.clear()
        for answer in self._answers.values():
            if not answer.done():
                answer.set_exception(
                    Conflict("this worker lost its lease; another worker runs the job")
                )
        self._answers.clear()

    async def close(self, grace_seconds: float) -> None:
        """Accept no jobs; stop running attempts after the grace, and wait until all have ended."""
        self._closing = True
        self.accepting = False
        self._blocked.clear()
        if grace_seconds > 0:
            waits = [
                asyncio.ensure_future(event.wait()) for event in (self.idle, self.grace_skipped)
            ]
            await asyncio.wait(waits, timeout=grace_seconds, return_when=asyncio.FIRST_COMPLETED)
            for wait in waits:
                wait.cancel()
        for attempt in list(self._attempts.values()):
            attempt.stop("return")
        grace = self._longest_grace()
        while not await _within(self.idle.wait(), grace):
            # Returning now would let another process run jobs that still run in this one.
            names = ", ".join(attempt.start.task for attempt in self._attempts.values())
            log.warning("waiting for jobs that do not stop: %s", names)
            grace = 5.0
        await self.send_reports()
        await self._children.close()
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)

    def _longest_grace(self) -> float:
        return max((a.definition.grace_seconds for a in self._attempts.values()), default=0.0)


async def _within(waiting: Any, seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            await waiting
    except TimeoutError:
        return False
    return True


def refusal(start: Start) -> Outcome:
    return Outcome(start.job, start.worker, start.fence, "refused")
