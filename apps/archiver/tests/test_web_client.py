"""Pages of the web that may never end."""

from pathlib import Path

import pytest

from apps.archiver.tests.mastodon_server import Exchange, MastodonServer
from fairlane import Retryable
from fairlane_archiver import web_client
from fairlane_archiver.network import Allowed, guarded_client
from fairlane_archiver.request_pace import RequestPace
from fairlane_archiver.settings import Settings
from fairlane_archiver.web_client import WebClient


async def test_a_page_that_takes_too_long_says_so(
    server: MastodonServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never_ends(exchange: Exchange) -> None:
        await exchange.head(200, {"Content-Length": 100})
        await server.wait("never")

    server.handlers["/endless"] = never_ends
    monkeypatch.setattr(web_client, "PAGE_SECONDS", 0.05)
    settings = Settings(folder=tmp_path, tries=1, longest_wait_seconds=0)
    async with guarded_client(Allowed([server.host]), stall_seconds=60, at_once=1) as client:
        asking = WebClient(
            client, RequestPace(longest_wait_seconds=0), settings, on_wait=lambda *_: None
        )
        with pytest.raises(Retryable, match="/endless did not come to its end in time"):
            await asking.read(f"{server.url}/endless")
