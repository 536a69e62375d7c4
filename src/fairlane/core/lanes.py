"""A lane: jobs of one key inside a queue, of which never two run at the same time."""

from fairlane.core.lifecycle import Priority, State
from fairlane.core.line import Line
from fairlane.core.live_job import JobId, LiveJob


class Lane:
    """The live jobs of one lane.

    It is held by the job that has begun and not ended, also between that job's attempts, so that
    nobody reads a half-made checkpoint; while it is held nobody else starts. A blocked job at the
    front is not passed by others of its lane and band.
    """

    def __init__(self, queue: str, name: str) -> None:
        self.queue = queue
        self.name = name
        self.live: dict[JobId, None] = {}
        self.holder: LiveJob | None = None
        self.lines: dict[Priority, Line] = {}
        self.filed: list[LiveJob] = []  # heads that lie in a demand

    def line(self, priority: Priority) -> Line:
        if priority not in self.lines:
            self.lines[priority] = Line()
        return self.lines[priority]

    def heads(self) -> list[LiveJob]:
        """Return the jobs that may start next: one per band, or the holder alone."""
        if self.holder is not None:
            return [self.holder] if self.holder.state is State.QUEUED else []
        found = [line.first() for line in self.lines.values()]
        return [job for job in found if job is not None and job.state is State.QUEUED]
