"""A lane: jobs of one key inside a queue, of which never two run at the same time."""

from heapq import heappop, heappush

from fairlane.core.job import Job, JobId
from fairlane.core.lifecycle import Priority, State

_IN_LINE = frozenset({State.QUEUED, State.BLOCKED})


class Line:
    """Jobs in order of position. What has left or moved is dropped when it comes to the front."""

    def __init__(self, states: frozenset[State] = _IN_LINE) -> None:
        self._heap: list[tuple[str, JobId]] = []
        self._states = states

    def add(self, job: Job) -> None:
        heappush(self._heap, (job.position, job.id))

    def first(self, jobs: dict[JobId, Job], band: Priority | None) -> Job | None:
        heap = self._heap
        while heap:
            position, id = heap[0]
            job = jobs.get(id)
            if (
                job is not None
                and job.position == position
                and job.state in self._states
                and (band is None or job.band is band)
            ):
                return job
            heappop(heap)
        return None


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
        self.holder: Job | None = None
        self.lines: dict[Priority, Line] = {}
        self.filed: dict[JobId, tuple[Priority, str]] = {}  # heads that lie in a demand's heap

    def line(self, band: Priority) -> Line:
        if band not in self.lines:
            self.lines[band] = Line()
        return self.lines[band]

    def is_head(self, job: Job, jobs: dict[JobId, Job]) -> bool:
        if self.holder is not None:
            return self.holder is job
        return self.line(job.band).first(jobs, job.band) is job

    def heads(self, jobs: dict[JobId, Job]) -> list[Job]:
        """Return the jobs that may start next: one per band, or the holder alone."""
        if self.holder is not None:
            return [self.holder] if self.holder.state is State.QUEUED else []
        found = (line.first(jobs, band) for band, line in self.lines.items())
        return [job for job in found if job is not None and job.state is State.QUEUED]
