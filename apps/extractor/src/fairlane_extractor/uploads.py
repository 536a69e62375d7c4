"""The end of uploaded files: they are removed with the last result and task that need them."""

import contextlib
from pathlib import Path
from typing import Final

from fairlane import Fairlane
from fairlane_extractor.results import ResultStore
from fairlane_extractor.settings import Settings
from fairlane_extractor.sources.side_files import SUFFIXES, side_tracks

LIVE: Final = ("created", "scheduled", "queued", "blocked", "running", "retrying", "interrupted")
PAGE: Final = 1_000


def remove_upload(settings: Settings, results: ResultStore, path: Path, *, of: str) -> bool:
    """Remove an uploaded file and its subtitles; return whether it was removed.

    A file of another folder stays, and so does one that is the media of another result than that of
    the task `of`. The caller knows that no live task needs it (`has_live_task`).
    """
    if not _is_upload(settings, path) or results.is_media_of_others(str(path), than=of):
        return False
    try:
        side_files = [Path(track.path) for track in side_tracks(path) if track.path]
        path.unlink()
    except OSError:  # it is gone, or its folder is
        return False
    for one in side_files:
        if not _belongs_to_other_media(one):
            with contextlib.suppress(OSError):
                one.unlink()
    return True


async def has_live_task(app: Fairlane, path: Path, *, of: str) -> bool:
    """Return whether another task than `of` that has not ended has this file as its input."""
    cursor: str | None = None
    while True:
        page = await app.jobs.list(states=LIVE, text=path.name, limit=PAGE, cursor=cursor)
        for job in page.items:
            if job.id != of and Path(str(job.params.get("input", ""))) == path:
                return True
        cursor = page.next
        if cursor is None:
            return False


def _is_upload(settings: Settings, path: Path) -> bool:
    try:
        is_below = settings.uploads_folder.resolve() in path.resolve().parents
        return path.is_absolute() and is_below and path.is_file()
    except (OSError, RuntimeError, ValueError):  # a circle of links, or no path at all
        return False


def _belongs_to_other_media(side_file: Path) -> bool:
    name = side_file.stem.casefold()
    return any(
        name == stem or name.startswith(f"{stem}.")
        for stem in (
            one.stem.casefold()
            for one in side_file.parent.iterdir()
            if one.suffix.casefold() not in SUFFIXES and not one.name.startswith(".")
        )
    )
