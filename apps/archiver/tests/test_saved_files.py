"""The saved files of an account, and their layout."""

import hashlib
import json

from apps.archiver.tests.archiver import Archiver
from apps.archiver.tests.mastodon_server import MastodonServer


def _pages(server: MastodonServer, account: str) -> list[dict[str, str]]:
    return [r.query for r in server.of(account) if r.path.endswith("/statuses")]


def test_everything_is_saved_through_all_pages_and_never_twice(
    archiver: Archiver, server: MastodonServer
) -> None:
    account = server.name("ann")
    for number in range(95):
        server.post("ann", f"{number}.jpg")
    counts = archiver.archived(account)
    assert (counts["downloaded"], counts["failed"], counts["page"]) == (95, 0, 3)
    saved = archiver.files("ann")
    expected = [body for path, body in server.files.items() if path.startswith("/media/ann/")]
    assert sorted(saved.values()) == sorted(expected)
    assert counts["bytes"] == sum(map(len, saved.values()))
    newest = server.accounts["ann"].statuses
    cursors = [page.get("max_id") for page in _pages(server, "ann")]
    assert cursors == [None, str(newest[55].id), str(newest[15].id)]

    again = archiver.done(archiver.start(account))
    assert (again["downloaded"], again["skipped"]) == (0, 95)
    assert all(len(server.asked(path)) == 1 for path in server.files if "/ann/" in path)


def test_continue_goes_on_at_the_cursor_and_later_looks_only_at_what_is_new(
    archiver: Archiver, server: MastodonServer
) -> None:
    account = server.name("ben")
    for number in range(60):
        server.post("ben", f"{number}a.jpg", f"{number}b.jpg")
    archiver.save(account, most=15)
    first = archiver.done(archiver.start(account))
    assert first["downloaded"] == 15
    cursor = archiver.row(account)["checkpoint"]["cursor"]
    assert cursor == str(server.accounts["ben"].statuses[-7].id)  # the eighth is half saved
    second = archiver.done(archiver.go_on(account))
    assert (second["downloaded"], second["skipped"]) == (15, 1)
    assert _pages(server, "ben")[-1]["max_id"] == cursor
    archiver.save(account)
    rest = archiver.done(archiver.go_on(account))
    assert rest["downloaded"] == 90
    assert archiver.row(account)["checkpoint"]["complete"]

    newest = server.accounts["ben"].statuses[-1].id
    server.post("ben", "new.jpg")
    fresh = archiver.done(archiver.go_on(account))
    assert (fresh["downloaded"], fresh["skipped"], fresh["page"]) == (1, 0, 1)
    assert _pages(server, "ben")[-1]["since_id"] == str(newest)
    assert all(len(server.asked(path)) == 1 for path in server.files if "/ben/" in path)


def test_filters_say_what_is_wanted(archiver: Archiver, server: MastodonServer) -> None:
    server.post("cat", "old.jpg", day=0)
    server.post("cat", "movie.mp4", day=10, type="video")
    server.post("cat", "loop.mp4", day=11, type="gifv")
    server.post("cat", "reply.jpg", day=12, reply=True)
    server.post("cat", "boosted.jpg", day=13, boost=True)
    server.post("cat", "small.jpg", day=14, body=b"tiny")
    server.post("cat", "big.jpg", day=15, body=b"x" * 5_000)
    server.post("cat", "late.jpg", day=300, body=b"y" * 5_000)
    account = server.name("cat")

    def wanted(**filters: object) -> set[str]:
        before = set(archiver.files("cat"))
        counts = archiver.archived(account, **filters)
        fresh = set(archiver.files("cat")) - before
        assert counts["downloaded"] == len(fresh)
        return {name.rpartition("-")[2] for name in fresh}

    assert wanted(kinds=["video"]) == {"movie.mp4", "loop.mp4"}
    assert wanted(kinds=["image"], min_bytes=1_000, until="2024-02-01") == {"big.jpg"}
    assert wanted(since="2024-01-13", until="2024-01-31", replies=False) == {"small.jpg"}
    assert wanted(since="2024-01-13", until="2024-01-31") == {"reply.jpg"}
    assert wanted(boosts=True, until="2024-01-31") == {"boosted.jpg", "old.jpg"}
    assert archiver.archived(account, kinds=["audio"])["filtered"] == 7
    assert wanted() == {"late.jpg"}


def test_a_post_without_a_zone_is_of_utc_and_the_last_of_all_days_is_a_day(
    archiver: Archiver, server: MastodonServer
) -> None:
    server.post("zone", "a.jpg", day=3)
    [status] = server.accounts["zone"].statuses
    status.created_at = status.created_at.replace(tzinfo=None)
    account = server.name("zone")
    assert archiver.archived(account, until="2024-01-03")["filtered"] == 1
    counts = archiver.archived(account, since="2024-01-04", until="9999-12-31")
    assert counts["downloaded"] == 1


def test_beside_each_file_lies_where_it_is_from(archiver: Archiver, server: MastodonServer) -> None:
    [path] = server.post("dan", "photo.jpg", body=b"pixels" * 100)
    archiver.archived(server.name("dan"))
    [(name, body)] = archiver.files("dan").items()
    assert name == f"20240101-{server.accounts['dan'].statuses[0].id}-photo.jpg"
    [sidecar] = archiver.folder.glob(f"files/*dan*/{name}.json")
    told = json.loads(sidecar.read_bytes())
    assert told["account"] == server.name("dan")
    assert told["media"]["url"] == server.url + path
    assert told["media"]["about"] == {"description": "seen"}
    assert told["sha256"] == hashlib.sha256(body).hexdigest()
    assert told["post"]["posted_at"] == "2024-01-01T12:00:00Z"
