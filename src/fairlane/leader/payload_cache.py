"""What was just submitted is likely to start soon: its payload need not be read back.

Bounded in number and size; whatever is not here is in the store.
"""

from collections.abc import Iterable
from typing import Final

from fairlane.core.decisions import Start
from fairlane.core.inputs import Submission
from fairlane.core.live_job import JobId
from fairlane.store.views import Payload

MOST_JOBS: Final = 10_000
LARGEST_CHARACTERS: Final = 4_096


class PayloadCache:
    def __init__(self) -> None:
        self._payloads: dict[JobId, Payload] = {}

    def add(self, submitted: Iterable[Submission]) -> None:
        payloads = self._payloads
        for job in submitted:
            size = len(job.params) + len(job.meta) + len(job.options)
            if size <= LARGEST_CHARACTERS and len(payloads) < MOST_JOBS:
                payloads[job.id] = Payload(job.params, job.meta, job.options)

    def forget(self, ended: Iterable[JobId]) -> None:
        for job in ended:
            self._payloads.pop(job, None)

    def look(self, start: Start) -> Payload | None:
        """Return a job's payload if it is all there is: a first start that begins afresh."""
        return self._payloads.get(start.job) if start.first and start.kind == "start" else None

    def take(self, start: Start) -> Payload | None:
        """Do the same for the last time."""
        payload = self.look(start)
        self._payloads.pop(start.job, None)
        return payload
