"""A task: the view of a job in the words of this program.

Fairlane knows when a job waits and when it runs; which part of the extraction runs is known from
its stages. So the status of a running job is that of its stage.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from msgspec import Struct, field

from fairlane import JobView


class TaskStatus(StrEnum):
    CREATED = "created"
    PENDING = "pending"
    PARSING = "parsing"
    DOWNLOADING = "downloading"
    EXTRACTING = "extracting"
    MERGING = "merging"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


RUNNING: Final = "running"
STATUS_OF_STAGE: Final = {
    "parsing": TaskStatus.PARSING,
    "downloading": TaskStatus.DOWNLOADING,
    "subtitle": TaskStatus.EXTRACTING,
    "asr": TaskStatus.EXTRACTING,
    "ocr": TaskStatus.EXTRACTING,
    "merging": TaskStatus.MERGING,
}
STATUS_OF_STATE: Final = {
    "created": TaskStatus.CREATED,
    "scheduled": TaskStatus.PENDING,
    "queued": TaskStatus.PENDING,
    "blocked": TaskStatus.PENDING,
    "retrying": TaskStatus.PENDING,
    "interrupted": TaskStatus.PENDING,
    "completed": TaskStatus.COMPLETED,
    "failed": TaskStatus.FAILED,
    "cancelled": TaskStatus.CANCELLED,
    "skipped": TaskStatus.CANCELLED,  # an operator skipped it while it waited
}
ENDED: Final = (TaskStatus.COMPLETED, TaskStatus.FAILED, TaskStatus.CANCELLED)
_ENDED_STAGES: Final = ("done", "skipped", "error")
_STAGE_NAMES: Final = {"merging": "merge"}
_OPTIONS: Final = ("speech", "frames", "language", "media")


class StageProgress(Struct, kw_only=True):
    """One of parsing, downloading, subtitle, asr, ocr and merge.

    Its status is pending, running, done, skipped or error.
    """

    stage: str
    status: str
    progress: int = 0
    message: str | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None


class Task(Struct, kw_only=True):
    id: str
    input: str
    platform: str
    status: TaskStatus
    progress: int
    stage_progress: dict[str, StageProgress]
    result: dict[str, Any] | None = None  # the summary of the text; None once it is deleted
    error: dict[str, str] | None = None
    created_at: datetime
    updated_at: datetime
    meta: dict[str, Any] = field(default_factory=dict)


class TaskPage(Struct):
    items: list[Task]
    next: str | None  # the cursor of the next page


def stage_name(stage: str) -> str:
    """Return the name of a stage in a task."""
    return _STAGE_NAMES.get(stage, stage)


def states_of(statuses: Sequence[TaskStatus]) -> list[str]:
    """Return the states of the jobs that may have one of these statuses."""
    states = [state for state, status in STATUS_OF_STATE.items() if status in statuses]
    if any(status in STATUS_OF_STAGE.values() for status in statuses):
        states.append(RUNNING)
    return states


def task_view(job: JobView, platform: str, *, has_text: bool, has_media: bool) -> Task:
    """Make the task of a job; `platform` is that of its input.

    The job does not know whether its text and media were deleted later.
    """
    result = job.result if isinstance(job.result, Mapping) else None
    return Task(
        id=job.id,
        input=str(job.params.get("input", "")),
        platform=str(result["platform"]) if result and "platform" in result else platform,
        status=status_of(job),
        progress=100 if job.state == "completed" else int(job.progress.percent or 0),
        stage_progress={stage.stage: stage for stage in map(_stage_progress, job.stages)},
        result=_summary(result, has_media) if result and has_text else None,
        error=None if job.error is None else {"code": job.error.code, "message": job.error.message},
        created_at=job.created_at,
        updated_at=job.updated_at,
        meta=_meta(job),
    )


def status_of(job: JobView) -> TaskStatus:
    if job.state != RUNNING:
        return STATUS_OF_STATE[job.state]
    stages = [stage for stage in job.stages if stage.name in STATUS_OF_STAGE]
    present = next((stage for stage in stages if stage.status == "running"), None) or next(
        (stage for stage in stages if stage.status not in _ENDED_STAGES), None
    )
    if present is None:  # no stage has begun, or all have ended and the result is being stored
        return TaskStatus.MERGING if stages else TaskStatus.PARSING
    return STATUS_OF_STAGE[present.name]


def _stage_progress(stage: Any) -> StageProgress:
    return StageProgress(
        stage=stage_name(stage.name),
        status=stage.status,
        progress=100 if stage.status == "done" else int(stage.percent),
        message=stage.message or None,
        started_at=stage.started_at,
        finished_at=stage.finished_at,
    )


def _summary(result: Mapping[str, Any], has_media: bool) -> dict[str, Any]:
    """Return the result without the path of the media, which is of no use to clients."""
    shown = {name: value for name, value in result.items() if name != "media"}
    return shown | {"has_media": has_media}


def _meta(job: JobView) -> dict[str, Any]:
    return {
        "options": {name: job.params[name] for name in _OPTIONS if name in job.params},
        "priority": job.priority,
        "position": job.position,  # among the waiting tasks of its priority, as a sortable text
        "attempt": job.attempt,
        "stopping": job.stopping,
        "waiting_for": [reason.message for reason in job.waiting_for],
        "started_at": job.started_at,
        "ended_at": job.ended_at,
    }
