"""A program that is killed during downloads, and its state after a restart."""

import os
import signal
from contextlib import suppress
from pathlib import Path

import apsw

from apps.archiver.tests.archiver import archiving, soon
from apps.archiver.tests.mastodon_server import Exchange, MastodonServer

KIB = 1024


def test_after_three_kills_nothing_is_missing_and_nothing_whole_was_fetched_twice(
    tmp_path: Path, server: MastodonServer
) -> None:
    """It resumes automatically each time, and its counts include all starts."""
    account = server.name("killed")
    bodies = {}
    large: list[str] = []
    for number in range(60):
        is_large = number in (10, 50)
        body = os.urandom(900 * KIB) if is_large else os.urandom(100)
        [path] = server.post("killed", f"{number}.bin", body=body)
        bodies[path] = body
        if is_large:
            large.insert(0, path)  # the newest comes first

    def stops_at(path: str, *sizes: int) -> None:
        """Send the first part of a file for its first requests, and then hang."""

        async def handler(exchange: Exchange) -> None:
            number = exchange.request.number
            if number <= len(sizes):
                await server.file(exchange, bodies[path], until=sizes[number - 1])
                await server.wait("never")
            else:
                await server.file(exchange, bodies[path])

        server.handlers[path] = handler

    # Of a file of 900 KiB, in portions of 256 KiB and a little.
    stops_at(large[0], 600 * KIB, 890 * KIB)
    stops_at(large[1], 300 * KIB)

    def part() -> int:
        """Return the size of the only part file that stays."""
        size = 0
        for path in tmp_path.rglob("*.part"):
            with suppress(FileNotFoundError):
                size += path.stat().st_size
        return size

    with archiving(tmp_path, server, at_once=3) as archiver:
        archiver.save(account)
        job = archiver.start(account)
        # 40 per page: all files of the first page but its large one are saved, and then it hangs.
        soon(lambda: len(archiver.files("killed")) == 39, what="39 files")
        soon(lambda: part() >= 500 * KIB, what="the part of a large one")
        assert archiver.served.stop(signal.SIGKILL) == -signal.SIGKILL
    first = part()
    before = len(server.journal)
    with archiving(tmp_path, server, at_once=3) as archiver:
        # Moved to the front of the queue, it resumes by range; the server hangs once more.
        soon(lambda: len(server.asked(large[0])) == 2, what="a request for the rest")
        assert archiver.job(job["id"])["crashes"] == 1
        soon(lambda: part() > first, what="more of it")
        assert archiver.served.stop(signal.SIGKILL) == -signal.SIGKILL
    second = part()
    with archiving(tmp_path, server, at_once=3) as archiver:
        soon(lambda: len(server.asked(large[1])) == 1, what="the other large one")
        soon(lambda: part() >= 256 * KIB, what="a part of it")
        soon(lambda: len(archiver.files("killed")) == 59, what="all others")
        assert archiver.served.stop(signal.SIGKILL) == -signal.SIGKILL
    third = part()
    with archiving(tmp_path, server, at_once=3) as archiver:
        counts = archiver.done(job)
        assert archiver.job(job["id"])["crashes"] == 3
        told = [counts[name] for name in ("downloaded", "skipped", "failed", "page")]
        assert told == [60, 0, 0, 2]
        assert sorted(archiver.files("killed").values()) == sorted(bodies.values())
        assert archiver.parts() == []
    assert before < len(server.journal)
    for path in bodies:
        asked = server.asked(path)
        if path in large:
            assert [request.status for request in asked] == [200] + [206] * (len(asked) - 1)
        else:
            assert len(asked) == 1, path
    assert [r.range_from for r in server.asked(large[0])] == [None, first, second]
    assert [r.range_from for r in server.asked(large[1])] == [None, third]


def test_a_program_that_is_asked_to_end_goes_on_with_its_parts_when_it_is_back(
    tmp_path: Path, server: MastodonServer
) -> None:
    account = server.name("ended")
    path = server.hold("ended", size=600 * KIB, sent=300 * KIB)
    with archiving(tmp_path, server) as archiver:
        archiver.save(account)
        job = archiver.start(account)
        soon(archiver.parts, what="a part")
        assert archiver.served.stop(signal.SIGTERM) == 0
        [part] = archiver.parts()
        size = part.stat().st_size
    with archiving(tmp_path, server) as archiver:
        assert archiver.done(job)["downloaded"] == 1
        assert archiver.parts() == []
    assert [r.range_from for r in server.asked(path)] == [None, size]


def test_a_file_that_was_placed_and_not_written_down_before_a_kill_counts_once(
    tmp_path: Path, server: MastodonServer
) -> None:
    account = server.name("unwritten")
    [small] = server.post("unwritten", "small.bin", body=b"pixels")
    server.hold("unwritten", size=600 * KIB, sent=300 * KIB)
    with archiving(tmp_path, server) as archiver:
        archiver.save(account)
        job = archiver.start(account)
        soon(lambda: len(archiver.files("unwritten")) == 1, what="the small one")
        soon(archiver.parts, what="a part of the large one")
        assert archiver.served.stop(signal.SIGKILL) == -signal.SIGKILL
    [index] = tmp_path.rglob("index.db")
    # As if it had died between the rename of the file and the update of the index.
    connection = apsw.Connection(str(index))
    connection.execute(
        "UPDATE item SET state = 'part', bytes = NULL, sha256 = NULL WHERE name LIKE '%small%'"
    )
    assert connection.changes() == 1
    connection.close()
    with archiving(tmp_path, server) as archiver:
        counts = archiver.done(job)
        assert (counts["downloaded"], counts["skipped"]) == (2, 0)
        assert counts["bytes"] == sum(map(len, archiver.files("unwritten").values()))
    assert len(server.asked(small)) == 1
