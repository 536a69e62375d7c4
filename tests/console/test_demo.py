"""`make run`: alive when it prints its address, gone without a trace when it is told to end."""

import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import httpx

from tests.support.eventually import eventually_sync


def test_the_demo_is_alive_when_it_says_so_and_ends_cleanly(repository: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "examples/demo.py", "--port", "0", "--no-browser"],
        cwd=repository,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        address = re.search(r"http://[\d.:]+", process.stdout.readline())
        assert address is not None
        with httpx.Client(base_url=address[0]) as client:
            seen: set[str] = set()

            def is_lively() -> bool:
                state: Any = client.get("/api/state").json()
                waiting = [job for jobs in state["waiting"].values() for job in jobs]
                seen.update(f"{job['queue']} {job['state']}" for job in state["running"] + waiting)
                return seen >= {
                    "archive running", "downloads running", "compress running", "compress queued",
                    "transcripts blocked", "reports blocked", "reports scheduled",
                    "screens running",
                }  # fmt: skip

            eventually_sync(is_lively, what="a lively demo")
            failed = client.get("/api/jobs", params={"state": "failed"}).json()
            assert failed["items"]
            past = client.get("/api/jobs", params={"state": "completed", "limit": 100}).json()
            assert len(past["items"]) > 50, "there is no past to look at"
            forecast = client.get("/api/forecast", params={"queue": "downloads"}).json()
            assert all(item["starts_at"] for item in forecast["items"])
    finally:
        process.send_signal(signal.SIGTERM)
        said, complaints = process.communicate(timeout=20)
    assert process.returncode == 0
    assert said.endswith("Stopped.\n")
    assert complaints == ""
    assert not (Path(tempfile.gettempdir()) / f"fairlane-demo-{process.pid}").exists()
