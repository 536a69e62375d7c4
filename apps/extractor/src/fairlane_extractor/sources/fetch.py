"""Parse an input and download its media, for the stages of a job."""

import asyncio
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from fairlane import BadSetting, Context, Permanent, Retryable
from fairlane_extractor.child_program import OutOfMemory, run_child
from fairlane_extractor.media import LocalMedia, Media, Track
from fairlane_extractor.settings import Settings
from fairlane_extractor.sources.address_guard import AllowedAddresses
from fairlane_extractor.sources.page_text import title_of
from fairlane_extractor.sources.platforms import LOCAL, link_in
from fairlane_extractor.sources.probe import check_file, probe

Progress = Callable[[float, str], None]

PARSE_REQUESTS: Final = 6  # a site needs a few requests; each may take its whole time
PARSE_CPU_SECONDS: Final = 60.0
DOWNLOAD_SECONDS: Final = 24 * 3600.0  # of a try; a retry goes on where it was
REMEDY: Final = "try a local upload of the file"


def ignore_progress(_percent: float, _message: str) -> None:
    """Send no progress."""


async def parse(
    ctx: Context, settings: Settings, input: str, progress: Progress = ignore_progress
) -> Media:
    """Return the media behind a link, or of a local file. Errors of links end with a remedy."""
    link = link_in(input)
    if link is None:
        return await asyncio.to_thread(_local_media, input)
    progress(0, f"reading {link[:200]}")
    folder = settings.work_folder / ctx.job.id
    request = _request(settings, folder, action="parse", input=input, link=link)
    limit = PARSE_REQUESTS * settings.request_seconds
    try:
        async with asyncio.timeout(limit):
            found = await _run(ctx, request, progress)
    except TimeoutError:
        raise Retryable(
            f"the site was not read within {limit:.0f} seconds; {REMEDY}", code="timeout"
        ) from None
    except (Permanent, Retryable) as error:
        kind = Retryable if isinstance(error, Retryable) else Permanent
        raise kind(f"{error}; {REMEDY}", code=error.code) from error
    return msgspec.convert(found, Media)


async def download(
    ctx: Context,
    settings: Settings,
    media: Media,
    folder: Path,
    progress: Progress = ignore_progress,
) -> LocalMedia:
    """Return the media as a file: a downloaded one in the folder, a local one in its place."""
    if media.kind == "file":
        path = Path(media.address)
        await asyncio.to_thread(check_file, path)
        progress(50, "reading the file")
        return await probe(ctx, settings, path)
    link = link_in(media.input) or media.address
    request = _request(settings, folder, action="download", input=media.input, link=link)
    fetched = await _run(ctx, request, progress)
    for reason in fetched["lost"]:
        ctx.log(reason, "warning")
    try:
        local = await probe(ctx, settings, Path(fetched["path"]))
    except Permanent as error:
        await asyncio.to_thread(remove_files, folder)
        if fetched["resumed"] and error.code in ("corrupt_media", "not_a_media_file"):
            raise Retryable(
                f"{error}; the file has changed since an earlier try, so it is downloaded from "
                "its begin",
                code="incomplete",
            ) from error
        raise
    tracks = msgspec.convert(fetched["tracks"], list[Track])
    return replace(local, tracks=(*tracks, *local.tracks), lost_tracks=tuple(fetched["lost"]))


def remove_files(folder: Path) -> None:
    """Remove the files of a download, so that a retry begins anew."""
    for path in folder.iterdir():
        if path.is_file():
            path.unlink(missing_ok=True)


async def _run(ctx: Context, request: Mapping[str, Any], progress: Progress) -> Any:
    def on_message(name: str, value: Any) -> None:
        if name == "progress":
            progress(value["percent"], value["message"])

    child = "fairlane_extractor.sources.fetch_child"
    try:
        return await run_child(ctx, child, request, on_message=on_message)
    except OutOfMemory as error:
        raise Permanent(
            "the answers of the site need more memory than a gigabyte", code="too_large"
        ) from error


def _request(settings: Settings, folder: Path, **facts: str) -> dict[str, Any]:
    try:
        AllowedAddresses(settings.allow)
    except ValueError as error:
        raise BadSetting(f"FAIRLANE_EXTRACT_ALLOW: {error}") from None
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return {
        **facts,
        "folder": str(folder),
        "allow": settings.allow,
        "request_seconds": settings.request_seconds,
        "largest_bytes": settings.largest_bytes,
        "longest_seconds": settings.longest_seconds,
        "cpu_seconds": PARSE_CPU_SECONDS,
        "download_seconds": DOWNLOAD_SECONDS,
    }


def _local_media(input: str) -> Media:
    name = input if os.path.exists(input) else input.strip()  # noqa: PTH110 - no error for any text
    path = Path(os.path.expanduser(name)).absolute()  # noqa: PTH111 - nor for an unknown user
    size = check_file(path)
    title = title_of(path.stem)
    return Media(
        input=input, kind="file", platform=LOCAL, title=title, address=str(path), bytes=size
    )
