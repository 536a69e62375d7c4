"""A real server in a separate process, on a free port."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

ROOT: Final = Path(__file__).resolve().parent.parent.parent
PROGRAM: Final = "tests.support.http_program:app"


class Served:
    def __init__(self, process: "subprocess.Popen[str]", url: str) -> None:
        self.process = process
        self.url = url

    @property
    def address(self) -> tuple[str, int]:
        place = urlsplit(self.url)
        return place.hostname or "", place.port or 0

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Send a signal and return the exit code."""
        self.process.send_signal(number)
        return self.process.wait(20)


@contextmanager
def serving(
    *options: str, database: str = "memory://", program: str = PROGRAM, **environment: str
) -> Iterator[Served]:
    """Serve a program for the duration of the block."""
    process = subprocess.Popen(
        [sys.executable, "-m", "fairlane", "serve", program, "--port", "0", *options],
        cwd=ROOT,
        env={**os.environ, "FAIRLANE_DATABASE": database, **environment},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        found = re.search(r" on (http://\S+)", line)
        assert found is not None, f"the server said {line!r}"
        yield Served(process, found[1])
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        process.stdout.close()
