"""Three accounts run at a time by default, the next ones in the order of submission."""

from apps.archiver.tests.archiver import Archiver, soon
from apps.archiver.tests.mastodon_server import MastodonServer


def test_slots_fill_in_the_order_of_arrival_and_follow_the_limit(
    archiver: Archiver, server: MastodonServer
) -> None:
    """The limit is raised and lowered meanwhile; running accounts are not interrupted."""
    names = [f"order{number}" for number in range(9)]
    jobs = {}
    for name in names:
        server.hold(name)
        archiver.save(server.name(name))
        jobs[name] = archiver.start(server.name(name))

    def running() -> list[str]:
        page = archiver.ask("GET", "/api/jobs", params={"state": "running", "queue": "archive"})
        return sorted(job["lane"].rpartition("@")[2] for job in page["items"])

    def settles_at(*expected: str) -> None:
        soon(lambda: running() == sorted(expected), what=f"running {expected}")

    settles_at(*names[:3])
    assert [archiver.row(server.name(n))["state"] for n in names[3:]] == ["queued"] * 6
    archiver.limit(5)  # the head of the line fills the new slots at once
    settles_at(*names[:5])
    archiver.limit(2)  # running accounts are not interrupted
    assert running() == names[:5]
    for ended in range(3):  # down to two, and no new account has begun
        server.open(names[ended])
        archiver.done(jobs[names[ended]])
        assert running() == names[ended + 1 : 5]
    server.open(names[3])
    archiver.done(jobs[names[3]])
    settles_at(names[4], names[5])
    for name in names:
        server.open(name)
    began = [archiver.ended(jobs[name])["started_at"] for name in names]
    assert began == sorted(began)
    archiver.limit(None)
