"""Run one function of a branch inside a real job, and return its result."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from fairlane import Context, Fairlane
from fairlane_extractor.media import LocalMedia, Track
from fairlane_extractor.settings import Settings

Result = TypeVar("Result")


async def run_in_job(
    folder: Path, kind: type[Result], function: Callable[[Context], Awaitable[Any]]
) -> Result:
    """Return the result of a job; `JobFailed` is raised if the function raises."""
    app = Fairlane(f"sqlite:///{folder / 'branch.db'}")

    @app.task
    async def branch(ctx: Context) -> Any:
        return msgspec.to_builtins(await function(ctx))

    async with app:
        job = await branch.submit()
        return msgspec.convert(await job.wait(), kind)


def settings_in(folder: Path, **settings: Any) -> Settings:
    return Settings(folder=folder / "data", **settings)


def local_media(
    path: Path,
    *,
    seconds: float | None = None,
    has_video: bool = True,
    tracks: tuple[Track, ...] = (),
) -> LocalMedia:
    """Return the facts of a clip as the download stage gives them."""
    return LocalMedia(
        path=str(path), bytes=path.stat().st_size if path.exists() else 0, seconds=seconds,
        has_video=has_video, has_audio=True, width=640, height=360, tracks=tracks,
    )  # fmt: skip


class Messages:
    """The progress that a branch reported."""

    def __init__(self) -> None:
        self.percents: list[float] = []
        self.texts: list[str] = []

    def __call__(self, percent: float, message: str) -> None:
        self.percents.append(percent)
        self.texts.append(message)
