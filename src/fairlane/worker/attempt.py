"""One run of one job on this worker, from the assignment to its outcome.

The rules that are easy to get wrong:
- A coroutine is cancelled, a thread is asked (`ctx.stopping`), a child process is asked and can be
  forced. Nothing is reported as ended while it still runs: past its grace a job that does not stop
  stays `running`, and the leader is told that it is stuck.
- Whoever was asked to stop before it returned counts as stopped, whatever it returned: nobody knows
  whether the result is whole.
- An attempt that was refused never touched anything.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from fairlane.core.decisions import Start
from fairlane.core.inputs import EnterStage, Failure, JobStuck, LeaveStage, Outcome, StoreValue
from fairlane.errors import DeviceDown, Permanent, TimedOut
from fairlane.logs import Subject, speak_of
from fairlane.redaction import Mask, mask_of
from fairlane.runtime.threads import await_thread, await_uncancelled, in_thread
from fairlane.store.views import Payload, Progress, ReportBody
from fairlane.task import output_publisher
from fairlane.task.context import Body, Context, JobFacts, SyncContext
from fairlane.task.definition import Definition
from fairlane.task.failure_kinds import classify
from fairlane.tracing import AttemptSpan, attempting
from fairlane.worker.device import DeviceActor
from fairlane.worker.preconditions import Obstacle, check

if TYPE_CHECKING:
    from fairlane.worker.worker import Worker

log = logging.getLogger("fairlane.worker")

_decode_report = msgspec.json.Decoder(ReportBody)
_NO_REPORT = ReportBody()


Checking = Future[list[Path] | Obstacle]


class Attempt:
    """A running job; it is the `Link` of its own context."""

    def __init__(
        self, worker: "Worker", start: Start, payload: Payload, definition: Definition
    ) -> None:
        self.worker = worker
        self.start = start
        self.payload = payload
        self.definition = definition
        self.kept = dict(payload.kept)
        self.checking: Checking | None = None  # if that has begun already
        self.stop_reason: str | None = None  # "cancel", "return", "timeout", "stall", "down"
        self._is_asked = False  # to end, though perhaps too late to matter
        self.delete_outputs = False
        self._time = asyncio.get_running_loop().time
        self.reported_at = self._time()
        self.report_sent: str | None = None
        self.span: AttemptSpan | None = None
        self._mask: Mask | None = None
        self._on_loop = False  # what runs now can be cancelled
        self._has_returned = False  # the outcome stands; a device may still be tidied up
        self._ending = False  # what is left to do is ours and is not cancelled
        self._overdue_told = False
        self._task: asyncio.Task[None] | None = None
        self._context: Context | SyncContext | None = None
        self._body: Body | None = None
        self._device: DeviceActor | None = None
        self._kill: Callable[[], None] | None = None
        self._ask_child: Callable[[], None] | None = None
        self._timers: list[asyncio.TimerHandle] = []

    @property
    def token(self) -> str:
        return token_of(self.start)

    def begin(self, device: DeviceActor | None = None) -> None:
        self._device = device
        if device is not None:
            device.begins(self)
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def _run(self) -> None:
        began_at = self._time()
        try:
            self._introduce()
            outcome = await self._attempt()
        except BaseException as error:  # noqa: BLE001 - user code; the leader hears of it
            outcome = self._ended_by(error)
        self._ending = True
        for timer in self._timers:
            timer.cancel()
        self.worker.counters.ran(self.start, outcome.result, self._time() - began_at)
        try:
            if self.span is not None:
                self.span.end(outcome.result, outcome.failure)
            if self.delete_outputs and outcome.result == "cancelled":
                await in_thread(output_publisher.remove_published_outputs, self.kept)
                outcome.deleted = not output_publisher.outputs_on_other_hosts(
                    self.kept, finished=True
                )
            if output_publisher.has_half_written(self.kept):
                await in_thread(output_publisher.remove_half_written, self.kept)
        except Exception:
            log.exception("job %s could not be tidied up after", self.start.job)
        if self.checking is not None:
            with suppress(Exception):  # it would take names that nobody gives back
                await self._looked(self.checking)
        self.worker.outputs.release(self.start.job)
        self.worker.finished(self, outcome)
        if self._device is not None:
            self._device.ended(self, outcome.result, self._time() - began_at)

    def _introduce(self) -> None:
        """Let whatever this task logs and traces from now on be about this attempt."""
        start, span = self.start, attempting(self.start, self.payload.options)
        self.span, self._mask = (
            span,
            mask_of(self.definition.parameters.secrets, self.payload.params),
        )
        speak_of(
            Subject(
                start.job, start.task, start.queue, start.lane, start.attempt, self._mask,
                None if span is None else span.trace_id, None if span is None else span.span_id,
            )
        )  # fmt: skip

    def _ended_by(self, error: BaseException) -> Outcome:
        try:
            return self._stopped() if self.stop_reason else self._failed(classify(error))
        except Exception:
            log.exception("the last report of job %s cannot be written", self.start.job)
            self._body = self.report_sent = None
            return self._stopped() if self.stop_reason else self._failed(classify(error))

    async def _attempt(self) -> Outcome:
        if self.stop_reason is not None:
            return self._stopped()
        definition = self.definition
        self._on_loop = definition.is_async
        values = definition.parameters.decode(self.payload.params)
        declared = []
        if definition.has_checks:
            found = await self._checked(values)
            if isinstance(found, Obstacle):
                return self._obstructed(found)
            declared = found
        self._set_timers()
        if self._device is not None:
            return await self._run_on(self._device, values, declared)
        if definition.isolation == "process":
            return await self._settle(self.worker.run_child(self, [str(path) for path in declared]))
        return await self._settle(self._call(values, declared))

    async def _checked(self, values: Mapping[str, Any]) -> list[Path] | Obstacle:
        if self.checking is not None:
            return await self._looked(self.checking)
        outputs = self.worker.outputs
        return await check(self.start.job, self.payload, self.definition, values, outputs)

    async def _looked(self, checking: Checking) -> list[Path] | Obstacle:
        return await await_thread(checking)

    async def _settle(self, running: Any) -> Outcome:
        try:
            value = await running
        except asyncio.CancelledError:
            if self.stop_reason is None:
                failure = Failure("cancelled_itself", "the task cancelled itself", retryable=False)
                return self._failed(failure)
            return self._stopped()
        except Exception as error:  # noqa: BLE001 - user code
            if self._device is not None and isinstance(error, DeviceDown):
                self._device.trouble(error)
                self.stop_reason = self.stop_reason or "down"
            return self._stopped() if self.stop_reason else self._failed(classify(error))
        if self.stop_reason is None or self._is_whole_anyway():
            return self._outcome("completed", value=value)
        return self._stopped()

    def _is_whole_anyway(self) -> bool:
        """Tell a function that ended while its worker stops, and had no way to know of that."""
        knows = self.definition.is_async or self.definition.takes_context
        return self.stop_reason == "return" and not knows

    async def _run_on(
        self, device: DeviceActor, values: Mapping[str, Any], declared: list[Any]
    ) -> Outcome:
        """Run the function on a device that is prepared for it, and tidied up after it."""
        if self.definition.isolation == "process":
            raise Permanent(
                f'task "{self.definition.name}" runs in a process of its own, which cannot have a '
                'device; take isolation="process" away, or run a program with ctx.run([...])',
                code="bad_setting",
            )
        context = self._make_context(values, declared, asyncio.get_running_loop())
        context.device = device.driver
        try:
            outcome = await self._settle(self._prepare_and_call(device, context, values, declared))
        finally:
            self._has_returned = True
            await await_uncancelled(device.cleanup(context, values))
        outcome.report = self._final_report()
        return outcome

    async def _prepare_and_call(
        self,
        device: DeviceActor,
        context: Context | SyncContext,
        values: Mapping[str, Any],
        declared: list[Any],
    ) -> str:
        self._on_loop = device.prepares_on_loop
        self._context = context.for_driver(is_async=self._on_loop)
        if self.stop_reason is None:
            await device.prepare(self._context, values)
        if self.stop_reason is not None:
            raise asyncio.CancelledError
        self._on_loop, self._context = self.definition.is_async, context
        return await self._call(values, declared)

    async def _call(self, values: Mapping[str, Any], declared: list[Any]) -> str:
        """Run the function on the loop or in a thread and return its result as JSON."""
        definition = self.definition
        context = self._context
        if context is None and definition.takes_context:
            context = self._make_context(values, declared, asyncio.get_running_loop())
        if definition.is_async:
            value = await definition.call(context, values)
        else:
            call = partial(copy_context().run, definition.call, context, values)
            value = await in_thread(call, threads=self._threads)
        return definition.results.encode(value)

    def _make_context(
        self, values: Mapping[str, Any], declared: list[Any], loop: asyncio.AbstractEventLoop
    ) -> Context | SyncContext:
        self._context, self._body = build_context(
            self.definition, values, self.facts(), self.payload, self.kept, self,
            outputs=self.worker.outputs, declared=declared, loop=loop,
            process_deadline=self.worker.process_deadline, threads=self._threads,
        )  # fmt: skip
        return self._context

    @property
    def _threads(self) -> Executor:
        return self.worker.threads if self._device is None else self._device.threads

    def facts(self) -> JobFacts:
        start = self.start
        return JobFacts(
            id=start.job, task=self.definition.name, queue=start.queue, lane=start.lane,
            kind=start.kind, attempt=start.attempt, meta=msgspec.json.decode(self.payload.meta),
        )  # fmt: skip

    # ending

    def _outcome(self, result: Any, **facts: Any) -> Outcome:
        start = self.start
        report = self._final_report()
        return Outcome(start.job, start.worker, start.fence, result, report=report, **facts)

    def _final_report(self) -> str | None:
        if self._body is not None:
            if self._body.is_empty:
                return None
            return msgspec.json.encode(self._shown(self._body.snapshot())).decode()
        return self.report_sent

    def _failed(self, failure: Failure) -> Outcome:
        return self._outcome("failed", failure=failure)

    def _stopped(self) -> Outcome:
        match self.stop_reason:
            case "cancel":
                return self._outcome("cancelled")
            case "return":
                return self._outcome("returned")
            case "down":
                return self._outcome("interrupted")
            case "stall":
                seconds = self.definition.stall_seconds or 0
                message = f"no progress for {seconds:g} s"
            case _:
                message = f"took longer than {self.definition.timeout_seconds or 0:g} s"
        return self._failed(classify(TimedOut(message, code=self.stop_reason)))

    def _obstructed(self, found: Obstacle) -> Outcome:
        if found.is_final:
            return self._outcome("skipped", blocked=(found.code, found.message))
        self.worker.watch(self, found)
        return self._outcome("refused", blocked=(found.code, found.message))

    # stopping

    def stop(self, reason: str, *, delete_outputs: bool = False, force: bool = False) -> None:
        """Ask the attempt to end; a second, forced asking kills a child process."""
        if self._ending:
            return
        first = not self._is_asked
        self._is_asked = True
        if not self._has_returned:
            self._ask(reason, delete_outputs=delete_outputs, force=force)
        if first:
            loop = asyncio.get_running_loop()
            self._timers.append(loop.call_later(self.definition.grace_seconds, self._overdue))
        elif self._overdue_told and reason == "cancel":
            self._overdue()  # whoever cancels it only now has to hear of it as well

    def _ask(self, reason: str, *, delete_outputs: bool, force: bool) -> None:
        self.delete_outputs = self.delete_outputs or delete_outputs
        first = self.stop_reason is None
        if first or reason == "cancel":
            self.stop_reason = reason
        if self._context is not None:
            self._context.request_stop()
        if self._kill is not None:
            if force:
                self._kill()
            elif first and self._ask_child is not None:
                self._ask_child()
        elif self._on_loop and (first or force) and self._task:
            self._task.cancel()

    def _overdue(self) -> None:
        """The grace is over. A time-out may kill; a person decides about anything else."""
        if self._kill is not None and self.stop_reason != "cancel":
            self._kill()
            return
        self._overdue_told = True
        how = (
            "force may damage its output, and is possible"
            if self._kill is not None
            else "it runs in this process and cannot be forced: it ends when it returns"
        )
        message = f"it did not stop within {self.definition.grace_seconds:g} s; {how}"
        start = self.start
        self.worker.tell(JobStuck(start.job, start.worker, start.fence, message))

    def can_be_stopped_by(self, *, kill: Callable[[], None], ask: Callable[[], None]) -> None:
        self._kill, self._ask_child = kill, ask

    def _set_timers(self) -> None:
        loop = asyncio.get_running_loop()
        if self.definition.timeout_seconds is not None:
            timer = loop.call_later(self.definition.timeout_seconds, self.stop, "timeout")
            self._timers.append(timer)
        if self.definition.stall_seconds is not None:
            self._watch_for_stall(self.definition.stall_seconds)

    def _watch_for_stall(self, seconds: float) -> None:
        left = self.reported_at + seconds - self._time()
        if left <= 0:
            self.stop("stall")
            return
        loop = asyncio.get_running_loop()
        self._timers = [timer for timer in self._timers if not timer.cancelled()]
        self._timers.append(loop.call_later(left, self._watch_for_stall, seconds))

    # the link

    def report(self, snapshot: Callable[[], ReportBody], stage: str | None) -> None:
        self.reported_at = self._time()
        self.worker.reported(self, lambda: self._shown(snapshot()), stage)

    def _shown(self, report: ReportBody) -> ReportBody:
        """Take secrets out of what is shown; a checkpoint is kept for the job itself."""
        if self._mask is not None:
            hide = self._mask.hide
            report.progress.message = hide(report.progress.message)
            for stage in report.stages:
                stage.message = hide(stage.message)
            for name, value in report.statistics.items():
                if isinstance(value, str):
                    report.statistics[name] = hide(value)
        return report

    def log(self, level: str, message: str) -> None:
        self.reported_at = self._time()
        self.worker.logged(self, level, self._mask.hide(message) if self._mask else message)

    async def enter_stage(self, limits: tuple[str, ...], uses: tuple[tuple[str, int], ...]) -> str:
        start = self.start
        token = self.worker.new_token()
        ask = EnterStage(start.job, start.worker, start.fence, token, limits, uses)
        try:
            await self.worker.ask(token, ask)
        except BaseException:
            self.leave_stage(token)
            raise
        return token

    def leave_stage(self, token: str) -> None:
        start = self.start
        self.worker.tell(LeaveStage(start.job, start.worker, start.fence, token))

    async def keep(self, name: str, body: str | None) -> None:
        start = self.start
        token = self.worker.new_token()
        keep = StoreValue(start.job, start.worker, start.fence, token, name, body)
        await self.worker.ask(token, keep)

    def store_value_soon(self, name: str, body: str) -> None:
        start = self.start
        token = self.worker.new_token()
        keep = StoreValue(start.job, start.worker, start.fence, token, name, body)
        self.worker.send_soon(self, token, keep)


def token_of(start: Start) -> str:
    """Name an assignment as the leader does when it acknowledges its outcome."""
    return f"{start.job}:{start.fence}"


def build_context(
    definition: Definition,
    values: Mapping[str, Any],
    facts: JobFacts,
    payload: Payload,
    kept: dict[str, str],
    link: Any,
    *,
    outputs: Any,
    declared: list[Any],
    loop: asyncio.AbstractEventLoop,
    process_deadline: Any = None,
    threads: Any = None,
) -> tuple[Context | SyncContext, Body]:
    """Make a context for the worker's process or for a child: they differ only in the link."""
    earlier = _decode_report.decode(payload.report) if payload.report else _NO_REPORT
    checkpoint = earlier.checkpoint
    if payload.report is None and payload.checkpoint:
        checkpoint = msgspec.json.decode(payload.checkpoint)
    body = Body(link, earlier=earlier, stages=definition.stages, checkpoint=checkpoint)
    if earlier.progress != Progress():
        body.changed()  # how far the attempt before it came says nothing of this one
    publisher = output_publisher.OutputPublisher(
        facts.id, facts.attempt, outputs, link, kept, policy=definition.policy(values),
        declared=declared,
    )  # fmt: skip
    kind = Context if definition.is_async else SyncContext
    return kind(facts, link, body, publisher, kept, loop, process_deadline, threads), body
