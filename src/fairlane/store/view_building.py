"""Views made from stored rows, the same for every store."""

import re
from collections.abc import Iterable
from itertools import chain, islice
from statistics import median
from typing import Any, Final

import msgspec
from msgspec import Struct

from fairlane.core.inputs import Submission, Submit
from fairlane.core.lifecycle import State
from fairlane.core.live_job import JobId
from fairlane.core.validation import is_count
from fairlane.errors import BadSetting
from fairlane.store.columns import StoredJob
from fairlane.store.views import JobView, LaneView, Query, job_view

LaneKey = tuple[str, str]  # queue and lane

LATELY: Final = (
    2_000  # the number of newest ended jobs from which the duration of a task is estimated
)

_object = msgspec.json.Decoder(dict[str, Any])
_submit = msgspec.json.Decoder(Submit)


class StoredLane(Struct, array_like=True):
    queue: str
    lane: str
    status: str | None
    last_job: JobId | None
    checkpoint: str | None
    params: str | None


class ActiveJob(Struct, array_like=True):
    """The active job of a lane: the one that runs or holds it, else the next."""

    queue: str
    lane: str
    job: JobId
    state: State


def submissions_in(body: str) -> list[Submission]:
    """Return the jobs that an inbox row submits; an empty list for another command."""
    try:
        return _submit.decode(body).jobs
    except msgspec.ValidationError:
        return []


def created_view(submission: Submission, at: float) -> JobView:
    """Return the view of a job that is not yet admitted."""
    facts = StoredJob(
        id=submission.id,
        task=submission.task,
        queue=submission.queue,
        lane=submission.lane,
        kind=submission.kind,
        state=State.CREATED,
        priority=submission.priority,
        due_at=submission.run_at,
        created_at=at,
        params=submission.params,
        meta=submission.meta,
        options=submission.options,
    )
    return job_view(facts, {})


def lane_views(lanes: Iterable[StoredLane], active: Iterable[ActiveJob]) -> list[LaneView]:
    """Join stored lanes with the live jobs in them, in order of name."""
    stored = {(lane.queue, lane.lane): lane for lane in lanes}
    live = {(job.queue, job.lane): job for job in active}
    return [_lane_view(key, stored.get(key), live.get(key)) for key in sorted({**stored, **live})]


def lanes_of(jobs: Iterable[JobView], stored: Iterable[LaneKey], limit: int) -> list[LaneKey]:
    """Choose the lanes of a snapshot: those of its jobs, then other stored lanes."""
    busy = ((job.queue, job.lane) for job in jobs if job.lane is not None)
    return list(islice(dict.fromkeys(chain(busy, stored)), limit))


def _lane_view(key: tuple[str, str], lane: StoredLane | None, active: ActiveJob | None) -> LaneView:
    if active is not None:
        holds = active.state in (State.RUNNING, State.INTERRUPTED)
        state = "running" if holds else "queued"
    else:
        state = (lane.status if lane else None) or "idle"
    return LaneView(
        queue=key[0],
        lane=key[1],
        state=state,
        active_job=active.job if active else None,
        last_job=lane.last_job if lane else None,
        params=_object.decode(lane.params) if lane and lane.params else None,
        checkpoint=_object.decode(lane.checkpoint) if lane and lane.checkpoint else None,
    )


def cursor_of(query: Query) -> int | None:
    """Parse the cursor of a page: the number of the last row of the page before."""
    if query.cursor is None:
        return None
    # The largest number of a database has 19 digits.
    number = int(query.cursor) if re.fullmatch("[0-9]{1,19}", query.cursor) else -1
    if not is_count(number):
        raise BadSetting(f'"{query.cursor:.80}" is not a cursor; pass `next` of the page before')
    return number


def window_of(query: Query) -> Query:
    """Return the query for the window in which a text is searched."""
    return msgspec.structs.replace(query, text=None, limit=query.look_through - 1)


def escaped_text(text: str) -> str:
    """Return a text as it appears inside a stored JSON text."""
    return msgspec.json.encode(text).decode()[1:-1]


def medians(seconds: Iterable[tuple[str, float]]) -> dict[str, float]:
    """Return the median of the seconds of each task."""
    by_task: dict[str, list[float]] = {}
    for task, value in seconds:
        by_task.setdefault(task, []).append(value)
    return {task: median(values) for task, values in by_task.items()}
