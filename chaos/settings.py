"""What the tormented program declares, for itself and for those who check it."""

from typing import Final

# What the code says; the run changes some of it as an operator would.
MAX_CONCURRENT: Final = {"lanes": 4, "turns": 2, "line": 2, "programs": 3, "isolated": 2, "desk": 1}
TOOLS: Final = 2
GATE_STARTS: Final = 10
GATE_SECONDS: Final = 2.0
TICK: Final = "tick"
TICK_SECONDS: Final = 1.0
MANY_CRASHES: Final = 10_000
