"""The child process of `isolation="process"`: runs one attempt at a time for its worker.

The worker starts it as `python -m fairlane.worker.child_main`. The child imports the user's module
as a module and never as a program, so the import starts no engine.
"""

import asyncio
import importlib
import os
import runpy
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec

from fairlane.errors import FairlaneError
from fairlane.logs import LogSubject, configure, current_configuration, set_subject
from fairlane.process.child_pool import IN_CHILD, MessagePipe, connect
from fairlane.redaction import Redactor, redactor_for
from fairlane.runtime.storable_text import storable
from fairlane.runtime.threads import in_thread
from fairlane.store.views import ReportBody
from fairlane.task.context import Context, JobFacts, SyncContext
from fairlane.task.definition import Definition
from fairlane.task.failure_kinds import classify
from fairlane.task.output_files import OutputRegistry
from fairlane.tracing import continue_trace
from fairlane.worker.attempt_context import build_context
from fairlane.worker.child_messages import (
    BeganMessage,
    CancelEntryMessage,
    EnterStageMessage,
    FailureMessage,
    FromChild,
    LeaveBehindMessage,
    LeaveStageMessage,
    LogMessage,
    MessageOfRun,
    ReplyMessage,
    ReportMessage,
    ResultMessage,
    RunMessage,
    StageWaitsMessage,
    StopMessage,
    StoreValueMessage,
    StoreValueSoonMessage,
    ToChild,
)

_REPORT_SECONDS: Final = 0.2


class ChildLink:
    """The `WorkerLink` of a context in a child process: every call is a message to the worker.

    Each attempt has its own link. All messages, the result too, are sent by callbacks of the loop:
    they keep their order, and the result is the last one.
    """

    kills_threads = True

    def __init__(self, connection: MessagePipe, loop: asyncio.AbstractEventLoop, run: int) -> None:
        self._connection = connection
        self._loop = loop
        self._run = run
        self.redactor: Redactor | None = None
        self._replies: dict[int, asyncio.Future[str]] = {}
        self._number = 0
        self._pending: tuple[Callable[[], ReportBody], str | None] | None = None

    def report(self, snapshot: Callable[[], ReportBody], stage: str | None) -> None:
        first = self._pending is None
        if stage is None and self._pending is not None:
            stage = self._pending[1]  # it changed since the last report was sent
        self._pending = (snapshot, stage)
        if first:
            self._loop.call_soon_threadsafe(
                self._loop.call_later, _REPORT_SECONDS, self.send_report
            )

    def send_report(self) -> None:
        """Send the pending report, if there is one."""
        pending, self._pending = self._pending, None
        if pending is not None:
            snapshot, stage = pending
            body = msgspec.json.encode(snapshot()).decode()
            self.post(ReportMessage(body, stage))

    def log(self, level: str, message: str) -> None:
        if self.redactor is not None:
            message = self.redactor.redact(message)
        self.post(LogMessage(storable(level), storable(message)))

    async def enter_stage(
        self, stage: str, limits: tuple[str, ...], uses: tuple[tuple[str, int], ...]
    ) -> str:
        number = self._next_number()
        reply = self._request(number, EnterStageMessage(number, stage, limits, uses))
        try:
            return await reply
        except asyncio.CancelledError:
            self._replies.pop(number, None)
            if reply.cancelled():
                self.post(CancelEntryMessage(number))
            elif reply.exception() is None:  # the grant and the cancellation came together
                self.leave_stage(reply.result())
            raise

    def leave_stage(self, token: str) -> None:
        self.post(LeaveStageMessage(token))

    def leave_behind(self, token: str) -> None:
        self.post(LeaveBehindMessage(token))

    def mark_waiting(self, stage: str, *, waits: bool) -> None:
        self.post(StageWaitsMessage(stage, waits))

    async def store_value(self, name: str, body: str | None) -> None:
        number = self._next_number()
        await self._request(number, StoreValueMessage(number, name, body))

    def store_value_soon(self, name: str, body: str) -> None:
        self.post(StoreValueSoonMessage(name, body))

    def reply_received(self, reply: ReplyMessage) -> None:
        waiting = self._replies.pop(reply.number, None)
        if waiting is None or waiting.done():
            if reply.token:  # the grant was on its way when its stage stopped waiting
                self.leave_stage(reply.token)
            return
        if reply.problem is not None:
            waiting.set_exception(FairlaneError.from_problem(reply.problem))
        else:
            waiting.set_result(reply.token)

    def post(self, message: FromChild) -> None:
        """Send a message after all earlier ones; from any thread."""
        encoded = self._connection.encode(MessageOfRun(self._run, message))
        self._loop.call_soon_threadsafe(self._connection.write, encoded)

    def _next_number(self) -> int:
        self._number += 1
        return self._number

    def _request(self, number: int, message: FromChild) -> "asyncio.Future[str]":
        reply: asyncio.Future[str] = self._loop.create_future()
        self._replies[number] = reply
        self.post(message)
        return reply


