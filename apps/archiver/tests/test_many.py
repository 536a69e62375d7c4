"""Twenty accounts of five hundred files each, and a limit that changes meanwhile."""

from itertools import pairwise
from pathlib import Path

import pytest

from apps.archiver.tests.archiver import archiving
from apps.archiver.tests.mastodon_server import MastodonServer, Request
from tests.support.eventually import eventually_sync

ACCOUNTS = 20
POSTS, FILES = 125, 4


@pytest.mark.timeout(240)
def test_never_more_accounts_than_allowed_and_never_two_jobs_on_one(
    tmp_path: Path, server: MastodonServer
) -> None:
    names = [f"many{number:02}" for number in range(ACCOUNTS)]
    for name in names:
        for number in range(POSTS):
            server.post(name, *(f"{number}-{n}.jpg" for n in range(FILES)))

    with archiving(tmp_path, server, at_once=4) as archiver:

        def begun() -> int:
            return len({r.account for r in list(server.journal) if r.account in names})

        def running() -> int:
            return len(archiver.ask("GET", "/api/jobs", params={"state": "running"})["items"])

        jobs = []
        for name in names:
            archiver.save(server.name(name))
            jobs.append(archiver.start(server.name(name)))
            archiver.start(server.name(name), status=409)
        eventually_sync(lambda: begun() >= 5, within_seconds=60, what="the fifth account")
        archiver.limit(5)
        raised = len(server.journal)
        eventually_sync(lambda: begun() >= 10, within_seconds=60, what="the tenth account")
        archiver.limit(2)
        lowered = len(server.journal)
        eventually_sync(lambda: running() <= 2, within_seconds=60, what="only two")
        settled = len(server.journal)
        for job in jobs:
            counts = archiver.ended(job, within_seconds=120)["statistics"]
            assert (counts["downloaded"], counts["failed"]) == (POSTS * FILES, 0)
        assert archiver.parts() == []
        saved = sum(
            path.suffix == ".jpg" for path in (tmp_path / "files").rglob("*") if path.is_file()
        )
        assert saved == ACCOUNTS * POSTS * FILES

    journal = [r for r in server.journal if r.account in names]
    line = {id(request): n for n, request in enumerate(server.journal)}

    def at_a_time(first: int, last: int) -> int:
        """Return how many accounts were at work at once between two lines of the journal."""
        part = [r for r in journal if first <= line[id(r)] < last]
        return most_at_once(journal, {id(r) for r in part})

    assert at_a_time(0, raised) == 3
    assert at_a_time(raised, lowered) == 5
    assert at_a_time(lowered, settled) <= 5
    assert at_a_time(settled, len(server.journal)) == 2
    for name in names:
        lookups = [r for r in journal if r.account == name and r.path.endswith("/lookup")]
        assert len(lookups) == 1
        pages = [r for r in journal if r.account == name and r.path.endswith("/statuses")]
        assert len(pages) == 4
        assert all((a.ended_at or 0) <= b.began_at for a, b in pairwise([*lookups, *pages]))
        asked = [r.path for r in journal if r.account == name and r.path.startswith("/media/")]
        assert len(asked) == len(set(asked)) == POSTS * FILES


def most_at_once(journal: list[Request], within: set[int]) -> int:
    """Count accounts as at work from their first request to the end of their last."""
    spans: dict[str, tuple[float, float]] = {}
    for request in journal:
        began, ended = spans.get(request.account, (request.began_at, 0.0))
        spans[request.account] = (began, max(ended, request.ended_at or ended))
    instants = [request.began_at for request in journal if id(request) in within]
    ordered = sorted(
        [(began, 1) for began, _ in spans.values()] + [(ended, -1) for _, ended in spans.values()]
    )
    most = now = place = 0
    for instant in sorted(instants):
        while place < len(ordered) and ordered[place][0] <= instant:
            now += ordered[place][1]
            place += 1
        most = max(most, now)
    return most
