"""`python -m mutations.worlds`: run worlds one by one until a rule is violated.

`python -m simulation` runs all of its worlds; here the first violation is enough.
"""

import argparse
import os
import signal
import sys
from types import FrameType
from typing import Final, get_args

from simulation.databases import StoreKind
from simulation.world import simulate

_LONGEST_SECONDS: Final = 60  # of real time; a typical world takes one


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m mutations.worlds", description=__doc__)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=40)
    parser.add_argument("--store", choices=get_args(StoreKind))
    given = parser.parse_args()
    for seed in range(given.first, given.first + given.seeds):
        _end_after(_LONGEST_SECONDS, seed)
        verdict = simulate(seed, given.store)
        if verdict.violations:
            sys.stdout.write(f"seed {seed} on {verdict.store}: {verdict.violations[0]}\n")
            return 1
    return 0


def _end_after(seconds: int, seed: int) -> None:
    """End the process if this world does not end: an endless loop would fill the memory."""

    def end(signum: int, frame: FrameType | None) -> None:  # noqa: ARG001
        sys.stdout.write(f"seed {seed} on its way: no end within {seconds} s, it spins\n")
        sys.stdout.flush()
        os._exit(1)

    signal.signal(signal.SIGALRM, end)
    signal.alarm(seconds)


if __name__ == "__main__":
    sys.exit(main())
