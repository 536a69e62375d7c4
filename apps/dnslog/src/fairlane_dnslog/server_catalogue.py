"""The services that AdGuard Home can block, as its servers list them."""

import logging
import threading
import time
from typing import Final

from fairlane import Permanent, Retryable
from fairlane_dnslog.program_status import ServiceChoice
from fairlane_dnslog.queue_app import QueueApp

FRESH_SECONDS: Final = 3600.0
PAUSE_SECONDS: Final = 60.0  # after a failure: a page must not wait for a server that is down
REQUEST_SECONDS: Final = 3.0

log = logging.getLogger(__name__)


class ServiceCatalogue:
    """The services of the first server that answers, read at most once an hour."""

    def __init__(self, queue: QueueApp) -> None:
        self._queue = queue
        self._door = threading.Lock()
        self._known: tuple[ServiceChoice, ...] = ()
        self._read_again_at = float("-inf")

    def read(self) -> tuple[ServiceChoice, ...]:
        """Return the services; those of the last answer while no server answers."""
        with self._door:
            if time.monotonic() >= self._read_again_at:
                found = self._request()
                self._known = found or self._known
                pause = FRESH_SECONDS if found else PAUSE_SECONDS
                self._read_again_at = time.monotonic() + pause
            return self._known

    def _request(self) -> tuple[ServiceChoice, ...]:
        for server in self._queue.settings.servers:
            try:
                with self._queue.requests(server.name, total_seconds=REQUEST_SECONDS) as client:
                    services = client.read_services()
            except (Permanent, Retryable) as error:
                log.info("the services are not known: %s", error)
                continue
            return tuple(
                ServiceChoice(id=one.id, name=one.name, group=one.group_id) for one in services
            )
        return ()
