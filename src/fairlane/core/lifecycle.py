"""The states of a job: the table of legal changes, and the event that causes each change.

Rules:

- A job has exactly one state at a time. The first state of every job is `created`.
- A state changes only as `EVENTS` allows: the scheduler calls `check_transition` before a change.
- Four states are final: `completed`, `failed`, `cancelled`, `skipped`. A job is *live* in all
  other states. A final job changes only when a person retries it, and only `failed` and
  `cancelled` jobs can be retried as themselves.
- Every live job can be cancelled.
- A job keeps its position in the queue while it runs, so a job that goes from `running` back to
  `queued` stands where it stood before. A recovered job goes to the head instead.

Theory of operation. This table is the only definition of the lifecycle. `TRANSITIONS` is derived
from it, the database repeats the names of the states in a CHECK, and a test compares the list in
ARCHITECTURE.md with it. `core/state_changes.py` applies a change to the board.

A job is `running` from the moment of its assignment, before its worker has confirmed it: the leader
decides, stores the start and then sends it. That is why `running` can go back. A worker may refuse
the job because it accepts no work now or because a precondition does not hold. A refusal costs no
attempt: the job returns to `queued`, or to `blocked` with the precondition as its reason. A worker
that stops returns the jobs that it had started. A worker that dies reports nothing: the leader
finds its lease expired and interrupts its jobs. `interrupted` lasts for one decision only. The job
is then queued again, fails after too many crashes, or is cancelled if its cancellation was
requested before the crash.

Why no state for "is being cancelled": a running job that was asked to stop still runs, holds its
lane and its slot, and may still complete. The request is a field of the job (`cancel_outputs`).
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
    """The priorities of a queue; jobs with a smaller number start first."""

    HIGH = 0
    NORMAL = 1
    LOW = 2


# For each state the legal next states, each with the event that causes the change.
EVENTS: Final[Mapping[State, Mapping[State, str]]] = {
    State.CREATED: {
        State.QUEUED: "admitted",
        State.SCHEDULED: "admitted, to start at a later time",
        State.BLOCKED: "admitted, with unfinished dependencies",
        State.CANCELLED: "cancelled",
        State.SKIPPED: "refused: a conflict, a failed dependency or an existing output",
    },
    State.SCHEDULED: {
        State.QUEUED: "due",
        State.CANCELLED: "cancelled",
        State.SKIPPED: "skipped by hand",
    },
    State.QUEUED: {
        State.RUNNING: "assigned to a worker",
        State.BLOCKED: "found to lack a precondition",
        State.FAILED: "deadline passed before the next attempt",
        State.CANCELLED: "cancelled",
        State.SKIPPED: "skipped by hand",
    },
    State.BLOCKED: {
        State.QUEUED: "precondition holds, dependencies ended, or the watching worker is gone",
        State.SCHEDULED: "dependencies ended before the start time",
        State.FAILED: "deadline passed before the next attempt",
        State.CANCELLED: "cancelled",
        State.SKIPPED: "skipped by hand, or a dependency did not complete",
    },
    State.RUNNING: {
        State.COMPLETED: "completed",
        State.FAILED: "failed, without a retry",
        State.CANCELLED: "stopped after a cancel",
        State.RETRYING: "failed, with a retry",
        State.INTERRUPTED: "worker or device lost",
        State.QUEUED: "refused or returned by the worker",
        State.BLOCKED: "refused by the worker over a precondition",
        State.SKIPPED: "skipped by its output policy",
    },
    State.RETRYING: {
        State.QUEUED: "due",
        State.CANCELLED: "cancelled",
        State.SKIPPED: "skipped by hand",
    },
    State.INTERRUPTED: {
        State.QUEUED: "recovered",
        State.FAILED: "crashed too often",
        State.CANCELLED: "cancelled before its worker was lost",
    },
    State.COMPLETED: {},
    State.FAILED: {State.QUEUED: "retried by hand"},
    State.CANCELLED: {State.QUEUED: "retried by hand"},
    State.SKIPPED: {},
}

TRANSITIONS: Final[Mapping[State, frozenset[State]]] = {
    state: frozenset(events) for state, events in EVENTS.items()
}

# The commands that a person can give for a job in each state.
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


def check_transition(job: str, present: State, wanted: State) -> None:
    """Raise `IllegalTransition` unless the table allows the change."""
    if wanted not in TRANSITIONS[present]:
        raise IllegalTransition(
            job=job,
            state=present.value,
            wanted=wanted.value,
            legal=sorted(state.value for state in TRANSITIONS[present]),
        )
