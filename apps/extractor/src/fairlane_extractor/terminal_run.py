"""One invocation of the command line: submit inputs, follow the jobs, print their texts.

If another process leads on the database (a server, or another terminal), that process may do the
work, and this one only follows.
"""

import asyncio
import contextlib
import json
import logging
import re
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from rich.console import Console

from fairlane import Conflict, Fairlane, Job, JobView, Priority
from fairlane_extractor.exports import Format, export
from fairlane_extractor.extraction import Order
from fairlane_extractor.program import QUEUE, Extractor
from fairlane_extractor.progress_rows import Display, display_on
from fairlane_extractor.results import StoredResult

FAILED: Final = 1
INTERRUPTED: Final = 130
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_LONGEST_NAME: Final = 200  # bytes; file systems have names of 255
_UNSAFE: Final = re.compile(r'[\x00-\x1f\x7f/\\:*?"<>|]+')


class TerminalRun:
    def __init__(
        self, extractor: Extractor, *, format: Format, to: Path | None, as_json: bool
    ) -> None:
        self._extractor = extractor
        self._app: Fairlane = extractor.app
        self._format = format
        self._to = to
        self._as_json = as_json
        self._errors = Console(stderr=True, highlight=False)
        # Failures are printed with their inputs, so the log does not show them.
        logging.getLogger("fairlane").addHandler(logging.NullHandler())

    async def extract(self, orders: Sequence[Order], priority: Priority) -> int:
        """Extract the inputs, print or write the texts in their order; return the exit code."""
        await asyncio.to_thread(self._extractor.results.prepare)
        async with self._app:
            await self._extractor.sweep()
            after = await self._app.events.newest()
            task = self._extractor.extract.options(priority=priority)
            jobs = await self._app.submit_many([
                task.call(
                    input=one.input, speech=one.speech, frames=one.frames, language=one.language,
                    media=one.media,
                )
                for one in orders
            ])  # fmt: skip
            names = {str(job.id): _shown(one.input) for job, one in zip(jobs, orders, strict=True)}
            with display_on(self._errors, names) as display:
                interrupted = await self._follow(jobs, after, display)
            views = [await job.show() for job in jobs]
            await asyncio.to_thread(self._print, views)
        if interrupted:
            return INTERRUPTED
        return 0 if all(view.state == "completed" for view in views) else FAILED

    async def _follow(self, jobs: Sequence[Job[Any]], after: int, display: Display) -> bool:
        """Wait for the jobs; return whether a signal cancelled them."""
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            loop.add_signal_handler(number, stop.set)
        showing = asyncio.create_task(self._show({job.id for job in jobs}, after, display))
        waiting = [asyncio.create_task(self._end_of(job, display)) for job in jobs]
        everything = asyncio.ensure_future(asyncio.wait(waiting))
        stopping = asyncio.create_task(stop.wait())
        try:
            await asyncio.wait({everything, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if stop.is_set():
                for job in reversed(jobs):  # no job starts that is about to be cancelled
                    with contextlib.suppress(Conflict):  # it has ended
                        await job.cancel()
            await asyncio.gather(*waiting)
            return stop.is_set()
        finally:
            for number in _SIGNALS:
                loop.remove_signal_handler(number)
            for task in (showing, stopping, everything):
                task.cancel()
            await asyncio.gather(showing, stopping, everything, return_exceptions=True)

    async def _show(self, ids: set[str], after: int, display: Display) -> None:
        async for event in self._app.events.follow(after=after, queue=QUEUE):
            if event.job in ids:
                display.show(event)

    async def _end_of(self, job: Job[Any], display: Display) -> None:
        view = await self._app.jobs.wait(job.id)
        reason = "" if view.state == "completed" else view.state
        display.end(job.id, _shown(view.error.message) if view.error else reason)

    def _print(self, views: Sequence[JobView]) -> None:
        if self._as_json:
            self._write([_facts(view) for view in views])
        results = [self._extractor.results.load(view.id) for view in views]
        found = [one for one in results if one is not None]
        for result in found:
            for branch in result.branches:
                if branch.reason is not None and "failed: " in branch.reason:
                    self._warn(f"{result.title}: {branch.reason}")
            if not result.lines:
                reasons = "; ".join(one.reason for one in result.branches if one.reason)
                self._warn(f"{result.title}: no text found: {reasons}")
        if self._to is not None:
            self._write_files(found, self._to)
        elif self._as_json:
            return
        elif self._format == "json" and len(views) > 1:
            self._write([json.loads(export(result, "json")) for result in found])
        else:
            sys.stdout.write("\n".join(self._texts(found, is_titled=len(views) > 1)))

    def _write(self, value: object) -> None:
        json.dump(value, sys.stdout, ensure_ascii=False, indent=2)
        sys.stdout.write("\n")

    def _texts(self, results: Sequence[StoredResult], *, is_titled: bool) -> Iterator[str]:
        """Yield the texts for stdout, with their titles if there are several."""
        for result in results:
            text = export(result, self._format)
            title = f"== {_shown(result.title)} ==\n" if is_titled else ""
            yield title + (text if text.endswith("\n") or not text else f"{text}\n")

    def _write_files(self, results: Sequence[StoredResult], folder: Path) -> None:
        taken: set[Path] = set()
        for result in results:
            path = _free_path(folder, result, self._format, taken)
            path.write_text(export(result, self._format), encoding="utf-8")
            self._warn(str(path))

    def _warn(self, text: str) -> None:
        self._errors.print(_shown(text), markup=False, soft_wrap=True)


def _facts(view: JobView) -> dict[str, Any]:
    error = None if view.error is None else {"code": view.error.code, "message": view.error.message}
    return {"task": view.id, "input": view.params["input"], "state": view.state,
            "result": view.result, "error": error}  # fmt: skip


def _shown(text: str) -> str:
    return "".join(letter if letter.isprintable() else "�" for letter in text)


def _free_path(folder: Path, result: StoredResult, format: Format, taken: set[Path]) -> Path:
    """Return a path for a result that no other file has."""
    safe = _UNSAFE.sub(" ", result.title).encode(errors="replace")[:_LONGEST_NAME]
    name = safe.decode(errors="ignore").strip(" .") or result.id
    number = 0
    while True:
        path = folder / f"{name}{f'-{number}' if number else ''}.{format}"
        if path not in taken and not path.exists():
            taken.add(path)
            return path
        number += 1
