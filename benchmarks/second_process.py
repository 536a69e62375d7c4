"""A second process of the same contestant on the same database.

The first process starts it, receives its readiness, sends the start signal, and receives the number
of begun jobs a hundred times a second. So the measured database is not queried.
"""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from benchmarks.contestant_main import Request

_LOOK_SECONDS = 0.01


class SecondProcess:
    """The second process, as the first process sees it."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        self._said = iter(process.stdout or ())
        self.count = 0
        if next(self._said, "") != "ready\n":
            raise RuntimeError("the second process ended before it was ready; run it by hand")

    def begin(self) -> None:
        assert self._process.stdin is not None
        print("begin", file=self._process.stdin, flush=True)
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        for said in self._said:
            self.count = int(said)


@contextmanager
def started(module: str, scenario: str, request: Request) -> Iterator[SecondProcess]:
    """Start the second process, and end it with the block."""
    command = [sys.executable, "-m", module, scenario, "--database", request.database]
    process = subprocess.Popen(  # noqa: S603 - our own words
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        yield SecondProcess(process)
    finally:
        process.kill()
        process.wait()


def ready(count: Callable[[], int]) -> None:
    """Report, in the second process, that it is ready; return when it may begin.

    From then on it reports its number of begun jobs, and ends when the first process is gone.
    """
    print("ready", flush=True)
    sys.stdin.readline()
    threading.Thread(target=_tell, args=(count,), daemon=True).start()
    threading.Thread(target=_end_with_first, daemon=True).start()


def _tell(count: Callable[[], int]) -> None:
    told = 0
    while True:
        time.sleep(_LOOK_SECONDS)
        if (now := count()) != told:
            told = now
            print(told, flush=True)


def _end_with_first() -> None:
    sys.stdin.read()
    os._exit(0)
