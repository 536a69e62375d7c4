"""Twenty accounts of five hundred files each, and a limit that changes meanwhile."""

import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from apps.archiver.tests.archiver import archiving, soon
from apps.archiver.tests.mastodon_server import MastodonServer, Request

ACCOUNTS = 20
POSTS, FILES = 125, 4


def test_never_more_accounts_than_allowed_and_never_two_jobs_on_one(
    tmp_path: Path, server: MastodonServer
) -> None:
    names = [f"many{number:02}" for number in range(ACCOUNTS)]
    for name in names:
        for number in range(POSTS):
            server.post(name, *(f"{number}-{n}.jpg" for n in range(FILES)))

    def begun(count: int) -> None:
        """Return once so many accounts have been asked for."""
        soon(
            lambda: sum(name in server.visited for name in names) >= count,
            within_seconds=120,
            what=f"{count} accounts",
        )

    files = ACCOUNTS * POSTS * FILES
    with removed_at_the_end(tmp_path), archiving(tmp_path, server) as archiver:
        jobs = []
        for name in names:
            archiver.save(server.name(name))
            jobs.append(archiver.start(server.name(name)))
            archiver.start(server.name(name), status=409)
        begun(5)
        raised = len(server.journal)
        archiver.limit(5)
        begun(10)
        archiver.limit(2)
        lowered = len(server.journal)
        page = archiver.ask("GET", "/api/jobs", params={"state": "running"})
        excused = {job["lane"].rpartition("@")[2] for job in page["items"]}
        soon(lambda: len(server.journal) >= files, within_seconds=120, what="every file asked for")
        for job in jobs:
            counts = archiver.ended(job, within_seconds=60)["statistics"]
            assert (counts["downloaded"], counts["failed"]) == (POSTS * FILES, 0)
        assert archiver.parts() == []
        names_saved = [path.name for path in (tmp_path / "files").rglob("*.jpg")]
        assert len(names_saved) == files

    journal = [request for request in server.journal if request.account in names]
    crowds = crowds_of(journal)
    early = [name for name in names if server.visited[name] < raised]
    # An account that runs when the limit is lowered may not have sent a request yet.
    late = [name for name in names if server.visited[name] >= lowered and name not in excused]
    between = [name for name in names if name not in early and name not in late]
    assert max(crowds[name] for name in early) == 3
    assert max(crowds[name] for name in between) == 5
    assert max(crowds[name] for name in late) == 2
    assert len(late) >= 8
    for name in names:
        own = [request for request in journal if request.account == name]
        paths = Counter(request.path.rpartition("/")[2] for request in own)
        assert (paths["lookup"], paths["statuses"]) == (1, 4)  # one job, and its four pages
        asked = [request.path for request in own if request.path.startswith("/media/")]
        assert len(asked) == len(set(asked)) == POSTS * FILES


@contextmanager
def removed_at_the_end(folder: Path) -> Iterator[None]:
    """Remove the tens of thousands of files that pytest would keep."""
    try:
        yield
    finally:
        shutil.rmtree(folder)


def crowds_of(journal: list[Request]) -> dict[str, int]:
    """Return how many accounts were active when each began, including itself.

    An account is active from its first request to the end of its last.
    """
    began: dict[str, float] = {}
    ended: dict[str, float] = {}
    for request in journal:
        began.setdefault(request.account, request.began_at)
        ended[request.account] = max(ended.get(request.account, 0.0), request.ended_at or 0.0)
    return {
        account: sum(began[other] <= at < ended[other] for other in began)
        for account, at in began.items()
    }
