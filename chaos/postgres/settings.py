"""The settings of the program under test, shared by the program and its checks."""

from typing import Final

SLOTS: Final = 6  # of each process
MAX_CONCURRENT: Final = {"lanes": 6, "isolated": 3}
TOOLS: Final = 2
GATE_STARTS: Final = 5
GATE_SECONDS: Final = 2.0
TICK: Final = "tick"
TICK_SECONDS: Final = 2.0
MANY_CRASHES: Final = 10_000

# A process that was stopped for longer may run jobs that other processes run too, until it notices.
LEASE_SECONDS: Final = 10.0
NOTICE_SECONDS: Final = 2.0
