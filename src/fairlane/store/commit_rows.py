"""What a commit writes, as rows of plain values that can be sent to a database as JSON.

For each kind of change there is a column of rows. A value deep in a JSON array costs a walk through
those before it, so the frequent rows are short: what many have in common stands once before the
rows of its group, and what the database has already is taken from there.
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
    """Rows that have something in common: that once, then of each row what is its own."""

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
    """Encode a list, in halves where it is too large; a group that is alone is cut in itself."""
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
    """Return the jobs that changed and stay, those that wait and those that run."""
    left = set(changes.left)
    jobs = [job for id, job in changes.changed.items() if id not in left]
    waiting = [job for job in jobs if job.state is not State.RUNNING]
    return waiting, [job for job in jobs if job.state is State.RUNNING]


def rows_of(changes: Changes, waiting: list[LiveJob], at: float) -> dict[str, list[Any]]:
    """Return the rows of each column that is the same in every database."""
    left = set(changes.left)
    kept = {(job, name): body for job, name, body in changes.stored_values}
    entered = {id: job for id, job in changes.entered.items() if id not in left}
    new = [
        (job, item)
        for item in changes.submitted
        if (job := entered.get(item.id)) is not None and job.fence == 0
    ]
    whole = {item.id for _, item in new}
    # A job that completes was started by an earlier commit, and nothing but its end came since.
    completed = {
        id: ended
        for id, ended in changes.ended.items()
        if ended.job.state is State.COMPLETED and id in left and id not in changes.entered
    }
    return {
        "reports": list(changes.reports.items()),
        "completed": _completed_rows(completed.values()),
        "gone": changes.left,
        "new": grouped(_new_rows(new)),
        "entered": _entered_rows(job for id, job in entered.items() if id not in whole),
        "submitted": _submitted_rows(item for item in changes.submitted if item.id not in whole),
        "revived": changes.revived,
        "forgotten": [key for key, body in kept.items() if body is None],
        "kept": [(*key, body) for key, body in kept.items() if body is not None],
        "ended": _ended_rows(ended for id, ended in changes.ended.items() if id not in completed),
        "finished": list(changes.ended),
        "whole": [id for id, ended in changes.ended.items() if ended.forget or id in completed],
        "dependencies": changes.dependencies,
        "settled": changes.settled,
        "met": changes.met_dependencies,
        "logs": changes.logs,
        "untakes": changes.returned_rate_starts,
        "takes": changes.rate_starts,
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
    """Put events into groups of what they say; a group shares its data as text."""
    texts: dict[int, str] = {}  # by identity: most events share what they say with others
    for event in events:
        if id(event.data) not in texts:
            texts[id(event.data)] = json_text(event.data)
    return grouped(
        ((event.at, event.type, event.queue, texts[id(event.data)]), (event.seq, event.job))
        for event in events
    )


def grouped(rows: Iterable[tuple[tuple[Any, ...], tuple[Any, ...]]]) -> list[Group]:
    """Put rows, each given as what it may share and what is its own, into groups."""
    groups: dict[tuple[Any, ...], list[tuple[Any, ...]]] = {}
    for shared, own in rows:
        members = groups.get(shared)
        if members is None:
            members = groups[shared] = []
        members.append(own)
    return [Group(shared, members) for shared, members in groups.items()]


def _lane(queue: str, lane: str, change: LaneChange) -> tuple[Any, ...]:
    """Return the values of a lane, each that may stay as it was behind a flag that says so."""
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
