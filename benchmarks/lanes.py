"""The keys of which a contestant may run one job at a time."""

from collections.abc import Callable

Lane = Callable[[int], str]
LANES = tuple(f"lane-{number}" for number in range(100))


def spread(number: int) -> str:
    """Return one of 100 keys, all with the same share."""
    return LANES[number % len(LANES)]


def hot(number: int) -> str:
    """Return one key for every other job, and a spread key for the rest."""
    return LANES[0] if number % 2 == 0 else LANES[1 + number // 2 % (len(LANES) - 1)]
