"""The payloads of jobs that are about to start.

A job that was just submitted is likely to start soon, so its payload is cached and need not be read
back. The cache is bounded in number and size; the store has all payloads.
"""

import asyncio
import logging
from collections.abc import Iterable, Mapping
from typing import Final

from fairlane.core.decisions import Start
from fairlane.core.inputs import Submission
from fairlane.core.live_job import JobId
from fairlane.errors import StoreUnavailable
from fairlane.store.protocol import Store
from fairlane.store.views import Payload

log = logging.getLogger("fairlane.leader")

MAX_JOBS: Final = 10_000
MAX_CHARACTERS: Final = 4_096


class PayloadCache:
    def __init__(self, store: Store, retry_seconds: float) -> None:
        self._store = store
        self._retry_seconds = retry_seconds
        self._payloads: dict[JobId, Payload] = {}

    def add(self, submitted: Iterable[Submission]) -> None:
        payloads = self._payloads
        for job in submitted:
            size = len(job.params) + len(job.meta) + len(job.options)
            if size <= MAX_CHARACTERS and len(payloads) < MAX_JOBS:
                payloads[job.id] = Payload(job.params, job.meta, job.options)

    def remove(self, ended: Iterable[JobId]) -> None:
        for job in ended:
            self._payloads.pop(job, None)

    def peek(self, start: Start) -> Payload | None:
        """Return the cached payload of a first start; later starts have stored values as well."""
        return self._payloads.get(start.job) if start.first and start.kind == "start" else None

    def pop(self, start: Start) -> Payload | None:
        """Return the cached payload of a first start and remove it from the cache."""
        payload = self.peek(start)
        self._payloads.pop(start.job, None)
        return payload

    async def read(self, starts: list[Start]) -> Mapping[JobId, Payload]:
        """Return the payloads of started jobs, from the cache or from the store.

        The jobs are stored as running, so this tries until the store answers.
        """
        cached = {start.job: payload for start in starts if (payload := self.pop(start))}
        rest = [start for start in starts if start.job not in cached]
        while rest:
            try:
                return {**cached, **await self._store.payloads(rest)}
            except StoreUnavailable as error:
                log.warning("the payloads of started jobs cannot be read: %s", error)
                await asyncio.sleep(self._retry_seconds)
        return cached
