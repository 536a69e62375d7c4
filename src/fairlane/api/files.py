"""Files: send one for a job to work on, and fetch one that a job has made."""

import asyncio
import errno
import logging
from collections.abc import AsyncIterator
from typing import Annotated, Any, Final

from fastapi import APIRouter, Path, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from fairlane.api import models
from fairlane.api.dependencies import App
from fairlane.api.jobs import JobId
from fairlane.api.models import LARGEST
from fairlane.api.problems import documented, problem
from fairlane.api.range_download import Download, Missing, opened
from fairlane.api.responses import answer
from fairlane.errors import Permanent
from fairlane.runtime.threads import await_uncancelled
from fairlane.task.disk_space import shortage
from fairlane.uploads import IncomingFile, Uploads

log = logging.getLogger("fairlane.files")
router = APIRouter(tags=["files"])

SILENCE_SECONDS: Final = 120.0  # a slow sender is waited for, one that went away is not
WRITTEN_AT_ONCE: Final = 1024 * 1024
LONGEST_NAME: Final = 1000

_FULL: Final = (errno.ENOSPC, errno.EDQUOT)
_CONTENT: Final[dict[str, Any]] = {
    "application/octet-stream": {"schema": {"type": "string", "format": "binary"}}
}
_SENT: Final[dict[str, Any]] = {"requestBody": {"required": True, "content": _CONTENT}}
_FETCHED: Final[dict[int | str, dict[str, Any]]] = {
    200: {"description": "The file, as an attachment", "content": _CONTENT},
    206: {"description": "The part of it that `Range` asked for", "content": _CONTENT},
}


@router.post("/files", operation_id="upload_file", status_code=201, response_model=models.Uploaded,
             openapi_extra=_SENT, responses=documented(408, 409, 507, body=True))  # fmt: skip
async def upload_file(
    app: App,
    request: Request,
    name: Annotated[
        str,
        Query(
            min_length=1,
            max_length=LONGEST_NAME,
            description="What it is called; it gets a name like that which is safe and free",
        ),
    ],
) -> Response:
    """Send a file as the body, and be told the path by which a job finds it.

    With the answer it is whole and on disk. What is not received to its end leaves nothing behind.
    """
    uploads = app._uploads
    if uploads is None:
        return problem(409, "uploads_off", "this server takes no files")
    told = request.headers.get("content-length", "")
    length = int(told) if told.isdecimal() and len(told) < 30 else None
    try:
        return await _received(request, uploads, name, length)
    except ClientDisconnect:
        return problem(400, "cut_off", "the connection ended before the file did")  # to nobody
    except TimeoutError:
        return problem(408, "silent", f"nothing has come for {SILENCE_SECONDS:.0f} seconds")
    except Permanent as error:
        return problem(409, error.code, error.message)
    except OSError as error:
        if error.errno in _FULL:
            return problem(507, "disk_full", f"there is no room left in {uploads.folder}")
        why = (error.strerror or str(error)).lower()
        log.warning("a file could not be received: %s", error)
        return problem(503, "uploads_closed", f"{uploads.folder} cannot be written to: {why}")


async def _received(request: Request, uploads: Uploads, name: str, length: int | None) -> Response:
    if length is not None:
        lack = await run_in_threadpool(shortage, uploads.folder, length)
        if lack is not None:
            return problem(507, "disk_full", f"the file {lack}")
    arrival = await await_uncancelled(run_in_threadpool(uploads.open_incoming))
    try:
        async for piece in _pieces(request):
            await await_uncancelled(run_in_threadpool(arrival.write, piece))
        if length is not None and arrival.size != length:
            detail = f"{length:,} bytes were announced and {arrival.size:,} came"
            return problem(400, "wrong_length", detail)
        return await _kept(arrival, name)
    finally:
        await await_uncancelled(run_in_threadpool(arrival.close))


async def _pieces(request: Request) -> AsyncIterator[bytes]:
    """Give the body in pieces that are worth a write each."""
    stream = request.stream()
    gathered = bytearray()
    while True:
        async with asyncio.timeout(SILENCE_SECONDS):
            chunk = await anext(stream, None)
        gathered += chunk or b""
        if gathered and (chunk is None or len(gathered) >= WRITTEN_AT_ONCE):
            yield bytes(gathered)
            gathered.clear()
        if chunk is None:
            return


async def _kept(arrival: IncomingFile, name: str) -> Response:
    path = await await_uncancelled(run_in_threadpool(arrival.publish, name))
    return answer({"path": str(path), "name": path.name, "size": arrival.size}, status=201)


@router.get("/jobs/{id}/artifacts/{number}", operation_id="download_artifact",
            response_class=Download, responses=_FETCHED | documented(404, 416))  # fmt: skip
async def download_artifact(
    app: App,
    id: JobId,
    number: Annotated[
        int, Path(ge=0, le=LARGEST, description="Its place in `artifacts` of the job, from 0")
    ],
) -> Response:
    """Fetch a file that a job has made, or a part of it."""
    job = await app.jobs.show(id)
    if number >= len(job.artifacts):
        had = f"it has {len(job.artifacts)}" if job.artifacts else "it has none"
        return problem(404, "no_such_artifact", f"job {id} has no file {number}; {had}")
    artifact = job.artifacts[number]
    hosts = {worker.name: worker.host for worker in await app.workers.list()}
    found = await run_in_threadpool(opened, artifact, hosts.get(job.worker or ""))
    if isinstance(found, Missing):
        return problem(404, found.code, found.detail)
    return Download(found)
