"""The example under gunicorn with four workers: requests succeed when the leader is killed."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.support.eventually import eventually_sync

WORKERS = 4


class Site:
    def __init__(self, port: int) -> None:
        self._base = f"http://127.0.0.1:{port}"

    def ask(self, path: str, *, method: str = "GET") -> Any:
        request = urllib.request.Request(self._base + path, method=method)  # noqa: S310
        with urllib.request.urlopen(request, timeout=20) as answer:  # noqa: S310
            return json.load(answer)

    def asked(self, path: str) -> Any:
        try:
            return self.ask(path)
        except OSError:
            return None

    def submit(self, number: int) -> str:
        return str(self.ask(f"/downloads?account=a{number % 7}", method="POST")["id"])

    def is_done(self, id: str) -> bool:
        return bool(self.ask(f"/downloads/{id}")["state"] == "completed")

    def leader(self) -> int:
        """Return the id of the process that leads."""
        named = re.search(r"process (\d+)", self.ask("/")["leader"] or "")
        return int(named[1]) if named else 0


@pytest.fixture
def site(postgres_dsn: str, repository: Path) -> Iterator[Site]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        sys.executable, "-m", "gunicorn", "-w", str(WORKERS), "--threads", "4",
        "-b", f"127.0.0.1:{port}", "--log-level", "warning", "examples.flask_app:web",
    ]  # fmt: skip
    environment = {**os.environ, "FAIRLANE_DATABASE": postgres_dsn}
    server = subprocess.Popen(command, cwd=repository, env=environment)
    try:
        site = Site(port)
        eventually_sync(lambda: site.asked("/"), within_seconds=40, what="gunicorn")
        yield site
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(40)


@pytest.mark.timeout(180)
def test_all_requests_and_jobs_succeed_when_the_leader_is_killed(site: Site) -> None:
    with ThreadPoolExecutor(8) as users:
        before = list(users.map(site.submit, range(20)))
        leader = site.leader()
        os.kill(leader, signal.SIGKILL)
        after = list(users.map(_until_answered(site), range(20, 40)))
        eventually_sync(
            lambda: all(users.map(site.is_done, after)), within_seconds=60, what="what came after"
        )
        eventually_sync(
            lambda: all(users.map(site.is_done, before)), within_seconds=60, what="what came before"
        )
    assert site.leader() not in (0, leader)
    results = [site.ask(f"/downloads/{id}")["result"]["process"] for id in (*before, *after)]
    assert len(set(results)) > 1


def _until_answered(site: Site) -> Any:
    """Return a function that repeats a request until it is answered, as a proxy does."""

    def submit(number: int) -> str:
        return str(eventually_sync(lambda: _submitted(site, number), within_seconds=30))

    return submit


def _submitted(site: Site, number: int) -> str | None:
    try:
        return site.submit(number)
    except urllib.error.HTTPError:
        raise  # a live process answers without an error
    except (ConnectionError, urllib.error.URLError):
        return None
