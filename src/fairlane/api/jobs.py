"""Jobs: submit them, list them, look at one, steer it."""

import hashlib
from typing import Annotated, Any, Final

import msgspec
from fastapi import APIRouter, Body, Header, Path, Query, Request
from pydantic import StringConstraints
from starlette.responses import Response

from fairlane.api import models, openapi_links
from fairlane.api.dependencies import App
from fairlane.api.models import Id, Instant, Key, Limit, Name, State
from fairlane.api.problems import documented
from fairlane.api.responses import answer, made
from fairlane.api.strict_json import StrictRoute
from fairlane.app import Fairlane
from fairlane.client.job import Job
from fairlane.core.lifecycle import Priority
from fairlane.tasks import Call

router = APIRouter(tags=["jobs"], route_class=StrictRoute)

CURSOR: Final = r"^(live:[A-Za-z0-9_.:-]{0,100}|ended:[0-9]{0,18})$"
JobId = Annotated[Id, Path(alias="id")]
IdempotencyKey = Annotated[
    Annotated[str, StringConstraints(pattern=r"^[!-~]{1,200}$")] | None,
    Header(
        alias="Idempotency-Key",
        description="The same key with the same body gives the same job, however often it is sent",
    ),
]
JobCursor = Annotated[
    Annotated[str, StringConstraints(pattern=CURSOR)] | None,
    Query(description="`next` of the page before; without it, the first page"),
]
UNDECIDED: Any = {202: {"model": models.Undecided, "description": "recorded, not yet decided"}}
MADE: Any = {201: {"description": "it is on disk", **openapi_links.TO_JOB}}
MERGED: Any = MADE | {200: {"model": models.Job, "description": "an equal job was already there"}}


async def call_of(app: Fairlane, given: models.Submission) -> Call[Any]:
    """Check what somebody wants to submit against its task."""
    task = await app._submissions.find_task(given.task)
    chosen = given.model_dump(exclude={"task", "params"}, exclude_unset=True)
    return task.options(**chosen).call(**given.params)


async def _submit(
    app: Fairlane, given: list[models.Submission], key: str | None, request: models.Request
) -> list[Job[Any]]:
    calls = [await call_of(app, one) for one in given]
    if key is None:
        return await app.submit_many(calls)
    body = msgspec.json.encode(request.model_dump(mode="json"), order="deterministic")
    return await app.jobs.submit_once(key, calls, request=hashlib.sha256(body).hexdigest())


@router.post("/jobs", operation_id="submit", status_code=201, response_model=models.Job,
             responses=MERGED | UNDECIDED | documented(404, 409, body=True))  # fmt: skip
async def submit(
    app: App,
    request: Request,
    submission: Annotated[models.Submission, Body()],
    key: IdempotencyKey = None,
) -> Response:
    """Submit a job; with the answer it is on disk.

    A lane or a dedupe key that is taken answers 409 and names the active job.
    """
    job = (await _submit(app, [submission], key, submission))[0]
    return made(request, await job.show(), merged=job.merged)


@router.post("/jobs/batch", operation_id="submit_batch", status_code=201,
             response_model=models.BatchAnswer,
             responses=UNDECIDED | documented(404, 409, body=True))  # fmt: skip
async def submit_batch(
    app: App, batch: Annotated[models.Batch, Body()], key: IdempotencyKey = None
) -> Response:
    """Submit jobs in this order, all or none: one conflict refuses all and names it."""
    jobs = await _submit(app, batch.jobs, key, batch)
    return answer({"jobs": [{"id": job.id, "merged": job.merged} for job in jobs]}, status=201)


@router.get("/jobs", operation_id="list_jobs", response_model=models.JobPage,
            responses=documented(404))  # fmt: skip
async def list_jobs(
    app: App,
    state: Annotated[list[State] | None, Query(max_length=11)] = None,
    queue: Name | None = None,
    task: Name | None = None,
    lane: Key | None = None,
    q: Annotated[
        Key | None, Query(description="Text in ids, tasks, lanes, parameters, meta or errors")
    ] = None,
    since: Annotated[Instant | None, Query(description="Ended, or made if live")] = None,
    until: Annotated[Instant | None, Query(description="Ended, or made if live")] = None,
    limit: Limit = 50,
    cursor: JobCursor = None,
) -> Response:
    """List live jobs and then ended ones, the newest first."""
    return answer(
        await app.jobs.list(
            states=state or (), queue=queue, task=task, lane=lane, text=q, since=since,
            until=until, limit=limit, cursor=cursor,
        )
    )  # fmt: skip


