"""The states of a job and every legal way from one to another.

This table is the only place that knows. The scheduler asks `check` before each change, the
database repeats the names in a CHECK, the documentation's drawing is made from it.

A job is *live* in every state but the four final ones. `running` may go back to `queued` or
`blocked` because a worker can refuse an assignment before it has begun; a final job moves only
when a person retries it.
"""

from collections.abc import Mapping
from enum import IntEnum, StrEnum
from typing import Final

from fairlane.errors import IllegalTransition


class State(StrEnum):
    CREATED = "created"
    SCHEDULED = "scheduled"
    QUEUED = "queued"
    BLOCKED = "blocked"
    RUNNING = "running"
    RETRYING = "retrying"
    INTERRUPTED = "interrupted"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    SKIPPED = "skipped"


class Priority(IntEnum):
    """The bands of a queue; a smaller number goes first."""

    HIGH = 0
    NORMAL = 1
    LOW = 2


TRANSITIONS: Final[Mapping[State, frozenset[State]]] = {
    State.CREATED: frozenset(
        {State.QUEUED, State.SCHEDULED, State.BLOCKED, State.CANCELLED, State.SKIPPED}
    ),
    State.SCHEDULED: frozenset({State.QUEUED, State.CANCELLED, State.SKIPPED}),
    State.QUEUED: frozenset({State.RUNNING, State.BLOCKED, State.CANCELLED, State.SKIPPED}),
    State.BLOCKED: frozenset({State.QUEUED, State.SCHEDULED, State.CANCELLED, State.SKIPPED}),
    State.RUNNING: frozenset(
        {
            State.COMPLETED,
            State.FAILED,
            State.CANCELLED,
            State.RETRYING,
            State.INTERRUPTED,
            State.QUEUED,
            State.BLOCKED,
            State.SKIPPED,
        }
    ),
    State.RETRYING: frozenset({State.QUEUED, State.CANCELLED, State.SKIPPED}),
    State.INTERRUPTED: frozenset({State.QUEUED, State.FAILED, State.CANCELLED}),
    State.COMPLETED: frozenset(),
    State.FAILED: frozenset({State.QUEUED}),
    State.CANCELLED: frozenset({State.QUEUED}),
    State.SKIPPED: frozenset(),
}

# What people can do with a job in each state, by the names of the commands.
VERBS: Final[Mapping[State, tuple[str, ...]]] = {
    State.CREATED: (),
    State.SCHEDULED: ("cancel", "move", "priority", "skip"),
    State.QUEUED: ("cancel", "move", "priority", "skip"),
    State.BLOCKED: ("cancel", "priority", "skip"),
    State.RUNNING: ("cancel",),
    State.RETRYING: ("cancel", "move", "priority", "skip"),
    State.INTERRUPTED: ("cancel",),
    State.COMPLETED: ("rerun",),
    State.FAILED: ("retry", "rerun"),
    State.CANCELLED: ("retry", "rerun"),
    State.SKIPPED: ("rerun",),
}

FINAL: Final = frozenset({State.COMPLETED, State.FAILED, State.CANCELLED, State.SKIPPED})
LIVE: Final = frozenset(State) - FINAL


def check(job: str, present: State, wanted: State) -> None:
    """Raise unless the table allows the change."""
    if wanted not in TRANSITIONS[present]:
        raise IllegalTransition(
            job=job,
            state=present.value,
            wanted=wanted.value,
            legal=sorted(state.value for state in TRANSITIONS[present]),
        )
