"""The console beside the pages: an open stream ends with the login behind it."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from apps.dnslog.tests.web_site import open_site
from fairlane_dnslog import console_gate
from fairlane_dnslog.console_gate import ConsoleGate


async def never() -> Any:
    await asyncio.Event().wait()


async def test_a_stream_ends_after_the_logout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console_gate, "RECHECK_SECONDS", 0.01)
    with open_site(tmp_path) as site:
        person = site.person()
        cookie = person.client.get_cookie("dnslog_session")
        assert cookie is not None
        gate = ConsoleGate(site.app, site.program.app)
        scope = {
            "type": "http",
            "method": "GET",
            "path": "/queue/api/events",
            "http_version": "1.1",
            "headers": [
                (b"host", b"localhost"), (b"cookie", f"dnslog_session={cookie.value}".encode())
            ],
        }  # fmt: skip
        reading = asyncio.ensure_future(gate._while_allowed(scope, never)())
        await asyncio.sleep(0.2)
        assert not reading.done()
        person.post("/logout")
        assert (await asyncio.wait_for(reading, 30))["type"] == "http.disconnect"
