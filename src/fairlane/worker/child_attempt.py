"""Running an attempt in a child process: the side of the worker.

The child runs the same function with the same kind of context; its link is a socket. Reports and
requests from the child go to the link of the attempt, as if the function ran in this process.
"""

import asyncio
import itertools
import sys
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

import msgspec

from fairlane.core.inputs import Failure
from fairlane.errors import FairlaneError, TaskError
from fairlane.logs import current_configuration
from fairlane.process.child_pool import Child, ChildPool
from fairlane.process.process_group import ProcessDeadline
from fairlane.store.views import ReportBody
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
)

if TYPE_CHECKING:
    from fairlane.worker.attempt import Attempt

_ARGV = [sys.executable, "-m", "fairlane.worker.child_main"]


class ChildFailed(TaskError):
    """An exception of the task in a child process, already classified there."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class ChildExecutor:
    """Runs attempts in child processes of one pool."""

    def __init__(self, process_deadline: ProcessDeadline) -> None:
        self._deadline = process_deadline
        self._pool = ChildPool(_ARGV, process_deadline=process_deadline, messages=MessageOfRun)
        self._runs = itertools.count(1)

    async def close(self) -> None:
        await self._pool.close()

    async def run(self, attempt: "Attempt", declared: list[str]) -> str:
        """Run the attempt in a child and return its result as JSON."""
        failure = Failure(
            "process_died", "the child process ended before the job was done", retryable=True
        )
        async with self._pool.lend() as child:
            if attempt.stop_reason is not None:
                raise asyncio.CancelledError  # it was stopped while the child started
            attempt.can_be_stopped_by(
                kill=child.kill, request_stop=lambda: child.send(StopMessage())
            )
            run, missed = next(self._runs), self._deadline.missed
            child.send(_run_message(run, attempt, declared))
            requests: dict[int, asyncio.Task[None]] = {}
            try:
                async for sent in child.messages():
                    if sent.run != run:
                        continue  # a thread of an earlier job still runs in the child
                    message = sent.message
                    is_last = isinstance(message, ResultMessage | FailureMessage)
                    if is_last and message.has_leftovers:
                        child.kill()  # before the outcome is known: nothing of the attempt runs on
                    if isinstance(message, ResultMessage):
                        return message.value
                    if isinstance(message, FailureMessage):
                        failure = message.failure
                        break  # the task failed, not the child: it goes back into the pool
                    self._serve(attempt, child, message, requests)
            finally:
                unanswered = list(requests.values())
                for task in unanswered:
                    task.cancel()
                await asyncio.gather(*unanswered, return_exceptions=True)
            if failure.code == "process_died" and self._deadline.missed > missed:
                attempt.interrupt()  # its supervisor killed it: this process missed its lease
        raise ChildFailed(failure)

    def _serve(
        self,
        attempt: "Attempt",
        child: Child,
        message: FromChild,
        requests: dict[int, asyncio.Task[None]],
    ) -> None:
        link = attempt.link
        match message:
            case ReportMessage():
                link.child_report = message.body
                body = msgspec.json.decode(message.body, type=ReportBody)
                link.report(lambda: body, message.stage)
            case BeganMessage():
                attempt.function_began()
            case LogMessage():
                link.log(message.level, message.message)
            case LeaveStageMessage():
                link.leave_stage(message.token)
            case LeaveBehindMessage():
                link.leave_behind(message.token)
            case StageWaitsMessage():
                link.mark_waiting(message.stage, waits=message.waits)
            case EnterStageMessage():
                _answer(requests, message.number, self._enter_stage(attempt, child, message))
            case CancelEntryMessage():
                if message.number in requests:
                    requests[message.number].cancel()
            case StoreValueMessage():
                _answer(requests, message.number, self._store_value(attempt, child, message))
            case StoreValueSoonMessage():
                attempt.stored_values[message.name] = message.body
                link.store_value_soon(message.name, message.body)

    async def _enter_stage(
        self, attempt: "Attempt", child: Child, message: EnterStageMessage
    ) -> None:
        try:
            token = await attempt.link.enter_stage(message.stage, message.limits, message.uses)
        except FairlaneError as error:
            child.send(ReplyMessage(message.number, problem=error.as_problem()))
        else:
            child.send(ReplyMessage(message.number, token))

    async def _store_value(
        self, attempt: "Attempt", child: Child, message: StoreValueMessage
    ) -> None:
        await attempt.link.store_value(message.name, message.body)
        if message.body is not None:
            attempt.stored_values[message.name] = message.body
        child.send(ReplyMessage(message.number))


def _answer(
    requests: dict[int, asyncio.Task[None]], number: int, answering: Coroutine[Any, Any, None]
) -> None:
    """Answer a request of the child in a task, which `requests` holds until it has ended."""
    task = requests[number] = asyncio.create_task(answering)

    def forget(task: asyncio.Task[None]) -> None:
        del requests[number]
        if not task.cancelled():
            task.exception()  # retrieved, so that asyncio does not log it

    task.add_done_callback(forget)


def _run_message(run: int, attempt: "Attempt", declared: list[str]) -> RunMessage:
    return RunMessage(
        run=run,
        location=attempt.definition.location,
        path=sys.path,
        facts=attempt.facts(),
        payload=attempt.payload,
        stored_values=attempt.stored_values,
        declared=declared,
        trace=None if attempt.span is None else attempt.span.carrier,
        logs=current_configuration(),
    )
