"""Files: upload an input file for a job, and download a file that a job made."""

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
from fairlane.api.problems import problem_docs, problem_response
from fairlane.api.range_download import FileDownload, MissingFile, open_artifact
from fairlane.api.responses import json_response
from fairlane.errors import Permanent
from fairlane.runtime.threads import await_uncancelled
from fairlane.task.disk_space import shortage
from fairlane.uploads import IncomingFile, Uploads

log = logging.getLogger("fairlane.files")
router = APIRouter(tags=["files"])

SILENCE_SECONDS: Final = 120.0  # long enough for a slow sender; a dead one must not hold the file
WRITTEN_AT_ONCE: Final = 1024 * 1024
LONGEST_NAME: Final = 1000

_DISK_FULL: Final = (errno.ENOSPC, errno.EDQUOT)
_CONTENT: Final[dict[str, Any]] = {
    "application/octet-stream": {"schema": {"type": "string", "format": "binary"}}
}
_SENT: Final[dict[str, Any]] = {"requestBody": {"required": True, "content": _CONTENT}}
_FETCHED: Final[dict[int | str, dict[str, Any]]] = {
    200: {"description": "The file, as an attachment", "content": _CONTENT},
    206: {"description": "The part of the file that `Range` names", "content": _CONTENT},
}


@router.post("/files", operation_id="upload_file", status_code=201, response_model=models.Uploaded,
             openapi_extra=_SENT, responses=problem_docs(408, 409, 507, body=True))  # fmt: skip
async def upload_file(
    app: App,
    request: Request,
    name: Annotated[
        str,
        Query(
            min_length=1,
            max_length=LONGEST_NAME,
            description="The name of the file; the stored file gets a safe, unused name like it",
        ),
    ],
) -> Response:
    """Upload a file as the request body; the response has the path to pass to a job.

    When the response arrives, the file is complete and on disk. An incomplete upload is deleted.
    """
    uploads = app._uploads
    if uploads is None:
        return problem_response(409, "uploads_off", "this server accepts no uploads")
    header = request.headers.get("content-length", "")
    length = int(header) if header.isdecimal() and len(header) < 30 else None
    try:
        return await _receive_file(request, uploads, name, length)
    except ClientDisconnect:
        return problem_response(
            400, "cut_off", "the connection closed before the file was complete"
        )  # which only the log sees
    except TimeoutError:
        return problem_response(
            408, "silent", f"no data arrived for {SILENCE_SECONDS:.0f} seconds; send the file again"
        )
    except Permanent as error:
        return problem_response(409, error.code, error.message)
    except OSError as error:
        if error.errno in _DISK_FULL:
            return problem_response(507, "disk_full", f"no space is left in {uploads.folder}")
        why = (error.strerror or str(error)).lower()
        log.warning("an upload to %s failed: %s", uploads.folder, error)
        return problem_response(
            503, "uploads_closed", f"{uploads.folder} cannot be written to: {why}"
        )


async def _receive_file(
    request: Request, uploads: Uploads, name: str, length: int | None
) -> Response:
    if length is not None:
        lack = await run_in_threadpool(shortage, uploads.folder, length)
        if lack is not None:
            return problem_response(507, "disk_full", f"the file {lack.message}")
    incoming = await await_uncancelled(run_in_threadpool(uploads.open_incoming))
    try:
        async for piece in _read_chunks(request):
            await await_uncancelled(run_in_threadpool(incoming.write, piece))
        if length is not None and incoming.size != length:
            detail = f"Content-Length is {length:,} bytes, but {incoming.size:,} bytes arrived"
            return problem_response(400, "wrong_length", detail)
        return await _store_file(incoming, name)
    finally:
        await await_uncancelled(run_in_threadpool(incoming.close))


async def _read_chunks(request: Request) -> AsyncIterator[bytes]:
    """Yield the body in chunks of about `WRITTEN_AT_ONCE` bytes, to save writes."""
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


async def _store_file(incoming: IncomingFile, name: str) -> Response:
    path = await await_uncancelled(run_in_threadpool(incoming.publish, name))
    return json_response({"path": str(path), "name": path.name, "size": incoming.size}, status=201)


@router.get("/jobs/{id}/artifacts/{number}", operation_id="download_artifact",
            response_class=FileDownload, responses=_FETCHED | problem_docs(404, 416))  # fmt: skip
async def download_artifact(
    app: App,
    id: JobId,
    number: Annotated[
        int, Path(ge=0, le=LARGEST, description="The index in `artifacts` of the job, from 0")
    ],
) -> Response:
    """Download a file that a job made, or the part of it that `Range` names."""
    job = await app.jobs.show(id)
    if number >= len(job.artifacts):
        count = f"it has {len(job.artifacts)}, numbered from 0" if job.artifacts else "it has none"
        return problem_response(404, "no_such_artifact", f"job {id} has no file {number}; {count}")
    artifact = job.artifacts[number]
    hosts = {worker.name: worker.host for worker in await app.workers.list()}
    found = await run_in_threadpool(open_artifact, artifact, hosts.get(job.worker or ""))
    if isinstance(found, MissingFile):
        return problem_response(404, found.code, found.detail)
    return FileDownload(found)
