"""The child process of `isolation="process"`: runs one job at a time for its worker.

Started by the worker as `python -m fairlane.worker.child_main`. It imports the user's module as a
module and never as a program, so importing it starts no engine.
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
from fairlane.logs import Chosen, Subject, chosen, configure, speak_of
from fairlane.process.child_pool import IN_CHILD, MessagePipe, connect
from fairlane.redaction import Mask, mask_of
from fairlane.runtime.threads import in_thread
from fairlane.store.views import Payload, ReportBody
from fairlane.task.context import Context, JobFacts, SyncContext
from fairlane.task.definition import Definition
from fairlane.task.failure_kinds import classify
from fairlane.task.output_files import OutputRegistry
from fairlane.tracing import go_on
from fairlane.worker.attempt import build_context

_REPORT_SECONDS: Final = 0.2


class PipeLink:
    """The link of a context whose worker is another process."""

    def __init__(self, connection: MessagePipe, loop: asyncio.AbstractEventLoop) -> None:
        self._connection = connection
        self._loop = loop
        self._answers: dict[int, asyncio.Future[str]] = {}
        self._number = 0
        self._pending: tuple[Callable[[], ReportBody], str | None] | None = None

    def _post(self, message: dict[str, Any]) -> None:
        self._loop.call_soon_threadsafe(self._connection.post, message)

    def report(self, snapshot: Callable[[], ReportBody], stage: str | None) -> None:
        first = self._pending is None
        self._pending = (snapshot, stage)
        if first:
            self._loop.call_soon_threadsafe(self._loop.call_later, _REPORT_SECONDS, self.flush)

    def flush(self) -> None:
        pending, self._pending = self._pending, None
        if pending is not None:
            body = msgspec.json.encode(pending[0]()).decode()
            self._connection.post({"type": "report", "body": body, "stage": pending[1]})

    def log(self, level: str, message: str) -> None:
        self._post({"type": "log", "level": level, "message": message})

    async def enter_stage(self, limits: tuple[str, ...], uses: tuple[tuple[str, int], ...]) -> str:
        return await self._ask({"type": "enter", "limits": limits, "uses": uses})

    def leave_stage(self, token: str) -> None:
        self._post({"type": "leave", "token": token})

    async def keep(self, name: str, body: str | None) -> None:
        await self._ask({"type": "keep", "name": name, "body": body})

    def store_value_soon(self, name: str, body: str) -> None:
        self._connection.post({"type": "keep_soon", "name": name, "body": body})

    async def _ask(self, message: dict[str, Any]) -> str:
        self._number += 1
        answer: asyncio.Future[str] = self._loop.create_future()
        self._answers[self._number] = answer
        self._connection.post({**message, "number": self._number})
        return await answer

    def answered(self, message: dict[str, Any]) -> None:
        answer = self._answers.pop(message["number"], None)
        if answer is None or answer.done():
            return
        if "problem" in message:
            answer.set_exception(FairlaneError.from_problem(message["problem"]))
        else:
            answer.set_result(message["token"])


def find_definition(place: str, name: str) -> Definition:
    """Import a module, or a script by its path, and find the task in it."""
    if place.endswith(".py"):
        namespace: Any = _scripts.get(place)
        if namespace is None:
            sys.path.insert(0, str(Path(place).parent))
            namespace = _scripts[place] = runpy.run_path(place, run_name="__fairlane_child__")
        found: Any = namespace[name.split(".")[0]]
        rest = name.split(".")[1:]
    else:
        found, rest = importlib.import_module(place), name.split(".")
    for part in rest:
        found = getattr(found, part)
    definition = getattr(found, "definition", None)
    return definition if isinstance(definition, Definition) else Definition(found)


_scripts: dict[str, Any] = {}


class Runner:
    """Runs what the worker sends, one job at a time."""

    def __init__(self, connection: MessagePipe) -> None:
        self._connection = connection
        self._loop = asyncio.get_running_loop()
        self._link = PipeLink(connection, self._loop)
        self._outputs = OutputRegistry()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="fairlane-task")
        self._task: asyncio.Task[None] | None = None
        self._context: Context | SyncContext | None = None
        self._is_async = False
        self._stopping = False

    async def serve(self) -> None:
        async for message in self._connection.messages():
            match message["type"]:
                case "run":
                    self._stopping = False
                    self._task = asyncio.create_task(self._run(message))
                case "stop":
                    self._stop()
                case "answer":
                    self._link.answered(message)

    def _stop(self) -> None:
        self._stopping = True
        if self._context is not None:
            self._context.request_stop()
        if self._task is not None and self._is_async:
            self._task.cancel()

    async def _run(self, message: dict[str, Any]) -> None:
        try:
            answer = {"type": "done", "value": await self._call(message)}
        except BaseException as error:  # noqa: BLE001 - user code; the worker hears of it
            answer = {"type": "failed", "failure": msgspec.to_builtins(classify(error))}
        self._context = None
        try:
            self._link.flush()
        except (TypeError, ValueError, RecursionError) as error:
            answer = {"type": "failed", "failure": msgspec.to_builtins(classify(error))}
        self._connection.post(answer)

    async def _call(self, message: dict[str, Any]) -> str:
        sys.path[:] = message["path"]
        wanted = msgspec.convert(message["logs"], Chosen | None)
        if wanted is not None and wanted != chosen():
            configure(json=wanted.json, level=wanted.level)
        # In a thread without a loop, so that a program without a main guard gets a clear error.
        definition = await in_thread(find_definition, *message["location"])
        self._is_async = definition.is_async
        payload = msgspec.convert(message["payload"], Payload)
        facts = msgspec.convert(message["facts"], JobFacts)
        _introduce(facts, mask_of(definition.parameters.secrets, payload.params))
        go_on(message["trace"])
        values = definition.parameters.decode(payload.params)
        context, _ = build_context(
            definition, values, facts, payload, message["kept"], self._link, outputs=self._outputs,
            declared=[Path(path) for path in message["declared"]], loop=self._loop,
        )  # fmt: skip
        if self._stopping:
            raise asyncio.CancelledError  # it was to stop before it had begun
        self._context = context
        try:
            if definition.is_async:
                value = await definition.call(context, values)
            else:
                call = partial(copy_context().run, definition.call, context, values)
                value = await in_thread(call, threads=self._thread)
        finally:
            self._outputs.release(facts.id)
        return definition.results.encode(value)


def _introduce(job: JobFacts, mask: Mask | None) -> None:
    """Let whatever is logged in this context be about the attempt."""
    speak_of(Subject(job.id, job.task, job.queue, job.lane, job.attempt, mask))


async def main() -> None:
    connection = await connect()
    await Runner(connection).serve()


if __name__ == "__main__":
    os.environ[IN_CHILD] = "1"
    asyncio.run(main())
    sys.stdout.flush()
    os._exit(0)  # a thread that still runs user code must not keep the process
