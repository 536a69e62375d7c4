"""`fairlane-archive`, as a person types it, beside a server that works."""

import json
from pathlib import Path

import pytest

from apps.archiver.tests.archiver import Archiver, typed, typed_in_a_terminal
from apps.archiver.tests.mastodon_server import MastodonServer
from fairlane_archiver.commands import main


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
    assert "is no account" in typed(folder, "add", "nonsense", code=2)


@pytest.mark.parametrize("words", [["--folder", "{file}"], ["--folder="], ["--folder"]])
def test_a_folder_that_cannot_be_one_is_one_sentence_too(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """And no archive is made wherever one happens to be."""
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
