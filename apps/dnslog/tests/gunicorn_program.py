"""The program under gunicorn, the household that it pulls, and its database, as real processes."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal

import httpx

from fairlane_dnslog.stand_in import Options
from tests.support.postgres import Server, running_postgres

Kind = Literal["postgres", "sqlite"]
WORKERS: Final = 4
PULL_SECONDS: Final = 2.0
PATIENCE_SECONDS: Final = 120.0


class Household:
    """The process of the stand-in, at one port over its restarts."""

    def __init__(self, folder: Path, rate: float) -> None:
        self.journal = folder / "journal.jsonl"
        self.port = free_port()
        self._rate = rate
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [sys.executable, "-m", "fairlane_dnslog.stand_in", "--port", str(self.port)]
        command += ["--rate", str(self._rate), "--journal", str(self.journal)]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        eventually(lambda: is_listening(self.port), "the stand-in listens")

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def set_offline(self, offline: bool) -> None:
        faults = [{"kind": "drop"}] if offline else []
        httpx.put(f"http://127.0.0.1:{self.port}/stand-in/faults", json=faults).raise_for_status()

    def pause_traffic(self) -> None:
        """End the traffic: the stand-in starts again without queries, on the same log."""
        self.stop()
        self._rate = 0.0
        self.start()


class Workers:
    """gunicorn with four workers."""

    def __init__(
        self, folder: Path, database: str, household: Household, **settings: object
    ) -> None:
        self._folder = folder
        self.database = database
        self.port = free_port()
        self._environment = {
            **os.environ,
            "XDG_RUNTIME_DIR": str(folder),  # of the control socket of gunicorn
            "DNSLOG_FOLDER": str(folder),
            "DNSLOG_DATABASE": database,
            "DNSLOG_URL": f"http://127.0.0.1:{household.port}",
            "DNSLOG_USERNAME": "admin",
            "DNSLOG_PASSWORD": Options().password,
            "DNSLOG_PULL_SECONDS": str(PULL_SECONDS),
            **{f"DNSLOG_{name.upper()}": str(value) for name, value in settings.items()},
        }
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [sys.executable, "-m", "gunicorn", "-w", str(WORKERS), "--threads", "4"]
        command += ["-b", f"127.0.0.1:{self.port}", "--log-file", f"{self._folder}/gunicorn.log"]
        command += ["fairlane_dnslog:create_app()"]
        with (self._folder / "output.log").open("ab") as output:
            self._process = subprocess.Popen(
                command, env=self._environment, stdout=output, stderr=output,
                start_new_session=True,
            )  # fmt: skip

    def pids(self) -> list[int]:
        assert self._process is not None
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children")
        return [int(pid) for pid in children.read_text().split()]

    @property
    def is_alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def stop(self) -> None:
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """Kill gunicorn and its workers."""
        assert self._process is not None
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


@contextmanager
def server_of(kind: Kind) -> Iterator[Server | None]:
    if kind == "sqlite":
        yield None
        return
    with running_postgres() as server:
        yield server


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def is_listening(port: int) -> bool:
    with socket.socket() as found:
        return found.connect_ex(("127.0.0.1", port)) == 0


def eventually(holds: Callable[[], bool], what: str, *, pause_seconds: float = 0.1) -> None:
    until = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        if time.monotonic() > until:
            raise TimeoutError(f"not within {PATIENCE_SECONDS:.0f} s: {what}")
        time.sleep(pause_seconds)
