"""A running stand-in, in a thread of this process."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from fairlane_dnslog.settings import ServerSettings
from fairlane_dnslog.stand_in.faults import Fault, FaultPlan
from fairlane_dnslog.stand_in.http_server import HttpServer
from fairlane_dnslog.stand_in.server_state import Options, ServerState

ADVANCE_SECONDS: Final = 0.5
_POLL_SECONDS: Final = 0.05


class StandIn:
    """A stand-in for AdGuard Home at `url`, from `start()` to `stop()`."""

    def __init__(
        self,
        options: Options | None = None,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        now_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self.options = options or Options()
        self.state = ServerState(self.options, now_ns)
        self.faults = FaultPlan()
        self._http = HttpServer((host, port), self.state, self.faults)
        self._stopped = threading.Event()
        self._threads = [
            threading.Thread(target=self._http.serve_forever, args=(_POLL_SECONDS,), daemon=True),
            threading.Thread(target=self._advance, daemon=True),
        ]

    @property
    def port(self) -> int:
        return int(self._http.server_address[1])

    @property
    def url(self) -> str:
        return f"http://{self._http.server_address[0]!s}:{self.port}"

    @property
    def requests(self) -> int:
        """The number of requests to the API so far."""
        return self._http.requests

    def settings(self, name: str = "home", **changes: Any) -> ServerSettings:
        """Return the settings with which a client reaches this stand-in."""
        login = {"username": self.options.username, "password": self.options.password}
        return ServerSettings(name=name, url=self.url, **(login | changes))

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Stop as a killed process does: connections break; queries in flight are not logged."""
        self._stopped.set()
        self.faults.released.set()
        self._http.shutdown()
        self._http.close_connections()
        self._http.server_close()
        for thread in self._threads:
            thread.join()
        self.state.close()

    def set_faults(self, *faults: Fault) -> None:
        """Replace all faults."""
        self.faults.set(faults)

    def forget_logins(self) -> None:
        """End all lock-outs."""
        self._http.login.forget_failures()

    def _advance(self) -> None:
        """Log queries while no client asks, so that the first that does need not wait."""
        while not self._stopped.wait(ADVANCE_SECONDS):
            self.state.advance()


@contextmanager
def stand_in(
    options: Options | None = None,
    *,
    port: int = 0,
    now_ns: Callable[[], int] = time.time_ns,
) -> Iterator[StandIn]:
    """Run a stand-in for the time of a block."""
    running = StandIn(options, port=port, now_ns=now_ns)
    running.start()
    try:
        yield running
    finally:
        running.stop()
