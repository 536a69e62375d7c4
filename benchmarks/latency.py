"""The samples of a pick-up: from the submitting call to the first line of the function."""

import random
from collections.abc import Iterator, Sequence

from benchmarks.contestant_main import Figures


def pauses(samples: int) -> Iterator[float]:
    """Return uneven pauses between submissions, so that no poller is in step with them."""
    dice = random.Random(1)
    return (dice.uniform(0.01, 0.03) for _ in range(samples))


def figures(seconds: Sequence[float]) -> Figures:
    in_order = sorted(seconds)
    return {
        "p50_ms": 1000 * in_order[len(in_order) // 2],
        "p95_ms": 1000 * in_order[len(in_order) * 95 // 100],
    }
