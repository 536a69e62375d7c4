"""The worker of this process: runs what it is assigned and says how it went.

It lives on the user's event loop. What it tells the leader and needs an answer to (outcomes, stage
results, stage limits) it keeps until the commit that holds it is acknowledged, and sends again to
whoever leads next. Progress is gathered and told four times a second for all jobs together.
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
from fairlane.logs import about
from fairlane.process.process_group import ProcessDeadline
from fairlane.runtime.clock import Clock
from fairlane.runtime.counters import Counters
from fairlane.runtime.storable_text import storable, storable_name
from fairlane.runtime.threads import start_in_thread
from fairlane.store.views import Payload, ReportBody
from fairlane.task.definition import Definition
from fairlane.task.output_files import OutputRegistry
from fairlane.task.output_publisher import remove
from fairlane.worker.attempt import Attempt, Checking, token_of
from fairlane.worker.child_attempt import ChildWork
from fairlane.worker.device import DeviceActor
from fairlane.worker.preconditions import Obstacle, check, check_now

log = logging.getLogger("fairlane.worker")

REPORT_SECONDS: Final = 0.25
RECHECK_SECONDS: Final = 1.0
SOON_SECONDS: Final = 0.01  # what is said just before the end of an attempt is one commit with it
_MOST_LINES: Final = 1_000  # of one job between two reports; more is noise


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
        self.devices: dict[str, DeviceActor] = {}  # that this process carries
        self.slots = slots
        self.accepting = True
        self.has_valid_lease: Callable[[], bool] = lambda: True
        self._closing = False
        self._put = put
        self._definitions = definitions
        self._clock = clock
        self._recheck_seconds = recheck_seconds
        self._threads: ThreadPoolExecutor | None = None
        self._children = ChildWork(self.process_deadline)
        self._attempts: dict[JobId, Attempt] = {}
        self._unacknowledged: dict[str, FromWorker] = {}
        self._answers: dict[str, asyncio.Future[None]] = {}
        self._dirty: dict[Attempt, tuple[Callable[[], ReportBody], str | None]] = {}
        self._lines: dict[Attempt, list[tuple[float, str, str]]] = {}
        self._soon: dict[Attempt, list[FromWorker]] = {}
        self._ahead: dict[JobId, tuple[int, Checking]] = {}
        self._watched: dict[JobId, tuple[Attempt, Obstacle]] = {}
        self._tokens = 0
        self.grace_skipped = asyncio.Event()  # whoever closes it does not want to wait any longer
        self.idle = asyncio.Event()
        self.idle.set()

    @property
    def threads(self) -> ThreadPoolExecutor:
        if self._threads is None:
            self._threads = ThreadPoolExecutor(self.slots, thread_name_prefix="fairlane-task")
        return self._threads

    @property
    def running(self) -> int:
        return len(self._attempts)

    # from the leader

    def execute_orders(self, orders: Orders, payloads: Mapping[JobId, Payload]) -> None:
        if orders.durable:
            self.settled(orders.durable)
        if orders.granted:
            self.settled(orders.granted)
        if orders.denied:
            self.denied(orders.denied)
        if orders.stop_watching:
            self.unwatch(orders.stop_watching)
        if orders.starts:
            self.accept(orders.starts, payloads)
        for stop in orders.stops:
            self.stop(stop)
        for kept in orders.removals:
            start_in_thread(remove, kept)

    def check_preconditions_early(self, starts: list[tuple[Start, Payload]]) -> None:
        """Check what is about to be assigned; on the leader's thread, while that is written."""
        for start, payload in starts:
            facts = (start.job, payload, self._definitions[start.task], self.outputs)
            with suppress(RuntimeError):  # a program that is ending has no threads to spare
                self._ahead[start.job] = (start.fence, start_in_thread(check_now, *facts))

    def accept(self, starts: list[Start], payloads: Mapping[JobId, Payload]) -> None:
        for start in starts:
            if start.job in self._attempts or token_of(start) in self._unacknowledged:
                continue  # told twice: it runs, or has ended and that is not recorded yet
            if start.job not in payloads:
                problem = "what job %s needs cannot be found; it goes back"
                log.error(problem, start.job, extra=about(start))
                self.send_until_acknowledged(token_of(start), refusal(start))
                continue
            definition = self._definitions.get(start.task)
            attempt = Attempt(self, start, payloads[start.job], definition)  # type: ignore[arg-type]
            fence, checking = self._ahead.pop(start.job, (None, None))
            attempt.checking = checking if fence == start.fence else None
            self._watched.pop(start.job, None)
            if definition is None or not self._takes(start):
                if attempt.checking is not None:
                    self._give_back(start.job, attempt.checking)
                self.finished(attempt, refusal(start))
                continue
            self._attempts[start.job] = attempt
            attempt.begin(self.devices.get(device_of(start.worker) or ""))
        if self._attempts:
            self.idle.clear()

    def _takes(self, start: Start) -> bool:
        device = device_of(start.worker)
        actor = None if device is None else self.devices.get(device)
        is_there = device is None or (actor is not None and actor.id == start.worker)
        is_well = is_there and (actor is None or actor.accepting)
        return self.accepting and is_well and self.has_valid_lease()

    def stop(self, stop: Stop) -> None:
        attempt = self._attempts.get(stop.job)
        if attempt is not None and attempt.start.fence == stop.fence:
            attempt.stop("cancel", delete_outputs=stop.outputs == "delete", force=stop.force)

    def settled(self, tokens: list[str]) -> None:
        """Forget what is durable or granted now, and let those go on who waited for it."""
        for token in tokens:
            self._unacknowledged.pop(token, None)
            answer = self._answers.pop(token, None)
            if answer is not None and not answer.done():
                answer.set_result(None)

    def denied(self, refusals: list[tuple[str, dict[str, Any]]]) -> None:
        """Let a stage fail that asked for something nobody has declared."""
        for token, problem in refusals:
            self._unacknowledged.pop(token, None)
            answer = self._answers.pop(token, None)
            if answer is not None and not answer.done():
                answer.set_exception(FairlaneError.from_problem(problem))

    def unwatch(self, jobs: list[JobId]) -> None:
        for job in jobs:
            self._watched.pop(job, None)

    def forget(self, ended: Iterable[JobId]) -> None:
        """Give back the output names of jobs that ended, also of those that never began."""
        for job in ended:
            self.outputs.release(job)
            if job in self._ahead:
                self._give_back(job, self._ahead.pop(job)[1])

    def _give_back(self, job: JobId, checking: Checking) -> None:
        """Give back the names that a look takes, when it has ended: nothing comes of it."""
        checking.add_done_callback(lambda _: self.outputs.release(job))

    def unacknowledged_inputs(self) -> list[Input]:
        """Everything a new leader has to hear again."""
        return list(self._unacknowledged.values())

    def unacknowledged(self) -> dict[str, FromWorker]:
        return dict(self._unacknowledged)

    # from attempts

    def tell(self, said: FromWorker) -> None:
        self._put(said)

    def send_until_acknowledged(self, token: str, said: FromWorker) -> None:
        """Tell the leader, and whoever leads after it, until it is acknowledged."""
        self._unacknowledged[token] = said
        self._put(said)

    def send_soon(self, attempt: Attempt, token: str, said: FromWorker) -> None:
        """Tell it as surely, but leave the attempt a moment to end: that is one commit then."""
        self._unacknowledged[token] = said
        self._soon.setdefault(attempt, []).append(said)
        asyncio.get_running_loop().call_later(SOON_SECONDS, self._tell_said, attempt)

    def _tell_said(self, attempt: Attempt) -> None:
        for said in self._soon.pop(attempt, ()):
            self._put(said)

    def new_token(self) -> str:
        self._tokens += 1
        return f"{self.id}/{self._tokens}"

    async def ask(self, token: str, said: FromWorker) -> None:
        """Tell the leader and wait until it is durable or granted."""
        answer = self._answers[token] = asyncio.get_running_loop().create_future()
        self.send_until_acknowledged(token, said)
        try:
            await answer
        finally:
            self._unacknowledged.pop(token, None)
            self._answers.pop(token, None)

    def finished(self, attempt: Attempt, outcome: Outcome) -> None:
        self._attempts.pop(attempt.start.job, None)
        # Otherwise it was begun by whom others count dead.
        if carrier_of(outcome.worker) == self.id:
            self._flush(attempt)  # so that who follows the events sees the last numbers before it
            self.send_until_acknowledged(attempt.token, outcome)
        if not self._attempts:
            self.idle.set()

    def reported(
        self, attempt: Attempt, snapshot: Callable[[], ReportBody], stage: str | None
    ) -> None:
        self._dirty[attempt] = (snapshot, stage)

    def logged(self, attempt: Attempt, level: str, message: str) -> None:
        lines = self._lines.setdefault(attempt, [])
        if len(lines) < _MOST_LINES:
            lines.append((self._clock.now(), storable_name(level), storable(message)))
        elif len(lines) == _MOST_LINES:
            lines.append(
                (self._clock.now(), "warning", "… more lines than can be kept were dropped")
            )

    def watch(self, attempt: Attempt, obstacle: Obstacle) -> None:
        self._watched[attempt.start.job] = (attempt, obstacle)

    async def run_child(self, attempt: Attempt, declared: list[str]) -> str:
        return await self._children.run(attempt, declared)

    # services: each runs once, and says when next

    async def send_reports(self) -> float:
        for attempt in [*{**self._dirty, **self._lines}]:
            self._flush(attempt)
        return REPORT_SECONDS

    def _flush(self, attempt: Attempt) -> None:
        self._tell_said(attempt)
        start = attempt.start
        lines = self._lines.pop(attempt, None)
        if lines:
            self._put(LogLines(start.job, start.worker, start.fence, lines))
        dirty = self._dirty.pop(attempt, None)
        if dirty is not None:
            snapshot, stage = dirty
            try:
                body = msgspec.json.encode(snapshot()).decode()
            except (TypeError, ValueError, RecursionError):
                problem = "what job %s reports cannot be written as JSON"
                log.warning(problem, start.job, extra=about(start))
            else:
                self._put(Report(start.job, start.worker, start.fence, body, stage))

    async def recheck_preconditions(self) -> float:
        """Look again at preconditions that did not hold."""
        for job, (attempt, obstacle) in list(self._watched.items()):
            definition = attempt.definition
            try:
                values = definition.parameters.decode(attempt.payload.params)
                found = await check(job, attempt.payload, definition, values, self.outputs)
            except Exception:
                problem = "a precondition of job %s could not be checked; it may start"
                log.exception(problem, job, extra=about(attempt.start))
                found = []
            self.outputs.release(job)
            if not isinstance(found, Obstacle) or found.is_final:
                if job in self._watched:
                    # Until it is told to cease: the database may lose what is said to it.
                    self._put(Unblocked(job, attempt.start.fence, self.id))
            elif found != obstacle and job in self._watched:
                self._watched[job] = (attempt, found)
        return self._recheck_seconds

    # its lease

    def has_attempts_of(self, worker: WorkerId) -> bool:
        """Tell whether anything still runs that it began as this worker; from any thread."""
        attempts = list(self._attempts.values())
        return any(carrier_of(attempt.start.worker) == worker for attempt in attempts)

    def resume(self) -> None:
        """Take work again after it was handed back, unless this is the end."""
        self.accepting = not self._closing

    def return_jobs(self) -> None:
        """Stop everything; whoever is free takes it over. Nothing new begins meanwhile."""
        self.accepting = False
        for attempt in list(self._attempts.values()):
            attempt.stop("return")

    def restart_with_new_id(self) -> None:
        """Be another worker from now on: what this one ran, others may run already."""
        self.return_jobs()
        self.id = WorkerId(new_id())
        self._watched.clear()
        self._unacknowledged.clear()
        for answer in self._answers.values():
            if not answer.done():
                answer.set_exception(Conflict("this worker counts as dead; others go on with it"))
        self._answers.clear()

    async def close(self, grace_seconds: float) -> None:
        """Take nothing new; give what runs its grace, hand it back, wait for what cannot stop."""
        self._closing = True
        self.accepting = False
        self._watched.clear()
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
            # Who went on now would let another process run what still runs here.
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
