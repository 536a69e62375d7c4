"""A stand-in for AdGuard Home: its API over real HTTP, with a household that makes queries.

It serves the demonstration and the tests. `python -m fairlane_dnslog.stand_in` runs it as a
process, `stand_in()` in a thread. Its journal has every query that it logged, so a test can compare
a stored log with the truth.
"""

from fairlane_dnslog.stand_in.faults import Fault
from fairlane_dnslog.stand_in.journal import JournalContents, read_journal
from fairlane_dnslog.stand_in.queries import LoggedQuery
from fairlane_dnslog.stand_in.running import StandIn, stand_in
from fairlane_dnslog.stand_in.server_state import Options

__all__ = [
    "Fault",
    "JournalContents",
    "LoggedQuery",
    "Options",
    "StandIn",
    "read_journal",
    "stand_in",
]
