"""`Tasks`: create, read, cancel, prioritize and repeat extractions."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

import msgspec
from msgspec import Struct, structs

from fairlane import (
    BadSetting,
    Call,
    Conflict,
    FairlaneError,
    JobView,
    NotFound,
    Priority,
    UnknownName,
)
from fairlane_extractor.extraction import Wish
from fairlane_extractor.program import QUEUE, TASK, Extractor
from fairlane_extractor.settings import MediaPolicy
from fairlane_extractor.site.file_access import check_inputs, is_served
from fairlane_extractor.site.task_view import Task, TaskPage, TaskStatus, states_of, task_view
from fairlane_extractor.sources.platforms import platform_of

MOST_INPUTS: Final = 500


class Options(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The options of a task; without `media` the setting of the program counts."""

    speech: Wish = "auto"
    frames: Wish = "auto"
    language: str | None = None
    media: MediaPolicy | None = None
    priority: Literal["high", "normal", "low"] = "normal"


class Tasks:
    """The extractions of an extractor, whose app the caller starts."""

    def __init__(self, extractor: Extractor) -> None:
        self._extractor = extractor
        self._jobs = extractor.app.jobs

    async def create_task(self, input: str, options: Mapping[str, Any] | None = None) -> str:
        """Submit an input and return the id of its task; the task is then on disk."""
        return (await self.create_tasks([input], options))[0]

    async def create_tasks(
        self, inputs: Sequence[str], options: Mapping[str, Any] | None = None
    ) -> list[str]:
        """Submit inputs in this order, all or none, and return the ids of their tasks.

        A file must lie in the folder for uploads or in one of the setting `files`.
        """
        if not 0 < len(inputs) <= MOST_INPUTS:
            raise BadSetting(f"{len(inputs)} inputs are given; send 1 to {MOST_INPUTS} at a time")
        await asyncio.to_thread(check_inputs, self._extractor.settings, inputs)
        return await self._submit(inputs, options)

    async def _submit(self, inputs: Sequence[str], options: Mapping[str, Any] | None) -> list[str]:
        chosen = read_options(options or {})
        calls = [self._call(input, chosen) for input in inputs]
        return [job.id for job in await self._extractor.app.submit_many(calls)]

    async def get_task(self, task_id: str) -> Task | None:
        """Return a task, or None if there is none with this id."""
        job = await self._find_job(task_id)
        return None if job is None else (await self._views([job]))[0]

    async def list_tasks(
        self,
        *,
        statuses: Sequence[str] = (),
        text: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> TaskPage:
        """List tasks: live ones first, then ended ones, each the newest first.

        A page may be short although there is a next one.
        """
        wanted = [_status(name) for name in statuses]
        page = await self._jobs.list(
            states=states_of(wanted), task=TASK, queue=QUEUE, text=text, limit=limit, cursor=cursor
        )
        tasks = await self._views(page.items)
        found = [task for task in tasks if not wanted or task.status in wanted]
        return TaskPage(found, page.next)

    async def explain_task(self, task_id: str) -> list[str]:
        """Return why a task waits; nothing for other tasks."""
        try:
            explained = await self._jobs.explain(task_id)
        except FairlaneError:  # no process leads at the moment, or it has just ended
            return []
        return [str(reason["message"]) for reason in explained.get("reasons", ())]

    async def cancel_task(self, task_id: str) -> bool:
        """Cancel a task; return whether it was still live. It ends once its programs have ended."""
        job = await self._find_job(task_id)
        if job is None:
            return False
        try:
            await self._jobs.handle(task_id).cancel()
        except Conflict:  # it has ended
            return False
        return True

    async def prioritize_task(self, task_id: str) -> None:
        """Move a waiting task before all others."""
        await self._require_job(task_id)
        handle = self._jobs.handle(task_id)
        await handle.set_priority(Priority.HIGH)
        await handle.move(to="head")

    async def reextract_task(self, task_id: str, options: Mapping[str, Any] | None = None) -> str:
        """Extract the input of a task again, as a new task; `options` replace those of the old.

        This is also possible for a text whose job the history no longer has, and for a file that
        was submitted on the terminal, wherever it lies.
        """
        job = await self._find_job(task_id)
        if job is not None:
            known = {name: job.params[name] for name in _KEPT if job.params.get(name) is not None}
            return (await self._submit([str(job.params["input"])], {**known, **(options or {})}))[0]
        result = await asyncio.to_thread(self._extractor.results.load, task_id)
        if result is None:
            raise NotFound(f"task {task_id} does not exist")
        return (await self._submit([result.input], options))[0]

    async def _views(self, jobs: Sequence[JobView]) -> list[Task]:
        """Return the tasks of jobs. A text that was deleted since then is not shown any more."""
        ids = [job.id for job in jobs if job.result is not None]
        served = await asyncio.to_thread(self._served_media, ids) if ids else {}
        return [
            task_view(
                job, platform_of(str(job.params.get("input", ""))), has_text=job.id in served,
                has_media=served.get(job.id, False),
            )
            for job in jobs
        ]  # fmt: skip

    def _served_media(self, ids: Sequence[str]) -> dict[str, bool]:
        """Return for each stored result whether its media can be read on the site."""
        settings, found = self._extractor.settings, self._extractor.results.summaries(ids)
        return {
            one.id: one.media_path is not None and is_served(settings, one.media_path)
            for one in found
        }

    def _call(self, input: str, options: Options) -> Call[Any]:
        given = {name: value for name, value in structs.asdict(options).items() if value}
        priority = Priority[str(given.pop("priority")).upper()]
        return self._extractor.extract.options(priority=priority).call(input=input.strip(), **given)

    async def _find_job(self, task_id: str) -> JobView | None:
        try:
            job = await self._jobs.show(task_id)
        except NotFound:
            return None
        return job if job.task == TASK else None

    async def _require_job(self, task_id: str) -> JobView:
        job = await self._find_job(task_id)
        if job is None:
            raise NotFound(f"task {task_id} does not exist")
        return job


_KEPT: Final = ("speech", "frames", "language", "media")


def read_options(options: Mapping[str, Any]) -> Options:
    try:
        return msgspec.convert(dict(options), Options)
    except msgspec.ValidationError as error:
        raise BadSetting(
            f"the options are not known: {error}; they are {', '.join(Options.__struct_fields__)}"
        ) from None


def _status(name: str) -> TaskStatus:
    try:
        return TaskStatus(name)
    except ValueError:
        raise UnknownName("status", name, list(TaskStatus)) from None
