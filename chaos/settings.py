"""The settings of the program under test, shared by the program and its checks."""

from typing import Final

# Declared values; the run changes some of them as an operator would.
MAX_CONCURRENT: Final = {"lanes": 4, "turns": 2, "line": 2, "programs": 3, "isolated": 2, "desk": 1}
TOOLS: Final = 2
GATE_STARTS: Final = 10
GATE_SECONDS: Final = 2.0
TICK: Final = "tick"
TICK_SECONDS: Final = 1.0
MANY_CRASHES: Final = 10_000
