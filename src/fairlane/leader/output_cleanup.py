"""Removal of output files that jobs left behind: on this host, or by a worker on their own host."""

import logging
from collections.abc import Iterable, Mapping
from typing import Final

from fairlane.core.decisions import Decisions
from fairlane.core.live_job import JobId
from fairlane.core.workers import KnownWorker
from fairlane.store.views import Payload
from fairlane.task.attempt_outputs import (
    outputs_on_other_hosts,
    remove_half_written,
    remove_published_outputs,
)

log = logging.getLogger("fairlane.engine")

MAX_REMOTE: Final = 1_000  # removals that wait for a worker on their host

Payloads = Mapping[JobId, Payload]


class OutputCleanup:
    def __init__(self, *, one_host: bool) -> None:
        self._one_host = one_host
        self._remote: list[tuple[str, dict[str, str]]] = []  # a host, and the outputs stored on it

    def remove_unfinished(self, payloads: Payloads) -> None:
        """Remove the half-written files of dead attempts, before the jobs start again."""
        for job, payload in payloads.items():
            for path in remove_half_written(payload.stored_values):
                log.info("removed %s, left half written by job %s", path, job)
        self._add_remote(payloads, finished=False)

    def plan_discard(self, payloads: Payloads) -> None:
        """Note the files of cancelled jobs that lie on other hosts."""
        self._add_remote(payloads, finished=True)

    def discard(self, payloads: Payloads) -> None:
        """Remove all files of cancelled jobs that lie on this host."""
        for payload in payloads.values():
            remove_published_outputs(payload.stored_values, everywhere=self._one_host)
            remove_half_written(payload.stored_values)

    def _add_remote(self, payloads: Payloads, *, finished: bool) -> None:
        if not self._one_host:
            for payload in payloads.values():
                self._remote += outputs_on_other_hosts(
                    payload.stored_values, finished=finished
                ).items()

    def order_removals(self, decisions: Decisions, workers: Iterable[KnownWorker]) -> None:
        """Order a worker of each host to remove its files; without a worker they wait."""
        if not self._remote:
            return
        hosts = {worker.joined.host: worker.id for worker in workers}
        for host, kept in self._remote:
            if host in hosts:
                decisions.orders_for(hosts[host]).removals.append(kept)
        rest = [(host, kept) for host, kept in self._remote if host not in hosts]
        self._remote = rest[-MAX_REMOTE:]
