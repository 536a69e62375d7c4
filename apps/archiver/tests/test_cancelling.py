"""Cancelling: a queued run leaves no trace, a running one no part files."""

import json
from pathlib import Path

import pytest

from apps.archiver.tests.archiver import Archiver, soon
from apps.archiver.tests.mastodon_server import Exchange, MastodonServer

MIB = 1024 * 1024


def contents(folder: Path) -> list[Path]:
    """Return all files except the databases, which the server writes at any time."""
    return sorted(path for path in folder.rglob("*") if ".db" not in path.name)


def test_a_queued_run_goes_back_to_idle_and_touches_nothing(
    archiver: Archiver, server: MastodonServer
) -> None:
    account = server.name("waiting")
    server.post("waiting", "a.jpg")
    archiver.save(account)
    before = contents(archiver.folder)
    archiver.limit(0)
    job = archiver.start(account)
    archiver.cancel(account)
    assert archiver.row(account)["state"] == "idle"
    archiver.limit(None)
    row = archiver.row(account)
    assert (row["state"], row["last_job"], row["checkpoint"]) == ("idle", None, None)
    assert archiver.job(job["id"])["state"] == "cancelled"
    assert contents(archiver.folder) == before
    assert server.of("waiting") == []
    archiver.save(account, most=1)


@pytest.mark.parametrize("outputs", ["keep", "delete"])
def test_a_running_one_stops_and_keeps_or_deletes_what_it_saved(
    archiver: Archiver, server: MastodonServer, outputs: str
) -> None:
    name = f"stopped{outputs}"
    account = server.name(name)
    server.post(name, "old.jpg")
    archiver.archived(account)
    held = server.hold(name, size=2 * MIB, sent=MIB)  # the newest, whose download never ends
    server.post(name, "1.jpg", "2.jpg", "3.jpg")
    job = archiver.go_on(account)
    soon(lambda: len(archiver.files(name)) == 4, what="three new files")
    soon(archiver.parts, what="a part file")
    newest = archiver.newest_event()
    assert archiver.cancel(account, outputs=outputs)["stopping"]
    told = archiver.events(job, after=newest, until='"cancelled"')
    # Would be reported after two seconds.
    assert "job_stuck" not in {event["type"] for event in told}
    assert [part for part in archiver.parts() if name in str(part)] == []
    left = 4 if outputs == "keep" else 1
    soon(lambda: len(archiver.files(name)) == left, what=f"{left} files")
    sidecars = f"files/*{name}*/*.json"
    soon(lambda: len(list(archiver.folder.glob(sidecars))) == left, what="as many notes")

    server.open(name)
    counts = archiver.done(archiver.go_on(account))
    assert len(archiver.files(name)) == 5
    assert (counts["downloaded"], counts["failed"]) == (5 - left, 0)
    assert [r.range_from for r in server.asked(held)] == [None, None]  # its part was removed
    assert archiver.parts() == []


def test_what_earlier_runs_saved_is_never_deleted(
    archiver: Archiver, server: MastodonServer
) -> None:
    """Files also stay if a user removed the records of runs."""
    account = server.name("twice")
    server.post("twice", "a.jpg")
    first = archiver.start(account) if archiver.save(account) else None
    archiver.done(first)
    record = archiver.folder / "runs" / f"{first['id']}.json"  # type: ignore[index]
    assert json.loads(record.read_bytes())["account"] == account
    record.unlink()
    server.hold("twice")
    second = archiver.start(account)
    archiver.running(second)
    archiver.cancel(account, outputs="delete")
    archiver.ended(second)
    server.post("twice", "b.jpg")
    server.open("twice")
    archiver.done(archiver.start(account))
    assert len(archiver.files("twice")) == 3


def test_a_run_that_waits_for_its_next_try_is_undone_as_well(
    archiver: Archiver, server: MastodonServer
) -> None:
    """At that moment no process runs it, so no process could be told to stop."""
    account = server.name("retrying")
    for number in range(45):
        server.post("retrying", f"{number}.jpg")
    id = server.accounts["retrying"].id
    path = f"/api/v1/accounts/{id}/statuses"

    async def fails_after_a_page(exchange: Exchange) -> None:
        if "max_id" in exchange.request.query:
            await exchange.answer(500)
        else:
            await server.statuses(exchange, id)

    server.handlers[path] = fails_after_a_page
    archiver.save(account)
    job = archiver.start(account)
    soon(lambda: archiver.job(job["id"])["state"] == "retrying", what="a failed try")
    assert archiver.row(account)["state"] == "queued"
    assert len(archiver.files("retrying")) == 40
    archiver.cancel(account, outputs="delete")
    soon(lambda: archiver.files("retrying") == {}, what="an empty folder")
    del server.handlers[path]
    assert archiver.done(archiver.go_on(account))["downloaded"] == 45


@pytest.mark.parametrize("outputs", ["keep", "delete"])
def test_what_failed_earlier_is_still_tried_again_after_a_cancel(
    archiver: Archiver, server: MastodonServer, outputs: str
) -> None:
    """Its page is before the cursor, so only the index knows it."""
    name = f"owed{outputs}"
    account = server.name(name)
    held = server.hold(name)
    answers = server.handlers[held]

    async def fails(exchange: Exchange) -> None:
        await exchange.answer(500)

    async def hangs(exchange: Exchange) -> None:
        await server.wait("never")

    server.handlers[held] = fails
    assert archiver.archived(account)["failed"] == 1
    server.handlers[held] = hangs
    asked = len(server.asked(held))
    job = archiver.go_on(account)
    soon(lambda: len(server.asked(held)) > asked, what="another try")
    archiver.cancel(account, outputs=outputs)
    assert archiver.ended(job)["state"] == "cancelled"
    server.handlers[held] = answers
    assert archiver.done(archiver.go_on(account))["downloaded"] == 1
    assert archiver.parts() == []
