"""Submitting jobs, of this program's tasks and of tasks that other programs have declared."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from fairlane.client.commands import Commands
from fairlane.client.job import Job
from fairlane.core.inputs import Submission, Submit
from fairlane.core.live_job import JobId
from fairlane.core.validation import check_text
from fairlane.errors import BadSetting, KeyReused, UnknownName, UsageError
from fairlane.ids import keyed_id, new_id
from fairlane.runtime.storable_text import storable
from fairlane.store.protocol import Store
from fairlane.task.secret_cipher import SecretCipher
from fairlane.task_schema import TaskSchema, decode_task_schema, task_from_schema, task_schema_of
from fairlane.tasks import Call, Task, check_size, require_call
from fairlane.tracing import submission_span
from fairlane.transactions import execute, execute_sync

R = TypeVar("R")


class Submissions:
    """Turn calls into jobs: all ways to submit lead here."""

    def __init__(
        self,
        commands: Commands,
        tasks: Mapping[str, Task[Any, Any]],
        new_store: Callable[[], Store],
        cipher: SecretCipher | None,
    ) -> None:
        self._commands = commands
        self._tasks = tasks
        self._new_store = new_store
        self.cipher = cipher

    async def submit(self, call: Call[R]) -> Job[R]:
        return (await self.submit_many([call]))[0]

    async def submit_many(self, calls: Sequence[Call[Any]]) -> list[Job[Any]]:
        """Submit calls in this order, all or none."""
        calls = _require_calls(calls)
        if not calls:
            return []
        submissions: list[Submission] = []
        admitted: set[str] = set()
        try:
            submissions.extend(call.submission(self._reserve) for call in calls)
            check_size(submissions)
            has_own_ids = any(call.has_own_id for call in calls)
            answers = await self._commands.admit(submissions, sent_before=has_own_ids)
            admitted.update(answer["id"] for answer in answers)
        finally:
            self._release(job.id for job in submissions if job.id not in admitted)
        return [
            self._handle(JobId(answer["id"]), call, merged=answer["merged"])
            for call, answer in zip(calls, answers, strict=True)
        ]

    def _handle(self, id: JobId, call: Call[R], *, merged: bool = False) -> Job[R]:
        results = call.task.definition.results
        return Job(self._commands, id, results=results, merged=merged)

    def _reserve(self, job: str, path: Path) -> Path:
        return self._commands.engine.worker.outputs.reserve_unused_path(job, path)

    def _release(self, jobs: Iterable[str]) -> None:
        """Release the output names of jobs that were not admitted."""
        for job in jobs:
            self._commands.engine.worker.outputs.release(job)

    async def submit_once(
        self, key: str, calls: Sequence[Call[Any]], *, request: str
    ) -> list[Job[Any]]:
        """Submit under an idempotency key: the same key and request return the same jobs."""
        check_text("idempotency key", key)
        if storable(request) != request:  # never equal if it is not a text
            raise BadSetting(f"request is {request!r:.80}; it must be text without surrogates")
        calls = _require_calls(calls, "submit_once")
        # A request may contain secrets; its digest by a key says nothing about them.
        requests = self.cipher.digests(request) if self.cipher else [request]
        keyed = [call.with_id(keyed_id(key, n), requests[0]) for n, call in enumerate(calls)]
        known = [*requests, request]  # the last: it was stored before there was a key
        if keyed:
            await self._check_request(keyed_id(key, 0), key, known)
        jobs = await self.submit_many(keyed)
        if keyed:  # another caller may have used the key at the same moment
            await self._check_request(keyed_id(key, 0), key, known)
        return jobs

    async def _check_request(self, job: JobId, key: str, requests: Sequence[str]) -> None:
        stored = await self._commands.on_loop(self._commands.store.submission(job))
        if stored is None:
            return
        if msgspec.json.decode(stored.options).get("request") not in requests:
            raise KeyReused(key, job)

    async def submit_inside(self, connection: Any, calls: Sequence[Call[Any]]) -> list[Job[Any]]:
        """Submit on a connection of asyncpg or psycopg that is awaited."""
        statement, values, jobs = self._insertion(calls)
        await execute(connection, statement, values)
        return jobs

    def submit_inside_now(self, connection: Any, calls: Sequence[Call[Any]]) -> list[Job[Any]]:
        """Submit on a connection of psycopg that is not awaited."""
        statement, values, jobs = self._insertion(calls)
        execute_sync(connection, statement, values)
        return jobs

    def _insertion(self, calls: Sequence[Call[Any]]) -> tuple[str, tuple[Any, ...], list[Job[Any]]]:
        insertion = getattr(self._new_store(), "insertion", None)
        if insertion is None:
            raise UsageError(
                "submit_inside needs a database on PostgreSQL: it shares a transaction"
            )
        if not calls:
            raise UsageError("submit_inside takes at least one call after the connection")
        submissions = [require_call(call).submission() for call in calls]
        check_size(submissions)
        command = Submit(new_id(), submissions, sent_before=True, binding=True)
        with submission_span(submissions):
            body = msgspec.json.encode(command).decode()
        statement, values = insertion(command.key, body, self._commands.clock.now())
        pairs = zip(submissions, calls, strict=True)
        return statement, values, [self._handle(job.id, call) for job, call in pairs]

    async def find_task(self, name: str) -> Task[Any, Any]:
        """Return a task of this program, or one rebuilt from the schema that its program stored."""
        if name in self._tasks:
            return self._tasks[name]
        known = await self.task_schemas()
        if name not in known:
            raise UnknownName("task", name, {*self._tasks, *known})
        return task_from_schema(name, known[name], self)

    async def task_schemas(self) -> dict[str, TaskSchema]:
        """Return the schema of every task that a program on this database has declared."""
        stored = await self._commands.records("task")
        decoded = {name: decode_task_schema(body) for name, body in stored.items()}
        own = {name: task_schema_of(task) for name, task in self._tasks.items()}
        return {name: found for name, found in decoded.items() if found is not None} | own


def _require_calls(calls: object, verb: str = "submit_many") -> list[Call[Any]]:
    if isinstance(calls, Call) or not isinstance(calls, Iterable):
        raise UsageError(
            f"{verb} takes a list of calls, got {repr(calls)[:200]}; put a single call in a list"
        )
    return [require_call(call) for call in calls]
