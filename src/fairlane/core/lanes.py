"""A lane: jobs of one queue that share a key; at most one of them runs at a time."""

from collections.abc import Mapping
from typing import Final

from fairlane.core.lifecycle import Priority, State
from fairlane.core.line import Line
from fairlane.core.live_job import JobId, LiveJob

# The stored status of a lane after its last started job has ended; otherwise it is "idle".
STATUS_AFTER: Final[Mapping[State, str]] = {
    State.COMPLETED: "done",
    State.FAILED: "failed",
    State.CANCELLED: "cancelled",
}


class Lane:
    """The live jobs of one lane.

    The holder is the job that has started and not ended. It holds the lane between its attempts
    too, so that no other job reads a half-written checkpoint. No other job of the lane starts while
    it is held. A blocked job at the front is not passed by jobs of the same lane and priority.
    """

    def __init__(self, queue: str, name: str) -> None:
        self.queue = queue
        self.name = name
        self.live: dict[JobId, None] = {}
        self.holder: LiveJob | None = None
        self.lines: dict[Priority, Line] = {}
        self.filed: list[LiveJob] = []  # heads that stand in a demand

    def line(self, priority: Priority) -> Line:
        if priority not in self.lines:
            self.lines[priority] = Line()
        return self.lines[priority]

    def heads(self) -> list[LiveJob]:
        """Return the jobs that may start next: one per priority, or the holder alone."""
        if self.holder is not None:
            return [self.holder] if self.holder.state is State.QUEUED else []
        found = [line.first() for line in self.lines.values()]
        return [job for job in found if job is not None and job.state is State.QUEUED]
