"""`fairlane-archive` from a terminal, with a running server."""

import asyncio
import json
from pathlib import Path

import pytest

from apps.archiver.tests.archiver import PATIENCE_SECONDS, Archiver, typed, typed_in_a_terminal
from apps.archiver.tests.mastodon_server import MastodonServer
from fairlane import Fairlane
from fairlane_archiver.archive import Archive
from fairlane_archiver.commands import main
from fairlane_archiver.program import build
from fairlane_archiver.rows import Rows
from fairlane_archiver.settings import Settings
from fairlane_archiver.sources import canonical_name
from fairlane_archiver.start_runs import StartRuns


def test_accounts_are_added_run_shown_copied_and_removed(
    archiver: Archiver, server: MastodonServer
) -> None:
    account, other = server.name("typed"), server.name("typedtoo")
    server.post("typed", "a.jpg", day=20)
    server.post("typed", "old.jpg")
    server.post("typedtoo", "b.jpg", day=20)
    folder = archiver.folder

    added = typed(folder, "add", account, "--since", "2024-01-15", "--kinds", "image,video")
    assert added.splitlines()[1].split()[:2] == [account, "idle"]
    [copied] = json.loads(typed(folder, "copy", account, other, "--json"))
    assert (copied["filters"]["since"], copied["filters"]["account"]) == ("2024-01-15", other)
    rows = json.loads(typed(folder, "start", account, other, "--wait", "--json"))
    row = next(row for row in rows if row["account"] == account)
    assert (row["state"], row["counts"]["downloaded"], row["counts"]["filtered"]) == ("done", 1, 1)

    server.post("typed", "new.jpg", day=21)
    shown = typed(folder, "continue", account, "--wait").splitlines()
    assert shown[1].split()[:3] == [account, "done", "1"]
    typed(folder, "remove", other)
    left = typed_in_a_terminal(folder, "status")
    assert account in left
    assert other not in left


def test_what_is_refused_is_one_sentence_and_a_code(
    archiver: Archiver, server: MastodonServer
) -> None:
    account = server.name("typedbusy")
    server.hold("typedbusy")
    folder = archiver.folder
    archiver.save(account)
    job = archiver.start(account)
    archiver.running(job)
    assert job["id"] in typed(folder, "start", account, code=4)
    assert typed(folder, "add", account, "--most", "3", code=4).count("\n") == 1
    stopped = typed(folder, "cancel", account, "--outputs", "delete")
    assert stopped.splitlines()[1].split()[:2] == [account, "cancelled"]
    unknown = typed(folder, "start", "@nobody@nowhere.example", code=3)
    assert "is not in the archive" in unknown
    assert "is not an account" in typed(folder, "add", "nonsense", code=2)


def test_files_that_could_not_be_saved_stay_in_sight_until_they_are(
    archiver: Archiver, server: MastodonServer
) -> None:
    account, folder = server.name("patchy"), archiver.folder
    server.post("patchy", "good.jpg")
    [gone] = server.post("patchy", "gone.jpg")
    body = server.files.pop(gone)
    typed(folder, "add", account)
    said = typed(folder, "start", account, "--wait", code=1)
    assert "1 file is not saved" in said
    [row] = json.loads(typed(folder, "continue", account, "--wait", "--json"))  # no new posts
    assert (row["counts"]["downloaded"], row["counts"]["failed"]) == (0, 0)
    assert (row["files"], row["missing"]) == (1, 1)
    named = typed(folder, "status", account)
    assert "gone.jpg: 127.0.0.1 answered 404" in named
    assert f"{account}: all kinds; with replies" in named
    server.files[gone] = body
    [row] = json.loads(typed(folder, "start", account, "--wait", "--json"))
    assert (row["files"], row["missing"], row["missing_files"]) == (2, 0, [])


def test_who_waits_sees_the_counts_and_may_go_away(
    archiver: Archiver, server: MastodonServer, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    account = server.name("watched")
    server.post("watched", "a.jpg")
    server.hold("watched")
    archiver.save(account)
    monkeypatch.setattr("fairlane_archiver.follow.REPORT_SECONDS", 0.0)
    monkeypatch.setattr("fairlane_archiver.follow.POLL_SECONDS", 0.02)

    async def watch() -> None:
        archive = Archive(Settings(folder=archiver.folder))
        async with build(settings=archive.settings, work=False) as app:
            run = StartRuns([account], wait=True, as_json=False, continues=False)
            watching = asyncio.create_task(run.execute(app, Rows(app, archive.index)))
            seen = ""
            async with asyncio.timeout(PATIENCE_SECONDS):
                while f"{account}: running, 1 files" not in seen:
                    await asyncio.sleep(0.02)
                    seen += capsys.readouterr().err
            watching.cancel()  # as Ctrl-C does
            with pytest.raises(asyncio.CancelledError):
                await watching

    asyncio.run(watch())
    assert "it goes on without this" in capsys.readouterr().err
    job = archiver.row(account)["active_job"]
    server.open("watched")
    assert archiver.done({"id": job})["downloaded"] == 2


def test_a_submitted_account_is_seen_while_it_runs_and_deleted_files_come_back(
    archiver: Archiver, server: MastodonServer
) -> None:
    account, folder = server.name("again"), archiver.folder
    server.post("again", "a.jpg", "b.jpg")
    server.hold("again")
    job = archiver.ask(
        "POST", "/api/jobs", json={"task": "archive", "params": {"account": account}}, status=201
    )
    archiver.running(job)
    [row] = json.loads(typed(folder, "status", account, "--json"))
    assert (row["state"], row["filters"]) == ("running", None)
    server.open("again")
    archiver.done(job)
    [first, *_] = folder.glob("files/*again*/*a.jpg")
    first.unlink()
    archiver.save(account)
    assert archiver.done(archiver.go_on(account))["downloaded"] == 0
    counts = archiver.done(archiver.start(account))
    assert (counts["downloaded"], counts["skipped"]) == (1, 2)
    assert first.read_bytes()


async def test_a_row_that_cannot_be_run_any_more_keeps_no_other_from_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, other = "http://ann:hunter2@blog.example/feed.xml", "http://blog.example/feed.xml"
    archive = Archive(Settings(folder=tmp_path))
    archive.begin()
    async with build(settings=archive.settings, work=False) as app:
        earlier = Fairlane(app.database)  # an earlier version that accepted any filters

        @earlier.task(name="archive", queue="archive", lane="{account}")
        async def anything(account: str) -> None: ...

        await app.lanes.save("archive", old, anything.call(account=old))
        rows = Rows(app, archive.index)
        await rows.save(other, {}, keeps=False)
        run = StartRuns(None, wait=False, as_json=True, continues=False)
        assert await run.execute(app, rows) == 1
        assert f"{old} cannot be started: account: the address" in capsys.readouterr().err
        states = {row.account: row.state for row in await rows.listed()}
        assert states == {old: "idle", other: "queued"}
        assert (
            await StartRuns([old], wait=False, as_json=True, continues=False).execute(app, rows)
            == 2
        )
        await rows.remove(canonical_name(old))
        assert [row.account for row in await rows.listed()] == [other]


@pytest.mark.parametrize("words", [["--folder", "{file}"], ["--folder="], ["--folder"]])
def test_a_folder_that_cannot_be_one_is_one_sentence_too(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """No archive is created in the current folder either."""
    file = tmp_path / "file"
    file.write_bytes(b"")
    monkeypatch.chdir(tmp_path)
    given = [word.format(file=file) for word in words]
    monkeypatch.setattr("sys.argv", ["fairlane-archive", "status", *given])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert "folder" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == [file]
