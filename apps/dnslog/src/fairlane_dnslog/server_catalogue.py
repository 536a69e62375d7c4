"""The services that AdGuard Home can block, and its names of clients, as the servers list them."""

import logging
import threading
import time
from typing import Final

from msgspec import Struct

from fairlane import Permanent, Retryable
from fairlane_dnslog.program_status import ServiceChoice
from fairlane_dnslog.queue_app import QueueApp

FRESH_SECONDS: Final = 3600.0
PAUSE_SECONDS: Final = 60.0  # after a failure: a page must not wait for a server that is down
REQUEST_SECONDS: Final = 3.0

log = logging.getLogger(__name__)


class ServerLists(Struct, frozen=True):
    """The services of the first server that answers, and the named clients of all of them."""

    services: tuple[ServiceChoice, ...] = ()
    client_names: frozenset[str] = frozenset()


class ServerCatalogue:
    """The lists of the servers, read at most once an hour, or a minute after a failure."""

    def __init__(self, queue: QueueApp) -> None:
        self._queue = queue
        self._door = threading.Lock()
        self._services: tuple[ServiceChoice, ...] = ()
        self._names: dict[str, frozenset[str]] = {}  # of clients, by server
        self._read_again_at = float("-inf")

    def read(self) -> ServerLists:
        """Return the lists; of a server that does not answer those of its last answer."""
        with self._door:
            if time.monotonic() >= self._read_again_at:
                pause = FRESH_SECONDS if self._request() else PAUSE_SECONDS
                self._read_again_at = time.monotonic() + pause
            return ServerLists(self._services, frozenset().union(*self._names.values()))

    def _request(self) -> bool:
        """Request the lists of all servers; return whether each has answered."""
        services: tuple[ServiceChoice, ...] = ()
        failed = False
        for server in self._queue.settings.servers:
            try:
                with self._queue.requests(server.name, total_seconds=REQUEST_SECONDS) as client:
                    services = services or tuple(
                        ServiceChoice(id=one.id, name=one.name, group=one.group_id)
                        for one in client.read_services()
                    )
                    names = frozenset(one.name for one in client.read_clients().clients or ())
                    self._names[server.name] = names
            except (Permanent, Retryable) as error:
                failed = True
                log.info("the lists of %s are not known: %s", server.name, error)
        self._services = services or self._services
        return not failed and bool(services)
