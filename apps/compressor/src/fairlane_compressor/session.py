"""One invocation of the command: submit, follow, print, and return the exit code."""

import json
import logging
import secrets
import sys
from collections.abc import Collection, Sequence
from typing import Any, Final, TextIO, cast

import msgspec
from rich.console import Console

from fairlane import Conflict, Fairlane, Job, JobView, NotFound, Priority
from fairlane_compressor.follow import follow
from fairlane_compressor.output_stream import TolerantStream
from fairlane_compressor.progress_bars import ProgressBars, plain, summary
from fairlane_compressor.progress_lines import Display, ProgressLines
from fairlane_compressor.sizes import counted
from fairlane_compressor.sources import Problem, Sources
from fairlane_compressor.stopped_jobs import StoppedJobs

QUEUE: Final = "compress"
FAILED: Final = 1
INTERRUPTED: Final = 130
_DONE: Final = ("completed", "skipped", "failed")
_LIVE: Final = ("created", "scheduled", "queued", "blocked", "running", "retrying", "interrupted")


class Interrupted(Exception):
    """The user wants to stop: an app that is left by an exception waits for no job."""


class Session:
    """One invocation; `name` is the program name, for hints."""

    def __init__(self, app: Fairlane, *, name: str, as_json: bool) -> None:
        self._app = app
        self._name = name
        self._as_json = as_json
        self._id = secrets.token_hex(8)
        self._stopped = StoppedJobs(app.database)
        self._problems: list[Problem] = []
        self._console = Console(file=cast(TextIO, TolerantStream(sys.stdout)), highlight=False)
        self._errors = Console(file=cast(TextIO, TolerantStream(sys.stderr)), highlight=False)
        # The summary shows failures, so the log does not.
        logging.getLogger("fairlane").addHandler(logging.NullHandler())

    async def compress(self, found: Sources, priority: Priority) -> int:
        """Compress the sources; return the exit code."""
        self._problems = found.problems
        for problem in found.problems:
            self._say(str(problem))
        if found.results:
            self._say(
                f"{counted(found.results, 'earlier result')} in the folders {_are(found.results)} "
                "left alone; name a file itself to compress it again"
            )
        if found.left_alone:
            self._say(
                f"{counted(found.left_alone, 'other file')} in the folders "
                f"{_are(found.left_alone)} left alone"
            )
        if not found.orders:
            hint = "; --format zip packs a folder as it is" if found.left_alone else ""
            self._say(f"no files to compress{hint}")
            self._print_json([])
            return FAILED
        try:
            async with self._app:
                task = self._app.tasks["compress"]
                configured = task.options(priority=priority, meta={"session": self._id})
                after = await self._app.events.newest()
                jobs = await self._app.submit_many(
                    [configured.call(**msgspec.structs.asdict(order)) for order in found.orders]
                )
                code = await self._follow(jobs, after)
        except Interrupted:
            return INTERRUPTED
        return code or (FAILED if found.problems else 0)

    async def go_on(self) -> int:
        """Retry the jobs that sessions stopped, and wait for all live jobs."""
        try:
            async with self._app:
                after = await self._app.events.newest()
                jobs = await self._retried()
                theirs = await self._live() - {job.id for job in jobs}
                jobs += [self._app.jobs.handle(id) for id in sorted(theirs)]
                if jobs:
                    return await self._follow(jobs, after, theirs=theirs)
        except Interrupted:
            return INTERRUPTED
        self._say("nothing is left to do")
        self._print_json([])
        return 0

    async def _retried(self) -> list[Job[Any]]:
        """Retry stopped jobs, unless the same order was submitted again since."""
        retried: dict[str, Job[Any]] = {}
        for note, ids in self._stopped.read().items():
            for id in ids:
                job = self._app.jobs.handle(id)
                try:
                    if await self._is_left(await job.show()):
                        await job.retry(place="tail")
                        retried[id] = job
                except (Conflict, NotFound):
                    continue  # another job of its lane runs, or it was pruned
            self._stopped.forget(note)
        return list(retried.values())

    async def _is_left(self, view: JobView) -> bool:
        if view.state != "cancelled":
            return False
        newest = await self._app.jobs.history(queue=QUEUE, lane=view.lane, limit=1)
        return [job.id for job in newest.items] == [view.id]

    async def _live(self) -> set[str]:
        found: set[str] = set()
        cursor = None
        while True:
            page = await self._app.jobs.list(states=_LIVE, queue=QUEUE, limit=1000, cursor=cursor)
            found.update(view.id for view in page.items)
            if (cursor := page.next) is None:
                return found

    async def _follow(
        self, jobs: Sequence[Job[Any]], after: int, *, theirs: Collection[str] = ()
    ) -> int:
        await self._tell_of_a_pause()
        shown = self._errors if self._as_json else self._console
        total = len({job.id for job in jobs})
        display: Display = (
            ProgressBars(shown, total) if shown.is_terminal else ProgressLines(self._errors)
        )
        with display:
            followed = await follow(
                self._app, jobs, after=after, heard=display.event, ended=display.ended,
                theirs=theirs, stopping_them=self._note,
            )  # fmt: skip
        if self._as_json:
            self._print_json(followed.views)
        else:
            summary(followed.views, self._console)
        if followed.interrupted:
            left = sum(view.state not in _DONE for view in followed.views)
            were, them = ("was", "it") if left == 1 else ("were", "them")
            self._say(f"stopped: {left} {were} not done; {self._name} continue goes on with {them}")
            raise Interrupted
        done = all(view.state in ("completed", "skipped") for view in followed.views)
        return 0 if done else FAILED

    def _note(self, ids: list[str]) -> None:
        try:
            self._stopped.note(self._id, ids)
        except OSError as error:  # the jobs are stopped anyway
            self._say(f"continue will not find them: {error}; {self._name} retry does it for each")

    def _print_json(self, views: Sequence[JobView]) -> None:
        if self._as_json:
            entries = [_facts(view) for view in views]
            entries += [_trouble(problem) for problem in self._problems]
            self._console.print_json(json.dumps(entries))

    async def _tell_of_a_pause(self) -> None:
        if (await self._app.queues.list())[QUEUE].paused:
            self._say(f"the queue is paused: {self._name} resume {QUEUE} lets it go on")

    def _say(self, words: str) -> None:
        self._errors.print(plain(words), markup=False, soft_wrap=True)


def _facts(view: JobView) -> dict[str, Any]:
    error = None if view.error is None else {"code": view.error.code, "message": view.error.message}
    return {"job": view.id, "source": view.params["source"], "state": view.state,
            "result": view.result, "error": error}  # fmt: skip


def _trouble(problem: Problem) -> dict[str, Any]:
    return {"job": None, "source": problem.source, "state": problem.state, "result": None,
            "error": {"code": problem.state, "message": str(problem)}}  # fmt: skip


def _are(number: int) -> str:
    return "is" if number == 1 else "are"
