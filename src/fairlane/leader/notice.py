"""A notice: one hook has to be called for one end of a job.

A failed or cancelled job may be retried by hand before the hook has accepted its end. The notice
holds the facts of the end, so that each call describes the same end.
"""

from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from fairlane.core.lifecycle import TRANSITIONS, State
from fairlane.core.live_job import JobId
from fairlane.store.views import ErrorView, EventView, JobView

NOTICE_KIND = "notice"  # the kind of the records that hold failed notices


class Notice(Struct, kw_only=True, omit_defaults=True):
    """The end of a job, by the number of its event; `tries` counts failed calls of the hook.

    A notice becomes a record when its first try has failed, and the record is deleted when a try
    has succeeded, or after `until`.
    """

    hook: str
    seq: int
    job: JobId
    ended_at: float
    state: str
    attempt: int = 0
    job_error: dict[str, Any] | None = None  # its code and message
    until: float = 0.0
    tries: int = 0
    tried_at: float = 0.0
    error: str = ""

    @property
    def record_name(self) -> str:
        return f"{self.seq}:{self.hook}"

    @property
    def key(self) -> str:
        """The key of this end: the same for each call, another for another end of the job."""
        return f"{self.job}-{self.state}-{self.seq}"

    def encode(self) -> str:
        return msgspec.json.encode(self).decode()


def notice_of(hook: str, event: EventView, job: JobId) -> Notice:
    """Return the notice for the event of an end."""
    data = event.data
    return Notice(
        hook=hook, seq=event.seq, job=job, ended_at=event.at.timestamp(), state=data["state"],
        attempt=data.get("attempt", 0), job_error=data.get("error"),
    )  # fmt: skip


def view_of_end(notice: Notice, view: JobView) -> JobView:
    """Return the view of a job as it ended, also if it was retried by hand since then.

    After a retry its progress, stages, statistics and artifacts are those of the present, and its
    error has no traceback.
    """
    ended_at = datetime.fromtimestamp(notice.ended_at, UTC)
    may_be_retried = State.QUEUED in TRANSITIONS[State(notice.state)]
    if not may_be_retried or (view.state, view.ended_at) == (notice.state, ended_at):
        return view
    error = notice.job_error and msgspec.convert(notice.job_error, ErrorView)
    began_before = view.started_at is not None and view.started_at <= ended_at
    return replace(
        view, state=notice.state, attempt=notice.attempt, error=error, result=None,
        started_at=view.started_at if began_before else None, updated_at=ended_at,
        ended_at=ended_at, position=None, due_at=None, waiting_for=[], stopping=False, worker=None,
        device=None,
    )  # fmt: skip


def hook_of(record_name: str) -> str:
    return record_name.partition(":")[2]


def decode_notice(body: str) -> Notice:
    return msgspec.json.decode(body, type=Notice)
