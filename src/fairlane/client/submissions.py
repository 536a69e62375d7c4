"""Submitting jobs: of this program's tasks, and of those that another one has described."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from fairlane.client.commands import Calling
from fairlane.core.inputs import Submission, Submit
from fairlane.core.live_job import JobId
from fairlane.errors import KeyReused, UnknownName, UsageError
from fairlane.ids import keyed_id, new_id
from fairlane.job import Job
from fairlane.store.open_store import store_at
from fairlane.task_schema import Description, describe, description_from, task_from
from fairlane.tasks import Call, Task, as_call, check_size
from fairlane.tracing import submitting
from fairlane.transactions import execute, execute_now

R = TypeVar("R")


class Submitting(Calling):
    if TYPE_CHECKING:

        def _reserve(self, job: str, path: Path) -> Path: ...

    async def submit(self, call: Call[R]) -> Job[R]:
        """Submit a call; once this returns the job is on disk."""
        return (await self.submit_many([call]))[0]

    async def submit_many(self, calls: Sequence[Call[Any]]) -> list[Job[Any]]:
        """Submit calls in this order, all or none: one conflict refuses all and names it."""
        if not calls:
            return []
        submissions: list[Submission] = []
        admitted: set[str] = set()
        try:
            submissions.extend(call.submission(self._reserve) for call in calls)
            check_size(submissions)
            own_ids = any(call.has_own_id for call in calls)
            with submitting(submissions):
                answers = await self.call(Submit(new_id(), submissions, own_ids))
            admitted.update(answer["id"] for answer in answers)
        finally:
            self._release(job.id for job in submissions if job.id not in admitted)
        return [
            Job(self, JobId(a["id"]), results=call.task.definition.results, merged=a["merged"])  # type: ignore[arg-type]
            for call, a in zip(calls, answers, strict=True)
        ]

    async def submit_once(
        self, key: str, calls: Sequence[Call[Any]], *, request: str
    ) -> list[Job[Any]]:
        """Submit under a key: the same again gives the same jobs, whoever asks, however often.

        `request` stands for what is asked for, such as a digest of it; something else under a key
        that was used is refused. A call that is merged into another job leaves no trace of its key.
        """
        named = [call.known_as(keyed_id(key, n), request) for n, call in enumerate(calls)]
        if named:
            await self._check_request(keyed_id(key, 0), key, request)
        jobs = await self.submit_many(named)
        if named:  # somebody may have used it at the same moment
            await self._check_request(keyed_id(key, 0), key, request)
        return jobs

    async def _check_request(self, job: JobId, key: str, request: str) -> None:
        known = await self._on_loop(self._store.submission(job))
        if known is not None and msgspec.json.decode(known.options).get("request") != request:
            raise KeyReused(key, job)

    async def submit_inside(self, connection: Any, *calls: Call[Any]) -> list[Job[Any]]:
        """Submit as a part of your own transaction on PostgreSQL: with all of it, or not at all.

        `connection` is one of asyncpg or of psycopg 3; with `app.sync` one that is not awaited.
        Nothing can be refused before you commit: a job that does not fit then ends as skipped.
        """
        statement, values, jobs = self._insertion(calls)
        await execute(connection, statement, values)
        return jobs

    def _submit_inside_now(self, connection: Any, *calls: Call[Any]) -> list[Job[Any]]:
        statement, values, jobs = self._insertion(calls)
        execute_now(connection, statement, values)
        return jobs

    def _insertion(self, calls: Sequence[Call[Any]]) -> tuple[str, tuple[Any, ...], list[Job[Any]]]:
        insertion = getattr(store_at(self.database), "insertion", None)
        if insertion is None:
            raise UsageError(
                "submit_inside needs a database on PostgreSQL: it shares a transaction"
            )
        if not calls:
            raise UsageError("submit_inside takes at least one call after the connection")
        submissions = [as_call(call).submission() for call in calls]
        check_size(submissions)
        command = Submit(new_id(), submissions, sent_before=True, binding=True)
        with submitting(submissions):
            body = msgspec.json.encode(command).decode()
        statement, values = insertion(command.key, body, self.clock.now())
        results = [call.task.definition.results for call in calls]
        jobs: list[Job[Any]] = [
            Job(self, JobId(job.id), results=read)  # type: ignore[arg-type]
            for job, read in zip(submissions, results, strict=True)
        ]
        return statement, values, jobs

    def _release(self, jobs: Iterable[str]) -> None:
        """Give back the output names of jobs that were not admitted."""
        for job in jobs:
            self._engine.worker.outputs.release(job)

    async def submit_by_name(self, task: str, params: dict[str, Any], **options: Any) -> Job[Any]:
        """Submit a job of a task by the task's name."""
        known = await self.find_task(task)
        return await self.submit(known.options(**options).call(**params))

    async def find_task(self, name: str) -> Task[Any, Any]:
        """Return a task of this program, or of another by what is stored about it."""
        if name in self.tasks:
            return self.tasks[name]
        known = await self.descriptions()
        if name not in known:
            raise UnknownName("task", name, {*self.tasks, *known})
        return task_from(name, known[name], self)  # type: ignore[arg-type]

    async def descriptions(self) -> dict[str, Description]:
        """Describe every task that a program on this database has declared, by name."""
        stored = await self._on_loop(self._store.records("task"))
        read = {name: description_from(body) for name, body in stored.items()}
        known = {name: describe(task) for name, task in self.tasks.items()}
        return {name: found for name, found in read.items() if found is not None} | known

    def task_named(self, name: str) -> Task[Any, Any]:
        if name not in self.tasks:
            raise UnknownName("task", name, self.tasks)
        return self.tasks[name]
