"""`fairlane-archive`, as a person types it, beside a server that works."""

import json

from apps.archiver.tests.archiver import Archiver, run_command
from apps.archiver.tests.mastodon_server import MastodonServer


def test_accounts_are_added_run_shown_copied_and_removed(
    archiver: Archiver, server: MastodonServer
) -> None:
    account, other = server.name("typed"), server.name("typedtoo")
    server.post("typed", "a.jpg", day=20)
    server.post("typed", "old.jpg")
    server.post("typedtoo", "b.jpg", day=20)
    folder = archiver.folder

    added = run_command(folder, "add", account, "--since", "2024-01-15", "--kinds", "image,video")
    assert added.stdout.splitlines()[1].split() == [account, "idle"]
    [copied] = json.loads(run_command(folder, "copy", account, other, "--json").stdout)
    assert (copied["filters"]["since"], copied["filters"]["account"]) == ("2024-01-15", other)
    run_command(folder, "start", account, other, "--wait")
    [row] = json.loads(run_command(folder, "status", account, "--json").stdout)
    assert (row["state"], row["counts"]["downloaded"], row["counts"]["filtered"]) == ("done", 1, 1)

    server.post("typed", "new.jpg", day=21)
    shown = run_command(folder, "continue", account, "--wait").stdout.splitlines()
    assert shown[1].split()[:3] == [account, "done", "1"]
    run_command(folder, "remove", other)
    assert other not in run_command(folder, "status").stdout


def test_what_is_refused_is_one_sentence_and_a_code(
    archiver: Archiver, server: MastodonServer
) -> None:
    account = server.name("typedbusy")
    server.hold("typedbusy")
    folder = archiver.folder
    run_command(folder, "add", account)
    job = archiver.start(account)
    archiver.running(job)
    busy = run_command(folder, "start", account, check=False)
    assert (busy.returncode, job["id"] in busy.stderr) == (4, True)
    locked = run_command(folder, "add", account, "--most", "3", check=False)
    assert (locked.returncode, locked.stderr.count("\n")) == (4, 1)
    stopped = run_command(folder, "cancel", account, "--outputs", "delete")
    assert stopped.stdout.splitlines()[1].split()[:2] == [account, "cancelled"]
    unknown = run_command(folder, "start", "@nobody@nowhere.example", check=False)
    assert (unknown.returncode, "is not in the archive" in unknown.stderr) == (3, True)
    nonsense = run_command(folder, "add", "nonsense", check=False)
    assert (nonsense.returncode, "is no account" in nonsense.stderr) == (2, True)
