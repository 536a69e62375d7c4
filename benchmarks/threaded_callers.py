"""Concurrent callers for libraries with blocking calls: one thread each."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

CALLERS = 50


def from_threads(submit: Callable[[int], object], jobs: int) -> float:
    """Submit a share of the jobs from each thread, and return the seconds that took."""

    def caller(first: int) -> None:
        for number in range(first, jobs, CALLERS):
            submit(number)

    with ThreadPoolExecutor(CALLERS) as threads:
        began = time.perf_counter()
        for done in [threads.submit(caller, first) for first in range(CALLERS)]:
            done.result()
        return time.perf_counter() - began
