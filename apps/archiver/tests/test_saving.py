"""What is saved of an account, and how it lies there."""

import hashlib
import json

from apps.archiver.tests.archiver import Archiver
from apps.archiver.tests.mastodon_server import MastodonServer


def test_everything_is_saved_through_all_pages(archiver: Archiver, server: MastodonServer) -> None:
    for number in range(95):
        server.post("ann", f"{number}.jpg")
    counts = archiver.archived(server.name("ann"))
    assert (counts["downloaded"], counts["failed"], counts["page"]) == (95, 0, 3)
    saved = archiver.files("ann")
    assert sorted(saved.values()) == sorted(
        body for path, body in server.files.items() if path.startswith("/media/ann/")
    )
    assert counts["bytes"] == sum(map(len, saved.values()))
    pages = [r.query.get("max_id") for r in server.of("ann") if r.path.endswith("/statuses")]
    assert pages == [None, str(100_000 + 55), str(100_000 + 15)]
    assert archiver.parts() == []
