"""The text of a task, its media, and the search over all texts."""

import asyncio
import mimetypes
import os
import re
import shutil
import stat
from pathlib import Path
from typing import Final
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from fairlane_extractor.exports import FORMATS, MEDIA_TYPES, export
from fairlane_extractor.results import StoredResult
from fairlane_extractor.site.file_access import is_served
from fairlane_extractor.site.problems import Problem
from fairlane_extractor.site.requests import extractor_of, json_response, limit_of
from fairlane_extractor.uploads import has_live_task, remove_upload

LONGEST_NAME: Final = 100
_UNSAFE: Final = re.compile(r'[\x00-\x1f\x7f/\\:*?"<>|]+')


async def show_result(request: Request) -> Response:
    """Return the text of a task in a format; with `download` as a file with its title."""
    wanted = request.query_params.get("format", "json")
    format = next((name for name in FORMATS if name == wanted), None)
    if format is None:
        raise Problem(
            422, "unknown_format", f'format is "{wanted[:50]}"; expected {", ".join(FORMATS)}'
        )
    result = await _load(request)
    headers = {}
    if "download" in request.query_params:
        headers["Content-Disposition"] = _attachment(f"{_file_name(result)}.{format}")
    text = await asyncio.to_thread(export, result, format)
    return Response(text, media_type=MEDIA_TYPES[format], headers=headers)


async def delete_result(request: Request) -> Response:
    """Delete the text of a task, with the media that was downloaded or uploaded for it alone."""
    result = await _load(request)
    extractor = extractor_of(request)
    await asyncio.to_thread(extractor.results.delete, result.id)
    folder = extractor.settings.media_folder / result.id
    await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
    path = Path(result.media_path or result.input)
    if not await has_live_task(extractor.app, path, of=result.id):
        await asyncio.to_thread(
            remove_upload, extractor.settings, extractor.results, path, of=result.id
        )
    return Response(status_code=204)


async def show_media(request: Request) -> Response:
    """Return the media of a task, in full or the part that `Range` names."""
    result = await _load(request)
    if result.media_path is None:
        raise Problem(404, "media_removed", "the media of this task was not kept")
    settings = extractor_of(request).settings
    if not await asyncio.to_thread(is_served, settings, result.media_path):
        raise Problem(
            404, "media_not_served", "the media lies outside the folders that this site serves",
            "its owner can name the folder in FAIRLANE_EXTRACT_FILES",
        )  # fmt: skip
    status = await asyncio.to_thread(_stat_file, Path(result.media_path))
    if status is None:
        raise Problem(
            404, "media_gone", "the media was moved or deleted, or is on another machine",
            "extract the input again",
        )  # fmt: skip
    return FileResponse(
        result.media_path,
        media_type=_media_type(result.media_path),
        stat_result=status,
        headers={
            "Cache-Control": "private, max-age=3600",
            # A browser that opens the media itself must not run what an unusual file contains.
            "Content-Security-Policy": "default-src 'none'; media-src 'self'; sandbox",
        },
    )


async def search(request: Request) -> Response:
    """Return the passages of all texts that contain the words of `q`."""
    query = request.query_params.get("q", "")
    page = await asyncio.to_thread(
        extractor_of(request).results.search,
        query,
        limit=limit_of(request),
        cursor=request.query_params.get("cursor"),
    )
    return json_response(page)


async def _load(request: Request) -> StoredResult:
    task_id = request.path_params["id"]
    result = await asyncio.to_thread(extractor_of(request).results.load, task_id)
    if result is None:
        raise Problem(
            404, "no_result", f"task {task_id} has no text",
            "GET /api/tasks/{id} shows whether it is still being extracted",
        )  # fmt: skip
    return result


def _stat_file(path: Path) -> os.stat_result | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status if stat.S_ISREG(status.st_mode) else None


def _media_type(path: str) -> str:
    kind = mimetypes.guess_type(path)[0] or ""
    return kind if kind.startswith(("video/", "audio/")) else "application/octet-stream"


def _file_name(result: StoredResult) -> str:
    return _UNSAFE.sub(" ", result.title).strip(" .")[:LONGEST_NAME] or result.id


def _attachment(name: str) -> str:
    return f"attachment; filename*=UTF-8''{quote(name, safe='')}"


ROUTES: Final = [
    Route("/api/tasks/{id}/result", show_result),
    Route("/api/tasks/{id}/result", delete_result, methods=["DELETE"]),
    Route("/api/tasks/{id}/media", show_media),
    Route("/api/search", search),
]
