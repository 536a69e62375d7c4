"""One attempt of a job on this worker, from the assignment to the outcome.

Rules:
- A coroutine is cancelled. A thread is only requested to stop (`ctx.stopping`). A child process is
  requested to stop and can be killed. An outcome is reported only when the function has returned:
  past its grace period a job that does not stop stays `running`, and is reported as stuck.
- A function of a stage that still runs after its time-out is awaited like the function of the task:
  until it returns, the job is `running` and holds its lane, its slot and its resources.
- An attempt that was requested to stop before it returned counts as stopped, even with a result:
  the result may be incomplete.
- A refused attempt has changed no files and called no function of the task.
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
from fairlane.core.inputs import Failure, JobStuck, Outcome
from fairlane.core.live_job import Reason
from fairlane.errors import DeviceDown, Permanent, SecretsUnreadable, TimedOut
from fairlane.logs import LogSubject, attempt_fields, set_subject
from fairlane.redaction import redactor_for, secret_names
from fairlane.runtime.threads import await_thread, await_uncancelled, in_thread
from fairlane.store.views import Payload
from fairlane.task import attempt_outputs
from fairlane.task.context import Context, JobFacts, SyncContext, context_for_driver
from fairlane.task.definition import Definition
from fairlane.task.failure_kinds import classify
from fairlane.tracing import AttemptSpan, attempt_span
from fairlane.worker.attempt_context import build_context
from fairlane.worker.attempt_link import AttemptLink
from fairlane.worker.device_actor import DeviceActor
from fairlane.worker.preconditions import Obstacle, check_preconditions

if TYPE_CHECKING:
    from fairlane.worker.worker import Worker

log = logging.getLogger("fairlane.worker")


EarlyCheck = Future[list[Path] | Obstacle]


class Attempt:
    def __init__(
        self, worker: "Worker", start: Start, payload: Payload, definition: Definition
    ) -> None:
        self.worker = worker
        self.start = start
        self.payload = payload
        self.definition = definition
        self.stored_values = dict(payload.stored_values)
        self.early_check: EarlyCheck | None = None  # preconditions, if their check has begun
        self.stop_reason: str | None = None  # "cancel", "return", "timeout", "stall", "down"
        self.delete_outputs = False
        self.link = AttemptLink(worker, start)
        self.span: AttemptSpan | None = None
        self._time = asyncio.get_running_loop().time
        self._stop_requested = False  # also when the request came after the function returned
        self._on_loop = False  # a coroutine of the user runs now, which can be cancelled
        self._has_returned = False  # the outcome is final; a device may still be cleaned up
        self._ending = False  # only Fairlane's own cleanup is left, which is not cancelled
        self._overdue_reported = False
        self._task: asyncio.Task[None] | None = None
        self._context: Context | SyncContext | None = None
        self._device: DeviceActor | None = None
        self._kill_child: Callable[[], None] | None = None
        self._request_child_stop: Callable[[], None] | None = None
        self._timers: list[asyncio.TimerHandle] = []

    @property
    def token(self) -> str:
        return token_of(self.start)

    def begin(self, device: DeviceActor | None = None) -> None:
        self._device = device
        if device is not None:
            device.attempt_started(self)
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def _run(self) -> None:
        began_at = self._time()
        try:
            locked = self._decrypt_secrets()
            self._set_log_subject()
            refused = locked and self._outcome("refused", blocked=locked)
            outcome = refused or await self._attempt()
        except BaseException as error:  # noqa: BLE001 - user code; it becomes the outcome
            outcome = self._outcome_of_error(error)
        if self._context is not None and self._context.has_leftovers:
            self._has_returned = True
            self._context.request_stop()
            self._report_stuck(
                "a function of a stage still runs after its time-out: the job ends when it returns"
            )
            await self._context.await_leftovers()
        self._ending = True
        for timer in self._timers:
            timer.cancel()
        self.worker.counters.ran(self.start, outcome.result, self._time() - began_at)
        try:
            if self.span is not None:
                self.span.end(outcome.result, outcome.failure)
            if self.stored_values or self.delete_outputs:
                await self._remove_outputs(outcome)
        except Exception:  # the outcome must be sent, also if files cannot be removed
            log.exception("the outputs of job %s could not be cleaned up", self.start.job)
        if self.early_check is not None:
            with suppress(Exception):  # wait: it would reserve output paths after the release below
                await await_thread(self.early_check)
        self.worker.outputs.release(self.start.job)
        self.worker.attempt_ended(self, outcome)
        if self._device is not None:
            self._device.attempt_ended(self, outcome.result, self._time() - began_at)

    async def _remove_outputs(self, outcome: Outcome) -> None:
        """Remove half-written outputs, and published ones if the cancellation demands it."""
        values = self.stored_values
        if self.delete_outputs and outcome.result == "cancelled":
            await in_thread(attempt_outputs.remove_published_outputs, values)
            outcome.deleted = not attempt_outputs.outputs_on_other_hosts(values, finished=True)
        if attempt_outputs.has_half_written(values):
            await in_thread(attempt_outputs.remove_half_written, values)

    def _decrypt_secrets(self) -> Reason | None:
        """Decrypt the secret parameters; if that fails, the job needs a process with its key."""
        payload = self.payload
        if not secret_names(payload.options):
            return None
        try:
            params = self.definition.parameters.decrypt(payload.params, payload.options)
        except SecretsUnreadable as error:
            fields = attempt_fields(self.start)
            log.error("job %s is refused: %s", self.start.job, error.message, extra=fields)  # noqa: TRY400 - the trace adds nothing
            return Reason(error.code, error.message)
        if params is not payload.params:
            self.payload = msgspec.structs.replace(payload, params=params)
        return None

    def _set_log_subject(self) -> None:
        """Make this attempt the subject of all log lines and spans of its task from now on."""
        start, span = self.start, attempt_span(self.start, self.payload.options)
        redactor = redactor_for(self.definition.parameters.secrets, self.payload.params)
        self.span, self.link.redactor = span, redactor
        set_subject(
            LogSubject(
                start.job, start.task, start.queue, start.lane, start.attempt, redactor,
                None if span is None else span.trace_id, None if span is None else span.span_id,
            )
        )  # fmt: skip

    def _outcome_of_error(self, error: BaseException) -> Outcome:
        try:
            return self._stopped() if self.stop_reason else self._failed(classify(error))
        except Exception:  # the report holds values of the user; the outcome is sent without it
            log.exception("the last report of job %s cannot be written", self.start.job)
            self.link.drop_report()
            return self._stopped() if self.stop_reason else self._failed(classify(error))

    async def _attempt(self) -> Outcome:
        left = self.start.seconds_left
        if left is not None and left <= 0:
            self.stop_reason = self.stop_reason or "deadline"  # it passed while the job waited
        if self.stop_reason is not None:
            return self._stopped()
        definition = self.definition
        self._on_loop = definition.is_async
        values = definition.parameters.decode(self.payload.params)
        declared = []
        if definition.has_checks:
            paths = await self._check_preconditions(values)
            if isinstance(paths, Obstacle):
                return self._blocked(paths)
            declared = paths
        if self.start.confirm:
            self.link.confirm_start()
        self._set_timers()
        if self._device is not None:
            return await self._run_on_device(self._device, values, declared)
        if definition.isolation == "process":
            running = self.worker.run_in_child(self, [str(path) for path in declared])
            return await self._await_outcome(running)
        return await self._await_outcome(self._call(values, declared))

    async def _check_preconditions(self, values: Mapping[str, Any]) -> list[Path] | Obstacle:
        if self.early_check is not None:
            return await await_thread(self.early_check)
        job, outputs = self.start.job, self.worker.outputs
        return await check_preconditions(job, self.payload, self.definition, values, outputs)

    async def _await_outcome(self, running: Any) -> Outcome:
        try:
            value = await running
        except asyncio.CancelledError:
            if self.stop_reason is None:
                failure = Failure("cancelled_itself", "the task cancelled itself", retryable=False)
                return self._failed(failure)
            return self._stopped()
        except Exception as error:  # noqa: BLE001 - user code
            if self._device is not None and isinstance(error, DeviceDown):
                self._device.fail(error)
                self.stop_reason = self.stop_reason or "down"
            return self._stopped() if self.stop_reason else self._failed(classify(error))
        if self.stop_reason is None or self._is_whole_anyway():
            return self._outcome("completed", value=value)
        return self._stopped()

    def _is_whole_anyway(self) -> bool:
        """Whether the function could not know that its worker stops, so its result is complete."""
        knows = self.definition.is_async or self.definition.takes_context
        return self.stop_reason == "return" and not knows

    async def _run_on_device(
        self, device: DeviceActor, values: Mapping[str, Any], declared: list[Path]
    ) -> Outcome:
        """Prepare the device, run the function, and clean up the device."""
        if self.definition.isolation == "process":
            raise Permanent(
                f'task "{self.definition.name}" runs in a child process, which cannot use a '
                'device; remove isolation="process", or run a program with ctx.run([...])',
                code="bad_setting",
            )
        context = self._make_context(values, declared)
        context.device = device.driver
        try:
            running = self._prepare_and_call(device, context, values, declared)
            outcome = await self._await_outcome(running)
        finally:
            self._has_returned = True
            await await_uncancelled(device.cleanup(context, values))
        outcome.report = self.link.final_report()
        return outcome

    async def _prepare_and_call(
        self,
        device: DeviceActor,
        context: Context | SyncContext,
        values: Mapping[str, Any],
        declared: list[Path],
    ) -> str:
        self._on_loop = device.prepares_on_loop
        self._context = context_for_driver(context, is_async=self._on_loop)
        if self.stop_reason is None:
            await device.prepare(self._context, values)
        if self.stop_reason is not None:
            raise asyncio.CancelledError
        self._on_loop, self._context = self.definition.is_async, context
        return await self._call(values, declared)

    async def _call(self, values: Mapping[str, Any], declared: list[Path]) -> str:
        """Run the function on the loop or in a thread and return its result as JSON."""
        definition = self.definition
        context = self._context
        if context is None and definition.takes_context:
            context = self._make_context(values, declared)
        if definition.is_async:
            value = await definition.call(context, values)
        else:
            call = partial(copy_context().run, definition.call, context, values)
            value = await in_thread(call, threads=self._threads)
        if self.link.live_report is not None:
            self.link.live_report.complete()
        return definition.results.encode(value)

    def _make_context(
        self, values: Mapping[str, Any], declared: list[Path]
    ) -> Context | SyncContext:
        self._context, self.link.live_report = build_context(
            self.definition, values, self.facts(), self.payload, self.stored_values, self.link,
            outputs=self.worker.outputs, declared=declared, loop=asyncio.get_running_loop(),
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
            jitter=self.worker.jitter,
        )  # fmt: skip

    # outcomes

    def _outcome(self, result: Any, **facts: Any) -> Outcome:
        start = self.start
        report = self.link.final_report()
        return Outcome(start.job, start.worker, start.fence, result, report=report, **facts)

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
            case "deadline":
                message = "its attempts together took longer than its deadline_seconds"
                return self._failed(Failure("deadline", message, retryable=False))
            case "stall":
                seconds = self.definition.stall_seconds or 0
                message = f"no progress for {seconds:g} s"
            case _:
                message = f"took longer than {self.definition.timeout_seconds or 0:g} s"
        return self._failed(classify(TimedOut(message, code=self.stop_reason)))

    def _blocked(self, obstacle: Obstacle) -> Outcome:
        if obstacle.is_final:
            return self._outcome("skipped", blocked=obstacle.reason)
        self.worker.recheck_later(self, obstacle)
        return self._outcome("refused", blocked=obstacle.reason)

    # stopping

    def stop(self, reason: str, *, delete_outputs: bool = False, force: bool = False) -> None:
        """Request the attempt to end; `force` kills a child process."""
        if self._ending:
            return
        first = not self._stop_requested
        self._stop_requested = True
        if not self._has_returned:
            self._request_stop(reason, delete_outputs=delete_outputs, force=force)
        if first:
            loop = asyncio.get_running_loop()
            self._timers.append(loop.call_later(self.definition.grace_seconds, self._overdue))
        elif self._overdue_reported and reason == "cancel":
            self._overdue()  # a later cancellation must see that the job is stuck, too

    def _request_stop(self, reason: str, *, delete_outputs: bool, force: bool) -> None:
        self.delete_outputs = self.delete_outputs or delete_outputs
        first = self.stop_reason is None
        if first or reason == "cancel":
            self.stop_reason = reason
        if self._context is not None:
            self._context.request_stop()
        if self._kill_child is not None:
            if force:
                self._kill_child()
            elif first and self._request_child_stop is not None:
                self._request_child_stop()
        elif self._on_loop and (first or force) and self._task:
            self._task.cancel()

    def interrupt(self) -> None:
        """Count the end of the child process as an interruption, unless a stop was requested."""
        self.stop_reason = self.stop_reason or "down"

    def _overdue(self) -> None:
        """End the grace period: kill after a timeout; after a cancellation a person decides."""
        if self._kill_child is not None and self.stop_reason != "cancel":
            self._kill_child()
            return
        self._overdue_reported = True
        advice = (
            "force is possible, and may damage its output"
            if self._kill_child is not None
            else "it runs in the worker's own process and cannot be forced: it ends when it returns"
        )
        self._report_stuck(f"it did not stop within {self.definition.grace_seconds:g} s; {advice}")

    def _report_stuck(self, message: str) -> None:
        start = self.start
        self.worker.send(JobStuck(start.job, start.worker, start.fence, message))

    def can_be_stopped_by(
        self, *, kill: Callable[[], None], request_stop: Callable[[], None]
    ) -> None:
        self._kill_child, self._request_child_stop = kill, request_stop

    def _set_timers(self) -> None:
        loop = asyncio.get_running_loop()
        if self.definition.timeout_seconds is not None:
            timer = loop.call_later(self.definition.timeout_seconds, self.stop, "timeout")
            self._timers.append(timer)
        if self.start.seconds_left is not None:
            timer = loop.call_later(self.start.seconds_left, self.stop, "deadline")
            self._timers.append(timer)
        if self.definition.isolation != "process":
            self.function_began()

    def function_began(self) -> None:
        """Expect progress from now on; the start of a child process is not a lack of it."""
        if self.definition.stall_seconds is not None:
            self.link.mark_active()
            self._watch_for_stall(self.definition.stall_seconds)

    def _watch_for_stall(self, seconds: float) -> None:
        left = self.link.active_at + seconds - self._time()
        if left <= 0:
            self.stop("stall")
            return
        loop = asyncio.get_running_loop()
        self._timers = [timer for timer in self._timers if not timer.cancelled()]
        self._timers.append(loop.call_later(left, self._watch_for_stall, seconds))


def token_of(start: Start) -> str:
    """Return the token that the leader acknowledges the outcome of this assignment with."""
    return f"{start.job}:{start.fence}"
