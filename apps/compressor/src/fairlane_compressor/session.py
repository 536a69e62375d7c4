"""One use of the command: it submits, follows, shows, and says how it went."""

import json
import logging
import secrets
from collections.abc import Sequence
from typing import Any, Final

import msgspec
from rich.console import Console

from fairlane import Conflict, Fairlane, Job, JobView, Priority
from fairlane_compressor.bars import Bars, plain, summary
from fairlane_compressor.following import follow
from fairlane_compressor.gathering import Gathered

QUEUE: Final = "compress"
FAILED: Final = 1
INTERRUPTED: Final = 130
_LIVE: Final = ("created", "scheduled", "queued", "blocked", "running", "retrying", "interrupted")


class Session:
    """`name` is how the program was called, for advice."""

    def __init__(self, app: Fairlane, *, name: str, as_json: bool) -> None:
        self._app = app
        self._name = name
        self._as_json = as_json
        self._console = Console(highlight=False)
        self._errors = Console(stderr=True, highlight=False)
        # What fails is shown in the summary; nobody wants it twice.
        logging.getLogger("fairlane").addHandler(logging.NullHandler())

    async def compress(self, found: Gathered, priority: Priority) -> int:
        """Compress what was found; return the exit code."""
        for problem in found.problems:
            self._say(problem)
        if found.left_alone:
            self._say(f"{found.left_alone} other files in the folders are left alone")
        if not found.orders:
            self._say("there is nothing to compress")
            return FAILED
        async with self._app:
            task = self._app.tasks["compress"]
            session = secrets.token_hex(8)
            configured = task.options(priority=priority, meta={"session": session})
            after = await self._app.newest_event()
            jobs = await self._app.submit_many(
                [configured.call(**msgspec.structs.asdict(order)) for order in found.orders]
            )
            code = await self._follow(jobs, after)
        return code or (FAILED if found.problems else 0)

    async def go_on(self) -> int:
        """Retry what the last interrupted use left cancelled, and wait for what is still there."""
        async with self._app:
            after = await self._app.newest_event()
            jobs = await self._cancelled()
            page = await self._app.list_jobs(states=_LIVE, queue=QUEUE, limit=1000)
            jobs += [self._app.job(view.id) for view in page.items]
            if not jobs:
                self._say("nothing is left to do")
                return 0
            return await self._follow(jobs, after)

    async def _cancelled(self) -> list[Job[Any]]:
        page = await self._app.history(states=["cancelled"], queue=QUEUE, limit=1000)
        newest = page.items[0].meta.get("session") if page.items else None
        retried = []
        for view in reversed(page.items):
            if newest is not None and view.meta.get("session") == newest:
                try:
                    await self._app.job(view.id).retry(place="tail")
                except Conflict:
                    continue  # it is being done by another job
                retried.append(self._app.job(view.id))
        return retried

    async def _follow(self, jobs: Sequence[Job[Any]], after: int) -> int:
        await self._tell_of_a_pause()
        shown = self._errors if self._as_json else self._console
        with Bars(shown, len({job.id for job in jobs})) as bars:
            followed = await follow(
                self._app, jobs, after=after, heard=bars.event, ended=bars.ended
            )
        if self._as_json:
            self._console.print_json(json.dumps([_facts(view) for view in followed.views]))
        else:
            summary(followed.views, self._console)
        if followed.interrupted:
            left = sum(view.state == "cancelled" for view in followed.views)
            self._say(f"stopped: {left} were not done; {self._name} continue goes on with them")
            return INTERRUPTED
        done = all(view.state in ("completed", "skipped") for view in followed.views)
        return 0 if done else FAILED

    async def _tell_of_a_pause(self) -> None:
        if (await self._app.queues())[QUEUE].paused:
            self._say(f"the queue is paused: {self._name} resume {QUEUE} lets it go on")

    def _say(self, words: str) -> None:
        self._errors.print(plain(words), markup=False, soft_wrap=True)


def _facts(view: JobView) -> dict[str, Any]:
    error = None if view.error is None else {"code": view.error.code, "message": view.error.message}
    return {"job": view.id, "source": view.params["source"], "state": view.state,
            "result": view.result, "error": error}  # fmt: skip
