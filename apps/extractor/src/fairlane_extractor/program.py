"""The extractor as a Fairlane app: its queue, its limits, and the store of its results.

`fairlane_extractor.program:app` is the app of this user.
"""

import asyncio
import contextlib
import os
import shutil
import time
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import Field

from fairlane import Context, Fairlane, JobView, NotFound, free_space
from fairlane_extractor.extraction import STAGES, Extraction, Order, Wish
from fairlane_extractor.results import ResultStore, open_store
from fairlane_extractor.settings import MediaPolicy, Settings
from fairlane_extractor.uploads import has_live_task, remove_upload

QUEUE: Final = "extract"
TASK: Final = "extract"
QUEUE_FILE: Final = "queue.db"
MAX_CONCURRENT: Final = 2
SPARE_BYTES: Final = 512 * 2**20  # that stay free on the disk
PARSING: Final = 60  # starts in a minute on one platform, unless it is named below
PARSING_BY_PLATFORM: Final = {"douyin": 5, "bilibili": 10}
RECOGNISERS: Final = 1
FORGOTTEN_SECONDS: Final = 7 * 86_400.0
FINAL: Final = ("completed", "failed", "cancelled", "skipped")


class Extractor:
    """The app, its settings and its results."""

    def __init__(self, settings: Settings, **options: Any) -> None:
        self.settings = settings
        self.results: ResultStore = open_store(settings)
        _make_private(settings.folder)
        address = settings.database or f"sqlite:///{settings.folder / QUEUE_FILE}"
        self.app = Fairlane(
            address, **{"uploads": settings.uploads_folder, "stop_grace_seconds": 0.0, **options}
        )
        self._declare()

    def _declare(self) -> None:
        app = self.app
        app.queue(QUEUE, max_concurrent=MAX_CONCURRENT)
        app.limit("parsing", starts=PARSING, per_seconds=60)
        for platform, starts in PARSING_BY_PLATFORM.items():
            app.limit(f"parsing:{platform}", starts=starts, per_seconds=60)
        app.resource("recogniser", RECOGNISERS)
        settings, results = self.settings, self.results

        @app.task(
            name=TASK,
            queue=QUEUE,
            stages=STAGES,
            stall_seconds=settings.stall_seconds,
            grace_seconds=2,
            recover=3,
            preconditions=[free_space(lambda _: str(settings.folder), at_least=SPARE_BYTES)],
        )
        async def extract(
            ctx: Context,
            input: Annotated[
                str,
                Field(min_length=1, max_length=8_000, description="A link, or the path of a file"),
            ],
            speech: Annotated[
                Wish, Field(description="Recognise speech: auto does without subtitles only")
            ] = "auto",
            frames: Annotated[Wish, Field(description="Read text on frames")] = "auto",
            language: Annotated[
                str | None,
                Field(pattern="^[a-z]{2,3}(-[A-Za-z0-9]{1,8})*$", description="Such as en or zh"),
            ] = None,
            media: Annotated[
                MediaPolicy, Field(description="What becomes of downloaded media")
            ] = settings.media,
        ) -> dict[str, Any]:
            """Turn a link or a video into text."""
            order = Order(input=input, speech=speech, frames=frames, language=language, media=media)
            return await Extraction(ctx, order, settings=settings, results=results).execute()

        self.extract = extract
        app.on_end(self._clean_up, name="clean up")

    async def _clean_up(self, job: JobView) -> None:
        """Remove the files of an ended job that no result needs."""
        if job.queue != QUEUE:
            return
        await asyncio.to_thread(self._remove_work_of, job)
        path = Path(str(job.params["input"]))
        is_unwanted = job.state == "completed" and job.params.get("media") == "remove"
        if is_unwanted and not await has_live_task(self.app, path, of=job.id):
            await asyncio.to_thread(remove_upload, self.settings, self.results, path, of=job.id)

    def _remove_work_of(self, job: JobView) -> None:
        """Remove the temporary files of an ended job, and media that belongs to no result."""
        shutil.rmtree(self.settings.work_folder / job.id, ignore_errors=True)
        if job.state != "completed":
            self.results.delete(job.id)
            shutil.rmtree(self.settings.media_folder / job.id, ignore_errors=True)

    async def sweep(self) -> int:
        """Remove the work folders of jobs that have ended while no process ran here; return how
        many.

        The job of a folder may be in another database, or pruned: then its age decides.
        """
        removed = 0
        for folder in _folders(self.settings.work_folder):
            try:
                has_ended = (await self.app.jobs.show(folder.name)).state in FINAL
            except NotFound:
                has_ended = time.time() - folder.stat().st_mtime > FORGOTTEN_SECONDS
            if has_ended:
                shutil.rmtree(folder, ignore_errors=True)
                removed += 1
        return removed


def build(settings: Settings | None = None, **options: Any) -> Extractor:
    """Create an extractor; without settings those of the environment count. Other options are
    passed to Fairlane."""
    return Extractor(settings or Settings.from_environment(), **options)


def _make_private(folder: Path) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def _folders(folder: Path) -> list[Path]:
    with contextlib.suppress(OSError):
        return [Path(entry.path) for entry in os.scandir(folder) if entry.is_dir()]
    return []


if TYPE_CHECKING:
    app: Fairlane


@cache
def user_extractor() -> Extractor:
    return build()


def __getattr__(name: str) -> Any:
    """Create `app` on first access, so that an import alone creates no folder."""
    if name == "app":
        return user_extractor().app
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
