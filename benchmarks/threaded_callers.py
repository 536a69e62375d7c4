"""Many callers at once, for libraries whose calls block: a thread each."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

CALLERS = 50


def from_threads(submit: Callable[[int], object], jobs: int) -> float:
    """Have each thread submit its share one after the other, and return the seconds it took."""

    def caller(first: int) -> None:
        for number in range(first, jobs, CALLERS):
            submit(number)

    with ThreadPoolExecutor(CALLERS) as threads:
        began = time.perf_counter()
        for done in [threads.submit(caller, first) for first in range(CALLERS)]:
            done.result()
        return time.perf_counter() - began
