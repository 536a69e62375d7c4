"""The rows that a commit writes, as plain values that can be sent to a database as JSON.

Each kind of change has a column of rows. To reach a value in a JSON array, a database steps over
those before it, so the frequent rows are short: values that many rows share are sent once for their
group, and values that the database has already are copied there.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec import UNSET, Struct

from fairlane.core.decisions import Changes, Ended, Event, LaneChange
from fairlane.core.inputs import Submission
from fairlane.core.lifecycle import State
from fairlane.core.live_job import LiveJob
from fairlane.store.columns import (
    DETAIL,
    ENDED,
    JOB,
    MUTABLE,
    OWN,
    SENT,
    SHARED,
    halves_maker,
    json_text,
    rows_maker,
)

_OF_JOB: Final = {"job": LiveJob}
_OF_ENDED: Final[Mapping[str, type[Struct]]] = {"ended": Ended, "ended.job": LiveJob}

changed_rows: Final = rows_maker(("id", *MUTABLE), _OF_JOB)
_entered_rows: Final = rows_maker(JOB, _OF_JOB)
_submitted_rows: Final = rows_maker(DETAIL, {"submission": Submission})
_new_rows: Final = halves_maker(SHARED, OWN, {"job": LiveJob, "submission": Submission})
_completed_rows: Final = rows_maker(("id", *SENT), _OF_ENDED)
_ended_rows: Final = rows_maker(ENDED, _OF_ENDED)


class Group(Struct, array_like=True, gc=False):
    """Rows with common values: those values once, then the other values of each row."""

    shared: tuple[Any, ...]
    members: list[tuple[Any, ...]]

    def halves(self) -> "list[Group]":
        half = len(self.members) // 2
        parts = (self.members[:half], self.members[half:])
        return [Group(self.shared, part) for part in parts if part]


def pieces(rows: dict[str, list[Any]], limit: int) -> Iterator[tuple[str, str]]:
    for column, items in rows.items():
        if items:
            for piece in _cut(items, limit):
                yield column, piece


def _cut(items: list[Any], limit: int) -> Iterator[str]:
    """Encode a list, in halves if it is too large; a single group is cut into two groups."""
    encoded = msgspec.json.encode(items)
    if len(encoded) > limit:
        if len(items) == 1 and isinstance(items[0], Group):
            items = items[0].halves()
        if len(items) > 1:
            half = len(items) // 2
            yield from _cut(items[:half], limit)
            yield from _cut(items[half:], limit)
            return
    yield encoded.decode()


def live_jobs(changes: Changes) -> tuple[list[LiveJob], list[LiveJob]]:
    """Return the changed jobs that stay live: those that wait, and those that run."""
    left = set(changes.left)
    jobs = [job for id, job in changes.changed.items() if id not in left]
    waiting = [job for job in jobs if job.state is not State.RUNNING]
    return waiting, [job for job in jobs if job.state is State.RUNNING]


def rows_of(changes: Changes, waiting: list[LiveJob], at: float) -> dict[str, list[Any]]:
    """Return the rows of the columns that are the same in both dialects."""
    left = set(changes.left)
    values = {(job, name): body for job, name, body in changes.stored_values}
    entered = {id: job for id, job in changes.entered.items() if id not in left}
    new = [
        (job, item)
        for item in changes.submitted
        if (job := entered.get(item.id)) is not None and job.fence == 0
    ]
    whole = {item.id for _, item in new}
    # An earlier commit started a job that completes; only its end has changed since.
    completed = {
        id: ended
        for id, ended in changes.ended.items()
        if ended.job.state is State.COMPLETED and id in left and id not in changes.entered
    }
    return {
        "reports": [(id, body, at) for id, body in changes.reports.items()],
        "completed": _completed_rows(completed.values()),
        "gone": changes.left,
        "new": grouped(_new_rows(new)),
        "entered": _entered_rows(job for id, job in entered.items() if id not in whole),
        "submitted": _submitted_rows(item for item in changes.submitted if item.id not in whole),
        "revived": changes.revived,
        "removed_values": [key for key, body in values.items() if body is None],
        "stored_values": [(*key, body) for key, body in values.items() if body is not None],
        "ended": _ended_rows(ended for id, ended in changes.ended.items() if id not in completed),
        "finished": list(changes.ended),
        "without_values": [
            id for id, ended in changes.ended.items() if ended.forget or id in completed
        ],
        "dependencies": changes.dependencies,
        "settled": changes.settled,
        "met": changes.met_dependencies,
        "logs": changes.logs,
        "returned_starts": changes.returned_rate_starts,
        "rate_starts": changes.rate_starts,
        "grants": changes.grants,
        "releases": changes.releases,
        "stopped": [*changes.left, *(job.id for job in waiting)],
        "lanes": [_lane(*key, change) for key, change in changes.lanes.items()],
        "erased": [key for key, body in changes.records.items() if body is None],
        "records": [(*key, body) for key, body in changes.records.items() if body is not None],
        "firings": [
            (item.schedule, item.fire_at, item.job, item.count, item.reason)
            for item in changes.firings
        ],
        "answers": [(key, body, at) for key, body in changes.answers.items()],
        "consumed": changes.consumed,
        "dead_letters": changes.dead_letters,
    }


def event_groups(events: Sequence[Event]) -> list[Group]:
    """Put events with equal data into groups; a group shares its data as text."""
    texts: dict[int, str] = {}  # by identity: most events share one data object
    for event in events:
        if id(event.data) not in texts:
            texts[id(event.data)] = json_text(event.data)
    return grouped(
        ((event.at, event.type, event.queue, texts[id(event.data)]), (event.seq, event.job))
        for event in events
    )


def grouped(rows: Iterable[tuple[tuple[Any, ...], tuple[Any, ...]]]) -> list[Group]:
    """Put rows, each in two halves, into groups that have an equal first half."""
    groups: dict[tuple[Any, ...], list[tuple[Any, ...]]] = {}
    for shared, own in rows:
        members = groups.get(shared)
        if members is None:
            members = groups[shared] = []
        members.append(own)
    return [Group(shared, members) for shared, members in groups.items()]


def _lane(queue: str, lane: str, change: LaneChange) -> tuple[Any, ...]:
    """Return the values of a lane; a flag before a value says whether it changes."""
    return (
        queue,
        lane,
        *_flagged(change.status),
        *_flagged(change.job),
        None if change.adopt is UNSET else change.adopt,
        *_flagged(change.params),
    )


def _flagged(value: Any) -> tuple[bool, Any]:
    return (False, None) if value is UNSET else (True, value)
