"""`fairlane-dnslog demo`: everything on the traffic of a household, and gone afterwards."""

import signal
from pathlib import Path

import httpx

from apps.dnslog.tests.terminal_program import log_in, running
from tests.support.eventually import eventually_sync


def test_the_demo_shows_a_household_and_leaves_nothing_behind(tmp_path: Path) -> None:
    with running(tmp_path, "demo", "--port", "0") as program:
        with httpx.Client(base_url=program.url) as client:
            name = program.find("log in as (.+) with")
            assert log_in(client, name, program.find("with the password (.+)")) == 303
            eventually_sync(lambda: "192.168.178." in client.get("/log").text, within_seconds=60)
            assert "No AI services on school days" in client.get("/rules").text
            assert client.get("/queue/").status_code == 200
        assert list(tmp_path.iterdir())
        assert program.stop(signal.SIGINT) == 0
    assert program.output[-1] == "stopped; the folder of the demonstration is removed"
    assert list(tmp_path.iterdir()) == []
