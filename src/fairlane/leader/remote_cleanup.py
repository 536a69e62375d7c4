"""Files that only a worker on their own host can remove."""

from collections.abc import Iterable
from typing import Final

from fairlane.core.decisions import Decisions
from fairlane.core.workers import KnownWorker

MOST: Final = 1_000  # that wait for somebody on their host


class RemoteCleanup:
    def __init__(self) -> None:
        self._waiting: list[tuple[str, dict[str, str]]] = []

    def add(self, files: Iterable[tuple[str, dict[str, str]]]) -> None:
        """Have these removed, each given with its host."""
        self._waiting.extend(files)

    def hand_out(self, decisions: Decisions, workers: Iterable[KnownWorker]) -> None:
        """Tell workers what to remove; the rest waits until somebody works on its host."""
        if not self._waiting:
            return
        hosts = {worker.joined.host: worker.id for worker in workers}
        for host, kept in self._waiting:
            if host in hosts:
                decisions.orders_for(hosts[host]).removals.append(kept)
        self._waiting = [(host, kept) for host, kept in self._waiting if host not in hosts][-MOST:]
