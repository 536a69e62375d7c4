"""From rows, as the driver gives them, to what the core and the readers know."""

import logging
from collections.abc import Iterable
from sys import intern
from typing import Any, Final

import msgspec

from fairlane.core.lifecycle import Priority, State
from fairlane.core.live_job import LiveJob, Reason, Terms, terms_from_text
from fairlane.errors import FairlaneError
from fairlane.store.view_building import StoredJob

log = logging.getLogger("fairlane.store")

_STATES: Final = {state.value: state for state in State}
_PRIORITIES: Final = {priority.value: priority for priority in Priority}
_reason: Final = msgspec.json.Decoder(Reason)


def jobs_in(rows: Iterable[Iterable[Any]]) -> list[LiveJob]:
    """Make jobs of rows; a million of them share the few texts and times they have in common."""
    times: dict[float, float] = {}
    return [_job(row, times) for row in rows]


def _job(row: Iterable[Any], times: dict[float, float]) -> LiveJob:
    (
        id, task, queue, lane, kind, priority, position, state, terms, dedupe, exclusive, digest,
        bucket, attempt, failures, crashes, fence, holds_lane, worker, due_at, reason,
        cancel_outputs, created_at, started_at,
    ) = row  # fmt: skip
    return LiveJob(
        id, intern(task), intern(queue), lane and intern(lane), intern(kind), _PRIORITIES[priority],
        position, _STATES[state], _terms(terms), dedupe, exclusive, digest,
        bucket and intern(bucket), attempt, failures, crashes, fence, holds_lane, worker, due_at,
        _reason.decode(reason) if reason else None, cancel_outputs,
        times.setdefault(created_at, created_at), started_at,
    )  # fmt: skip


def _terms(text: str) -> Terms:
    """Read a job's terms; one that cannot be read runs with the usual ones, and all others too."""
    try:
        return terms_from_text(text)
    except (msgspec.DecodeError, FairlaneError):
        log.warning("the terms of a job cannot be read and are left out: %s", text)
        return Terms()


def facts_in(row: Iterable[Any]) -> StoredJob:
    return msgspec.convert(tuple(row), StoredJob)