@router.get("/jobs/{id}", operation_id="show_job", response_model=models.Job,
            responses=documented(404))  # fmt: skip
async def show_job(app: App, id: JobId) -> Response:
    """Show everything known about a job."""
    return answer(await app.jobs.show(id))


@router.get("/jobs/{id}/log", operation_id="job_log", response_model=models.Log,
            responses=documented(404))  # fmt: skip
async def job_log(app: App, id: JobId, limit: Limit = 1000) -> Response:
    """Show the newest lines that a job logged, the oldest of them first."""
    await app.jobs.show(id)
    return answer({"items": await app.jobs.log(id, limit=limit)})


@router.get("/jobs/{id}/explain", operation_id="explain_job", response_model=models.Explanation,
            responses=documented(404))  # fmt: skip
async def explain_job(app: App, id: JobId) -> Response:
    """Say why a job waits: its place, and every limit, lane, pause or worker in its way."""
    return answer(await app.jobs.explain(id))


@router.get("/dedupe", operation_id="ask_dedupe", response_model=models.DedupeKey,
            responses=documented())  # fmt: skip
async def ask_dedupe(app: App, key: Key) -> Response:
    """Tell whether a job with this dedupe key waits; one that runs does so no longer."""
    return answer({"key": key, "queued": await app.jobs.is_queued(key)})


_CHANGE: Any = UNDECIDED | documented(404, 409, body=True)


@router.post("/jobs/{id}/cancel", operation_id="cancel_job", response_model=models.Job,
             responses=_CHANGE)  # fmt: skip
async def cancel_job(
    app: App, id: JobId, how: Annotated[models.Cancel, Body()] = models.Cancel()
) -> Response:
    """Cancel a job. A running one is asked to stop, and says `stopping` until it has."""
    await app.jobs.handle(id).cancel(outputs=how.outputs, force=how.force)
    return answer(await app.jobs.show(id))


@router.post("/jobs/{id}/retry", operation_id="retry_job", response_model=models.Job,
             responses=_CHANGE)  # fmt: skip
async def retry_job(
    app: App, id: JobId, how: Annotated[models.Retry, Body()] = models.Retry()
) -> Response:
    """Run a failed or cancelled job once more, as itself."""
    await app.jobs.handle(id).retry(place=how.place)
    return answer(await app.jobs.show(id))


@router.post("/jobs/{id}/rerun", operation_id="rerun_job", status_code=201,
             response_model=models.Job, responses=MERGED | _CHANGE)  # fmt: skip
async def rerun_job(app: App, request: Request, id: JobId) -> Response:
    """Run an ended job's input again, as a new job."""
    job = await app.jobs.rerun(id)
    return made(request, await job.show(), merged=job.merged)


@router.post("/jobs/{id}/move", operation_id="move_job", response_model=models.Job,
             responses=_CHANGE)  # fmt: skip
async def move_job(app: App, id: JobId, where: Annotated[models.Move, Body()]) -> Response:
    """Put a waiting job elsewhere: to an end of its band, or beside another job."""
    await app.jobs.handle(id).move(**where.model_dump())
    return answer(await app.jobs.show(id))


@router.post("/jobs/{id}/priority", operation_id="set_priority", response_model=models.Job,
             responses=_CHANGE)  # fmt: skip
async def set_priority(
    app: App, id: JobId, wanted: Annotated[models.Prioritize, Body()]
) -> Response:
    """Put a waiting job into another band."""
    await app.jobs.handle(id).set_priority(Priority[wanted.priority.upper()])
    return answer(await app.jobs.show(id))


@router.post("/jobs/{id}/skip", operation_id="skip_job", response_model=models.Job,
             responses=_CHANGE)  # fmt: skip
async def skip_job(app: App, id: JobId) -> Response:
    """Take a waiting job out of its queue as `skipped`."""
    await app.jobs.handle(id).skip()
    return answer(await app.jobs.show(id))
