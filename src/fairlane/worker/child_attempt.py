"""Running a job in a child process: the worker's side.

The child runs the same function with the same kind of context; its link is a pipe. What it asks for
goes to the attempt, as if the function ran here.
"""

import asyncio
import sys
from typing import TYPE_CHECKING, Any

import msgspec

from fairlane.core.inputs import Failure
from fairlane.errors import FairlaneError, TaskError
from fairlane.logs import chosen
from fairlane.process.child_pool import Child, ChildPool
from fairlane.process.process_group import ProcessDeadline
from fairlane.store.views import ReportBody

if TYPE_CHECKING:
    from fairlane.worker.attempt import Attempt

_ARGV = [sys.executable, "-m", "fairlane.worker.child_main"]


class ChildFailed(TaskError):
    """What was raised in the child, as it told us."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class ChildWork:
    def __init__(self, process_deadline: ProcessDeadline) -> None:
        self._pool = ChildPool(_ARGV, process_deadline=process_deadline)

    async def close(self) -> None:
        await self._pool.close()

    async def run(self, attempt: "Attempt", declared: list[str]) -> str:
        """Run the job in a child and return its result as JSON."""
        failure = Failure(
            "process_died", "the process that ran it ended before it was done", retryable=True
        )
        async with self._pool.lend() as child:
            if attempt.stop_reason is not None:
                raise asyncio.CancelledError  # it was stopped while the child started
            attempt.can_be_stopped_by(kill=child.kill, ask=lambda: child.send({"type": "stop"}))
            child.send(
                {
                    "type": "run",
                    "location": attempt.definition.location,
                    "path": sys.path,
                    "facts": attempt.facts(),
                    "payload": attempt.payload,
                    "kept": attempt.kept,
                    "declared": declared,
                    "trace": None if attempt.span is None else attempt.span.carrier,
                    "logs": chosen(),
                }
            )
            asking: set[asyncio.Task[None]] = set()
            try:
                async for message in child.messages():
                    if message["type"] == "done":
                        return str(message["value"])
                    if message["type"] == "failed":
                        failure = msgspec.convert(message["failure"], Failure)
                        break  # the task failed, the child did not: it is kept for the next
                    self._serve(attempt, child, message, asking)
            finally:
                for task in asking:
                    task.cancel()
                await asyncio.gather(*asking, return_exceptions=True)
        raise ChildFailed(failure)

    def _serve(
        self,
        attempt: "Attempt",
        child: Child,
        message: dict[str, Any],
        asking: set[asyncio.Task[None]],
    ) -> None:
        match message["type"]:
            case "report":
                attempt.report_sent = message["body"]
                body = msgspec.json.decode(message["body"], type=ReportBody)
                attempt.report(lambda: body, message["stage"])
            case "log":
                attempt.log(message["level"], message["message"])
            case "leave":
                attempt.leave_stage(message["token"])
            case "enter":
                asking.add(asyncio.create_task(self._enter(attempt, child, message)))
            case "keep":
                asking.add(asyncio.create_task(self._keep(attempt, child, message)))
            case "keep_soon":
                attempt.kept[message["name"]] = message["body"]
                attempt.store_value_soon(message["name"], message["body"])

    async def _enter(self, attempt: "Attempt", child: Child, message: dict[str, Any]) -> None:
        uses = tuple((name, amount) for name, amount in message["uses"])
        answer = {"type": "answer", "number": message["number"]}
        try:
            token = await attempt.enter_stage(tuple(message["limits"]), uses)
        except FairlaneError as error:
            child.send({**answer, "problem": error.as_problem()})
        else:
            child.send({**answer, "token": token})

    async def _keep(self, attempt: "Attempt", child: Child, message: dict[str, Any]) -> None:
        await attempt.keep(message["name"], message["body"])
        if message["body"] is not None:
            attempt.kept[message["name"]] = message["body"]
        child.send({"type": "answer", "number": message["number"], "token": ""})
