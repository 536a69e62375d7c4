"""`fairlane-dnslog` as a process, and a browser of its pages."""

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from tests.support.eventually import eventually_sync

SLOW_SECONDS = 60.0  # ends a broken test
_CSRF = re.compile(r'name="csrf" value="([^"]+)"')


class TerminalProgram:
    """A running command; `output` grows with its lines."""

    def __init__(self, folder: Path, *arguments: str, **environment: str) -> None:
        known = {name: text for name, text in os.environ.items() if not name.startswith("DNSLOG_")}
        self.output: list[str] = []
        self._process = subprocess.Popen(
            [sys.executable, "-u", "-m", "fairlane_dnslog", *arguments],
            env=known | {"DNSLOG_FOLDER": str(folder), "TMPDIR": str(folder)} | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            self.output.extend(line.rstrip("\n") for line in lines)

    def find(self, pattern: str) -> str:
        """Return the first group of a pattern, as soon as a line has it."""

        def search() -> str:
            assert self._process.poll() is None or self._reader.is_alive(), self.output
            found = (re.search(pattern, line) for line in list(self.output))
            return next((match[1] for match in found if match), "")

        return eventually_sync(search, within_seconds=SLOW_SECONDS, what=pattern)

    @property
    def url(self) -> str:
        return self.find(r"^serving (http://\S+)")

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Send a signal and return the exit code."""
        self._process.send_signal(number)
        try:
            code = self._process.wait(SLOW_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            raise
        self._reader.join()
        return code

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


@contextmanager
def running(folder: Path, *arguments: str, **environment: str) -> Iterator[TerminalProgram]:
    program = TerminalProgram(folder, *arguments, **environment)
    try:
        yield program
    finally:
        program.kill()


def log_in(client: httpx.Client, name: str, password: str) -> int:
    """Send the form of the login and return the status."""
    form = client.get("/login")
    [token] = set(_CSRF.findall(form.text))
    data = {"csrf": token, "name": name, "password": password}
    return client.post("/login", data=data).status_code
