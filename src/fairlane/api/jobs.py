"""Jobs: submit, list, show, cancel, retry, move and skip them."""

import hashlib
from typing import Annotated, Any, Final

import msgspec
from fastapi import APIRouter, Body, Header, Path, Query, Request
from pydantic import StringConstraints
from starlette.responses import Response

from fairlane.api import models, openapi_links
from fairlane.api.dependencies import App
from fairlane.api.models import Id, Instant, Key, Limit, Name, State
from fairlane.api.problems import problem_docs
from fairlane.api.responses import job_response, json_response
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
        description="Repeating a request with the same key and body returns the same job",
    ),
]
JobCursor = Annotated[
    Annotated[str, StringConstraints(pattern=CURSOR)] | None,
    Query(description="`next` of the page before; without it, the first page"),
]
UNDECIDED: Any = {
    202: {"model": models.Undecided, "description": "stored, and not yet decided by a leader"}
}
CREATED: Any = {201: {"description": "submitted, and stored on disk", **openapi_links.TO_JOB}}
MERGED: Any = CREATED | {
    200: {"model": models.Job, "description": "an equal job is active; this is it"}
}


async def validated_call(app: Fairlane, given: models.Submission) -> Call[Any]:
    """Return the call of a submission, checked against the parameters of its task."""
    task = await app._submissions.find_task(given.task)
    chosen = given.model_dump(exclude={"task", "params"}, exclude_unset=True)
    return task.options(**chosen).call(**given.params)


async def _submit(
    app: Fairlane, given: list[models.Submission], key: str | None, request: models.Request
) -> list[Job[Any]]:
    calls = [await validated_call(app, one) for one in given]
    if key is None:
        return await app.submit_many(calls)
    body = msgspec.json.encode(request.model_dump(mode="json"), order="deterministic")
    return await app.jobs.submit_once(key, calls, request=hashlib.sha256(body).hexdigest())


@router.post("/jobs", operation_id="submit", status_code=201, response_model=models.Job,
             responses=MERGED | UNDECIDED | problem_docs(404, 409, body=True))  # fmt: skip
async def submit(
    app: App,
    request: Request,
    submission: Annotated[models.Submission, Body()],
    key: IdempotencyKey = None,
) -> Response:
    """Submit a job; when the response arrives, the job is on disk.

    If another job holds the lane or the dedupe key, the response is 409 and names that job.
    """
    job = (await _submit(app, [submission], key, submission))[0]
    return job_response(request, await job.show(), merged=job.merged)


@router.post("/jobs/batch", operation_id="submit_batch", status_code=201,
             response_model=models.BatchAnswer,
             responses=UNDECIDED | problem_docs(404, 409, body=True))  # fmt: skip
async def submit_batch(
    app: App, batch: Annotated[models.Batch, Body()], key: IdempotencyKey = None
) -> Response:
    """Submit jobs in this order, all or none: one conflict refuses the whole batch."""
    jobs = await _submit(app, batch.jobs, key, batch)
    return json_response(
        {"jobs": [{"id": job.id, "merged": job.merged} for job in jobs]}, status=201
    )


@router.get("/jobs", operation_id="list_jobs", response_model=models.JobPage,
            responses=problem_docs(404))  # fmt: skip
async def list_jobs(
    app: App,
    state: Annotated[list[State] | None, Query(max_length=11)] = None,
    queue: Name | None = None,
    task: Name | None = None,
    lane: Key | None = None,
    q: Annotated[
        Key | None, Query(description="Text in ids, tasks, lanes, parameters, meta or errors")
    ] = None,
    since: Annotated[
        Instant | None, Query(description="Ended at or after this time; created, if live")
    ] = None,
    until: Annotated[
        Instant | None, Query(description="Ended before this time; created, if live")
    ] = None,
    limit: Limit = 50,
    cursor: JobCursor = None,
) -> Response:
    """List live jobs and then ended jobs, each the newest first."""
    return json_response(
        await app.jobs.list(
            states=state or (), queue=queue, task=task, lane=lane, text=q, since=since,
            until=until, limit=limit, cursor=cursor,
        )
    )  # fmt: skip