def find_definition(module: str, name: str) -> Definition:
    """Import a module, or a script by its path, and return the task with this name in it."""
    if module.endswith(".py"):
        namespace: Any = _scripts.get(module)
        if namespace is None:
            sys.path.insert(0, str(Path(module).parent))
            namespace = _scripts[module] = runpy.run_path(module, run_name="__fairlane_child__")
        function: Any = namespace[name.split(".")[0]]
        rest = name.split(".")[1:]
    else:
        function, rest = importlib.import_module(module), name.split(".")
    for part in rest:
        function = getattr(function, part)
    definition = getattr(function, "definition", None)
    return definition if isinstance(definition, Definition) else Definition(function)


_scripts: dict[str, Any] = {}


class ChildRunner:
    """Runs the attempts that the worker sends, one at a time."""

    def __init__(self, connection: MessagePipe) -> None:
        self._connection = connection
        self._loop = asyncio.get_running_loop()
        self._link: ChildLink | None = None  # of the current attempt, or of the last one
        self._outputs = OutputRegistry()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="fairlane-task")
        self._task: asyncio.Task[None] | None = None
        self._context: Context | SyncContext | None = None
        self._is_async = False
        self._stopping = False

    async def serve(self) -> None:
        message: ToChild
        async for message in self._connection.messages():
            match message:
                case RunMessage():
                    self._stopping = False
                    self._link = ChildLink(self._connection, self._loop, message.run)
                    self._task = asyncio.create_task(self._run(message, self._link))
                case StopMessage():
                    self._stop()
                case ReplyMessage() if self._link is not None:
                    self._link.reply_received(message)

    def _stop(self) -> None:
        self._stopping = True
        if self._context is not None:
            self._context.request_stop()
        if self._task is not None and self._is_async:
            self._task.cancel()

    async def _run(self, message: RunMessage, link: ChildLink) -> None:
        answer: ResultMessage | FailureMessage
        try:
            answer = ResultMessage(await self._call(message, link))
        except BaseException as error:  # noqa: BLE001 - user code; it is sent to the worker
            answer = FailureMessage(classify(error))
        context, self._context = self._context, None
        try:
            link.send_report()
        except (TypeError, ValueError, RecursionError) as error:
            answer = FailureMessage(classify(error))
        answer.has_leftovers = context is not None and context.has_leftovers
        link.post(answer)

    async def _call(self, message: RunMessage, link: ChildLink) -> str:
        sys.path[:] = message.path
        logs = message.logs
        if logs is not None and logs != current_configuration():
            configure(json=logs.json, level=logs.level)
        # In a thread without a loop, so that a program without a main guard gets a clear error.
        definition = await in_thread(find_definition, *message.location)
        self._is_async = definition.is_async
        payload, facts = message.payload, message.facts
        link.redactor = redactor_for(definition.parameters.secrets, payload.params)
        _set_log_subject(facts, link.redactor)
        continue_trace(message.trace)
        values = definition.parameters.decode(payload.params)
        context, report = build_context(
            definition, values, facts, payload, message.stored_values, link,
            outputs=self._outputs, declared=[Path(path) for path in message.declared],
            loop=self._loop,
        )  # fmt: skip
        if self._stopping:
            raise asyncio.CancelledError  # the stop came before the function began
        self._context = context
        link.post(BeganMessage())
        try:
            if definition.is_async:
                value = await definition.call(context, values)
            else:
                call = partial(copy_context().run, definition.call, context, values)
                value = await in_thread(call, threads=self._thread)
        finally:
            self._outputs.release(facts.id)
        report.complete()
        return definition.results.encode(value)


def _set_log_subject(job: JobFacts, redactor: Redactor | None) -> None:
    """Make the attempt the subject of all log lines in this context."""
    set_subject(LogSubject(job.id, job.task, job.queue, job.lane, job.attempt, redactor))


async def main() -> None:
    connection = await connect(messages=ToChild)
    await ChildRunner(connection).serve()


if __name__ == "__main__":
    os.environ[IN_CHILD] = "1"
    asyncio.run(main())
    sys.stdout.flush()
    os._exit(0)  # do not wait for threads that still run user code
