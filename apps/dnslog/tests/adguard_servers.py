"""Stand-ins with a clock that a test moves, and clients of them."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fairlane_dnslog.adguard import AdGuard
from fairlane_dnslog.settings import Settings
from fairlane_dnslog.stand_in import LoggedQuery, Options, StandIn, stand_in
from fairlane_dnslog.timestamps import SECOND_NS, parse_time_ns

NOON_NS = parse_time_ns("2026-11-18T12:00:00Z")


class TestClock:
    """A clock of nanoseconds that stands still until a test moves it."""

    __test__ = False

    def __init__(self, at_ns: int = NOON_NS) -> None:
        self.at_ns = at_ns

    def __call__(self) -> int:
        return self.at_ns

    def advance(self, seconds: float) -> None:
        self.at_ns += int(seconds * SECOND_NS)

    @property
    def seconds(self) -> float:
        return self.at_ns / SECOND_NS


class Home:
    """A stand-in on a test's clock, with a client."""

    def __init__(self, server: StandIn, clock: TestClock, client: AdGuard) -> None:
        self.server = server
        self.clock = clock
        self.client = client

    def log(self, count: int, *, seconds_apart: float = 0.01, **details: Any) -> list[LoggedQuery]:
        """Log queries, one after the other, up to the present of the clock."""
        logged = []
        for number in range(count):
            self.clock.advance(seconds_apart)
            name = details.get("domain", f"site-{number}.example")
            rest = {key: value for key, value in details.items() if key != "domain"}
            logged.append(self.server.state.log_query(name, **rest))
        return logged


@contextmanager
def running_home(
    options: Options | None = None, *, clock: TestClock | None = None, port: int = 0
) -> Iterator[Home]:
    clock = clock or TestClock()
    with stand_in(options, now_ns=clock, port=port) as server, AdGuard(server.settings()) as client:
        yield Home(server, clock, client)


def make_settings(folder: Path, **changes: Any) -> Settings:
    return Settings(folder=folder, database=f"sqlite:///{folder}/dnslog.db", **changes)
