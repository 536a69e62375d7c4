"""The keys of which a contestant may run one job at a time each."""

from collections.abc import Callable

Lane = Callable[[int], str]
LANES = tuple(f"lane-{number}" for number in range(100))


def spread(number: int) -> str:
    """Give each key the same share."""
    return LANES[number % len(LANES)]


def hot(number: int) -> str:
    """Give every other job to one key, and the rest to the others."""
    return LANES[0] if number % 2 == 0 else LANES[1 + number // 2 % (len(LANES) - 1)]