@router.get("/jobs/{id}", operation_id="show_job", response_model=models.Job,
            responses=problem_docs(404))  # fmt: skip
async def show_job(app: App, id: JobId) -> Response:
    """Show all fields of a job."""
    return json_response(await app.jobs.show(id))


@router.get("/jobs/{id}/log", operation_id="job_log", response_model=models.Log,
            responses=problem_docs(404))  # fmt: skip
async def job_log(app: App, id: JobId, limit: Limit = 1000) -> Response:
    """Show the newest log lines of a job, in the order they were logged."""
    await app.jobs.show(id)
    return json_response({"items": await app.jobs.log(id, limit=limit)})


@router.get("/jobs/{id}/explain", operation_id="explain_job", response_model=models.Explanation,
            responses=problem_docs(404))  # fmt: skip
async def explain_job(app: App, id: JobId) -> Response:
    """Explain why a job waits: its place, and each limit, lane, pause or worker it waits for."""
    return json_response(await app.jobs.explain(id))


@router.get("/dedupe", operation_id="ask_dedupe", response_model=models.DedupeKey,
            responses=problem_docs())  # fmt: skip
async def ask_dedupe(app: App, key: Key) -> Response:
    """Return whether a job with this dedupe key waits; a running job does not count."""
    return json_response({"key": key, "queued": await app.jobs.is_queued(key)})


_CHANGE: Any = UNDECIDED | problem_docs(404, 409, body=True)


@router.post("/jobs/{id}/cancel", operation_id="cancel_job", response_model=models.Job,
             responses=_CHANGE)  # fmt: skip
async def cancel_job(
    app: App, id: JobId, how: Annotated[models.Cancel, Body()] = models.Cancel()
) -> Response:
    """Cancel a job. A running job is requested to stop, and has `stopping: true` until it does."""
    await app.jobs.handle(id).cancel(outputs=how.outputs, force=how.force)
    return json_response(await app.jobs.show(id))


@router.post("/jobs/{id}/retry", operation_id="retry_job", response_model=models.Job,
             responses=_CHANGE)  # fmt: skip
async def retry_job(
    app: App, id: JobId, how: Annotated[models.Retry, Body()] = models.Retry()
) -> Response:
    """Run a failed or cancelled job again, with the same id."""
    await app.jobs.handle(id).retry(place=how.place)
    return json_response(await app.jobs.show(id))


@router.post("/jobs/{id}/rerun", operation_id="rerun_job", status_code=201,
             response_model=models.Job, responses=MERGED | _CHANGE)  # fmt: skip
async def rerun_job(app: App, request: Request, id: JobId) -> Response:
    """Submit a new job with the task and parameters of an ended one."""
    job = await app.jobs.rerun(id)
    return job_response(request, await job.show(), merged=job.merged)


@router.post("/jobs/{id}/move", operation_id="move_job", response_model=models.Job,
             responses=_CHANGE)  # fmt: skip
async def move_job(app: App, id: JobId, where: Annotated[models.Move, Body()]) -> Response:
    """Move a waiting job to the head or tail of its priority, or before or after another job."""
    await app.jobs.handle(id).move(**where.model_dump())
    return json_response(await app.jobs.show(id))


@router.post("/jobs/{id}/priority", operation_id="set_priority", response_model=models.Job,
             responses=_CHANGE)  # fmt: skip
async def set_priority(
    app: App, id: JobId, wanted: Annotated[models.Prioritize, Body()]
) -> Response:
    """Change the priority of a waiting job."""
    await app.jobs.handle(id).set_priority(Priority[wanted.priority.upper()])
    return json_response(await app.jobs.show(id))


@router.post("/jobs/{id}/skip", operation_id="skip_job", response_model=models.Job,
             responses=_CHANGE)  # fmt: skip
async def skip_job(app: App, id: JobId) -> Response:
    """End a waiting job as `skipped`, without running it."""
    await app.jobs.handle(id).skip()
    return json_response(await app.jobs.show(id))
